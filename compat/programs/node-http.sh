# node-http: a server in node whose replies come from its pool of threads.
. "$weft_root/compat/programs/node.bash"
recipe_about="a server whose replies are computed and read by the pool of libuv"

recipe_run() {
	serve_node '(q, r) => require("crypto").pbkdf2(q.url, "s", 300, 32, "sha256", (e, k) =>
		require("fs").stat("/", () => r.end(k.toString("hex"))))' "$@"
}
