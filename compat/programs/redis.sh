# redis: two threads that share the I/O by spinning, lazy-free threads, and a fork for BGSAVE.
#
# Both spin until the other has run, so with one processor each turn costs a slice, natively the kernel's, under
# weft its own: processor time of 4,000 SETs, natively on one CPU 0.2 s, with procs=1 0.9 to 2.2 s, and with
# WEFT=slice=3ms 0.7 s, with slice=1ms 0.3 s.
recipe_packages="redis-server redis-tools"
recipe_commands=(redis-server redis-cli redis-benchmark redis-check-rdb)
recipe_about="I/O threads that spin, background threads, a fork that saves while clients write"
recipe_better=higher

recipe_run() {
	local port dir log i sum

	scratch
	port=$(free_port)
	dir=$scratch_dir/redis
	log=$scratch_dir/client
	rm -rf "$dir"
	mkdir -p "$dir"
	start_server "$port" "$@" redis-server --bind 127.0.0.1 --port "$port" --dir "$dir" \
		--io-threads 2 --io-threads-do-reads yes --save '' --appendonly no || return 1
	for i in $(seq 1000); do echo "SET key:$i value:$((i * 7919))"; done >"$scratch_dir/sets"
	if ! bounded 20 redis-cli -h 127.0.0.1 -p "$port" <"$scratch_dir/sets" >"$log" ||
		[ "$(grep -c '^OK' "$log")" -ne 1000 ]; then
		why="redis-cli: ${why:-not every SET was acknowledged}"
		abandon_server
		return 1
	fi
	redis-cli -h 127.0.0.1 -p "$port" BGSAVE >/dev/null
	load_begins
	if ! bounded 60 redis-benchmark -h 127.0.0.1 -p "$port" -t set -c 50 -n "${OPERATIONS:-20000}" \
		-q --csv >"$log" 2>&1; then
		why="redis-benchmark: $why$(first_line "$log")"
		abandon_server
		return 1
	fi
	load_ended set "$(sed -n 's/^"SET","\([0-9]*\).*/\1/p' "$log")" req/s "${OPERATIONS:-20000}"
	awk -F'"' '/^"SET"/ { print "quantile 50", $10 * 1000; print "quantile 99", $14 * 1000 }' "$log" >"$scratch_dir/quantiles"
	quantiles set "$scratch_dir/quantiles"
	for i in $(seq 100); do
		redis-cli -h 127.0.0.1 -p "$port" INFO persistence | grep -q 'bgsave_in_progress:0' && break
		sleep 0.1
	done
	sum=$(for i in $(seq 1000); do echo "GET key:$i"; done |
		timeout 20 redis-cli -h 127.0.0.1 -p "$port" | digest)
	answer="values=$sum,rdb=$(timeout 20 redis-check-rdb "$dir/dump.rdb" 2>&1 | grep -c 'RDB looks OK')"
	case $answer in
	*rdb=1) ;;
	*)
		why="wrong answers: $answer"
		abandon_server
		return 1
		;;
	esac
	stop_server
}
