# node-loop: a server in node whose loop answers by itself.
. "$weft_root/compat/programs/node.bash"
recipe_about="a server whose loop answers by itself, beside a collector's threads"

recipe_run() {
	serve_node '(q, r) => r.end("you asked for " + q.url)' "$@"
}
