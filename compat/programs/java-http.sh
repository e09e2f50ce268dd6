# java-http: the JDK's own server with a pool of threads, ended by SIGTERM with hooks.
recipe_packages="default-jdk-headless"
recipe_commands=(java javac)
recipe_about="the JDK's server, a selector and a pool; SIGTERM runs the hooks"
recipe_better=higher

recipe_run() {
	local port

	scratch
	port=$(free_port)
	javac -d "$scratch_dir" "$weft_root/compat/programs/Serve.java" || { why="javac"; return 1; }
	serve_http "$port" /some/path "$@" java -Xmx128m -cp "$scratch_dir" Serve "$port"
}
