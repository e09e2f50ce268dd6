# memcached: four event loops and a listener, background threads on condvars; every get is verified.
#
# With few connections and with a thousand.  Overwriting keys (-o) is left out: memcaslap then reports
# values it replaced itself as failures.
recipe_packages="memcached libmemcached-tools"
recipe_commands=(memcached memcaslap)
recipe_about="four event loops fed by a listener; the client checks the bytes of every get"
recipe_better=higher

memcached_load() {
	local log=$scratch_dir/client

	load_begins
	if ! bounded "$run_limit" memcaslap -s "127.0.0.1:$1" -T 2 -c "$2" -x "${OPERATIONS:-100000}" \
		-v 1.0 >"$log" 2>&1; then
		why="memcaslap: $why$(first_line "$log")"
		return 1
	fi
	answer="verify_failed=$(awk '/^verify_failed:/ { print $2 }' "$log")"
	answer+=",misses=$(awk '/^get_misses:|^verify_misses:/ { n += $2 } END { print n + 0 }' "$log")"
	figure=$(sed -n 's/.*TPS: \([0-9]*\).*/\1/p' "$log")
	if [ "$answer" != "verify_failed=0,misses=0" ] || [ -z "$figure" ]; then
		why="memcaslap with $2 connections reports $answer"
		return 1
	fi
	load_ended "$2-connections" "$figure" req/s "${OPERATIONS:-100000}"
}

recipe_run() {
	local port user=() clients

	scratch
	port=$(free_port)
	# As root memcached wants to be told whom to become; others may not change.
	[ "$(id -u)" -ne 0 ] || user=(-u nobody)
	start_server "$port" "$@" memcached "${user[@]}" -l 127.0.0.1 -p "$port" -t 4 -c 4096 \
		-m 256 || return 1
	for clients in ${CLIENTS:-64 1000}; do
		memcached_load "$port" "$clients" || abandon_server || return 1
	done
	stop_server
}
