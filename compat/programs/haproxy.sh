# haproxy: a thread per processor, each with its epoll, watchdog timers on their CPU clocks; a backend beside it.
recipe_packages="haproxy"
recipe_commands=(haproxy python3)
recipe_about="threads with an epoll each, watchdogs on their CPU clocks, before a backend"
recipe_better=higher

recipe_run() {
	local port dir behind backend

	server_dir
	port=$(free_port)
	behind=$((port + 1000))
	head -c 20000 "$(sample_file 1)" >"$dir/body"
	cat >"$dir/conf" <<-END
		global
			nbthread 4
		defaults
			mode http
			timeout client 20s
			timeout server 20s
			timeout connect 5s
		frontend f
			bind 127.0.0.1:$port
			default_backend b
		backend b
			server s 127.0.0.1:$behind maxconn 50
	END
	"$weft_python" -m http.server -b 127.0.0.1 -d "$dir" "$behind" >/dev/null 2>&1 &
	backend=$!
	await_port "$behind"
	serve_http "$port" /body "$@" haproxy -W -db -f "$dir/conf"
	set -- $?
	kill "$backend"
	wait "$backend" 2>/dev/null
	return "$1"
}
