# varnish: pools of threads that grow with the load, an acceptor for each, a child that a manager restarts.
recipe_packages="varnish"
recipe_commands=(varnishd python3)
recipe_about="pools of threads that grow, in a child; a backend behind"
recipe_better=higher

recipe_run() {
	local port dir behind backend

	server_dir
	port=$(free_port)
	behind=$((port + 1000))
	head -c 20000 "$(sample_file 1)" >"$dir/body"
	"$weft_python" -m http.server -b 127.0.0.1 -d "$dir" "$behind" >/dev/null 2>&1 &
	backend=$!
	await_port "$behind"
	serve_http "$port" /body "$@" varnishd -F -n "$dir/n" -a "127.0.0.1:$port" -b "127.0.0.1:$behind" -s malloc,32m
	set -- $?
	kill "$backend"
	wait "$backend" 2>/dev/null
	return "$1"
}
