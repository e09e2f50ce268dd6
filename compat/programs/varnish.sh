# varnish: pools of threads that grow with the load, an acceptor for each, a child that a manager restarts.
recipe_packages="varnish"
recipe_commands=(varnishd python3)
recipe_about="pools of threads that grow, in a child; a backend behind"
recipe_better=higher

recipe_run() {
	local port dir behind

	proxy_dir
	serve_proxy "$@" varnishd -F -n "$dir/n" -a "127.0.0.1:$port" -b "127.0.0.1:$behind" -s malloc,32m
}
