# node: what the recipes of servers in node share (bash, sourced by them through lib.sh).
recipe_packages="nodejs"
recipe_commands=(node)
recipe_better=higher

# serve_node LISTENER COMMAND...: a server of node's http whose listener is that function.
serve_node() {
	local port listener=$1

	shift
	scratch
	port=$(free_port)
	serve_http "$port" /some/path "$@" node -e "require('http').createServer($listener).listen($port, '127.0.0.1')"
}
