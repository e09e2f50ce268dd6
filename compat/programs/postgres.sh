# postgres: a process per connection and shared memory, without threads; pgbench, its client, has them.
recipe_packages="postgresql"
recipe_commands=(pgbench)
recipe_about="processes that share memory and semaphores; pgbench with four threads under weft, too; sums agree"
recipe_better=higher

postgres_sql() {
	timeout 30 psql -X -h "$dir" -p "$port" -U nobody -At -d postgres -c "$1"
}

recipe_run() {
	local port dir bin as=()

	server_dir
	bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
	# It does not run as root.
	[ "$(id -u)" -ne 0 ] || as=(setpriv --reuid=nobody --regid=nogroup --clear-groups)
	port=$(free_port)
	chmod 777 "$dir"
	if ! "${as[@]}" "$bin/initdb" -D "$dir/data" -U nobody -A trust -N >"$scratch_dir/init" 2>&1; then
		why="initdb: $(tail -n 1 "$scratch_dir/init")"
		return 1
	fi
	start_server "$port" "${as[@]}" "$@" "$bin/postgres" -D "$dir/data" -k "$dir" -p "$port" -h 127.0.0.1 -F || return 1
	if ! bounded 60 pgbench -h "$dir" -p "$port" -U nobody -i -q -s 2 postgres >"$scratch_dir/client" 2>&1 ||
		! bounded 90 "$@" pgbench -h "$dir" -p "$port" -U nobody -c 16 -j 4 -t 100 postgres >"$scratch_dir/client" 2>&1; then
		why="pgbench: $why$(first_line "$scratch_dir/client")"
		abandon_server
		return 1
	fi
	answer=$(grep -o 'processed: .*' "$scratch_dir/client"),$(postgres_sql "SELECT (SELECT sum(abalance) FROM pgbench_accounts) = (SELECT sum(delta) FROM pgbench_history), (SELECT count(*) FROM pgbench_history)")
	figure=1 unit=run
	[ "$answer" = "processed: 1600/1600,t|1600" ] || why="answers: $answer"
	[ -z "$why" ] || abandon_server || return 1
	stop_server INT
}
