# node-loop: a server in node whose loop answers by itself.
recipe_packages="nodejs"
recipe_commands=(node)
recipe_about="a server whose loop answers by itself, beside a collector's threads"
recipe_better=higher

recipe_run() {
	local port

	scratch
	port=$(free_port)
	serve_http "$port" /some/path "$@" node -e '
		require("http").createServer((q, r) => r.end("you asked for " + q.url)).listen('"$port"', "127.0.0.1")'
}
