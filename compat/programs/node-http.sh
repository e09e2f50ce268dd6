# node-http: a server in node whose replies come from its pool of threads.
recipe_packages="nodejs"
recipe_commands=(node)
recipe_about="a server whose replies are computed and read by the pool of libuv"
recipe_better=higher

recipe_run() {
	local port

	scratch
	port=$(free_port)
	serve_http "$port" /some/path "$@" node -e '
		const crypto = require("crypto"), fs = require("fs")
		require("http").createServer((q, r) => crypto.pbkdf2(q.url, "s", 300, 32, "sha256", (e, k) =>
			fs.stat("/", () => r.end(k.toString("hex"))))).listen('"$port"', "127.0.0.1")'
}
