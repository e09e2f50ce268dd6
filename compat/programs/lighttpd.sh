# lighttpd: an event loop without threads; a control.
recipe_packages="lighttpd"
recipe_commands=(lighttpd)
recipe_about="an event loop without threads, graceful stop"
recipe_better=higher

recipe_run() {
	local port dir

	server_dir
	port=$(free_port)
	head -c 20000 "$(sample_file 1)" >"$dir/body"
	printf 'server.document-root = "%s"\nserver.port = %d\nserver.bind = "127.0.0.1"\n' "$dir" "$port" >"$dir/conf"
	serve_http "$port" /body "$@" lighttpd -D -f "$dir/conf"
}
