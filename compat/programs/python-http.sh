# python-http: CPython's ThreadingHTTPServer, a thread per connection behind the interpreter's lock.
recipe_packages="python3 wrk"
recipe_commands=(python3 wrk)
recipe_about="a thread per connection behind the interpreter lock, a timed condvar; 200 connections"
recipe_better=higher

recipe_run() {
	local python port want

	scratch
	port=$(free_port)
	# The interpreter itself, not a script that looks for one.
	python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
	start_server "$port" "$@" "$python" "$weft_root/compat/programs/python-http.py" "$port" || return 1
	http_load "http://127.0.0.1:$port/some/path" 200 served || abandon_server || return 1
	answer=$(fetch_digest "http://127.0.0.1:$port/some/path")
	want=$(printf '%s' "$(printf /some/path | sha256sum | cut -c1-64)" | digest)
	if [ "$answer" != "$want" ]; then
		why="wrong answer: $answer"
		abandon_server
		return 1
	fi
	stop_server
}
