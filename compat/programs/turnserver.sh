# coturn: relay threads with an event loop each; its own client asks for allocations and echoes.
recipe_packages="coturn"
recipe_commands=(turnserver turnutils_stunclient)
recipe_about="relay threads with a loop each; asked for addresses"
recipe_better=higher

recipe_run() {
	local port dir i

	server_dir
	port=$(free_port)
	start_server "$port" "$@" turnserver -n -L 127.0.0.1 -p "$port" -m 4 --no-tls --no-dtls --no-cli --log-file stdout \
		--simple-log --db "$dir/db" --pidfile "$dir/pid" || return 1
	answer=$(for i in $(seq 10); do timeout 10 turnutils_stunclient -p "$port" 127.0.0.1 2>&1 |
		grep -c 'UDP reflexive addr: 127.0.0.1'; done | sort | uniq -c | tr -s ' ')
	figure=1 unit=run
	[ "$answer" = " 10 2" ] || why="answers: $answer"
	[ -z "$why" ] || abandon_server || return 1
	stop_server
}
