# haproxy: a thread per processor, each with its epoll, watchdog timers on their CPU clocks; a backend beside it.
recipe_packages="haproxy"
recipe_commands=(haproxy python3)
recipe_about="threads with an epoll each, watchdogs on their CPU clocks, before a backend"
recipe_better=higher

recipe_run() {
	local port dir behind

	proxy_dir
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
			http-request return status 200 content-type text/plain string ok if { path /own }
			default_backend b
		backend b
			server s 127.0.0.1:$behind maxconn 50
	END
	# Its own answer is the load: the backend is too slow for that.
	load_path=/own serve_proxy "$@" haproxy -W -db -f "$dir/conf"
}
