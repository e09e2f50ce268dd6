# stunnel: a thread per connection, and a TLS tunnel to a server behind it.
recipe_packages="stunnel4 openssl"
recipe_commands=(stunnel4 openssl python3)
recipe_about="a thread per connection in TLS to an echo server behind it; reload and stop by signals"
recipe_better=higher

recipe_run() {
	local port dir behind backend

	server_dir
	port=$(free_port)
	behind=$((port + 1000))
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 30 -keyout "$dir/key" -out "$dir/cert" \
		2>/dev/null
	cat >"$dir/conf" <<-END
		foreground = yes
		pid =
		debug = 3
		[s]
		accept = 127.0.0.1:$port
		connect = 127.0.0.1:$behind
		cert = $dir/cert
		key = $dir/key
	END
	"$weft_python" "$weft_root/compat/programs/echo.py" serve "$behind" &
	backend=$!
	await_port "$behind"
	if start_server "$port" "$@" stunnel4 "$dir/conf"; then
		answer=$(timeout 60 python3 "$weft_root/compat/programs/echo.py" tls "$port" 40 20 2>&1 | tail -n 1)
		figure=1 unit=run
		[ "$answer" = "800 equal" ] || why="client: $answer"
		[ -z "$why" ] || abandon_server
		[ -n "$why" ] || stop_server
	fi
	kill "$backend"
	wait "$backend" 2>/dev/null
	[ -z "$why" ]
}
