# dns: what the recipes of name servers share (bash, sourced by them through lib.sh).

# dns_run COMMAND...: PORT in it becomes a free one.  dig asks for two names, many times at once.
dns_run() {
	local port command=() word

	scratch
	port=$(free_port)
	for word; do command+=("${word//PORT/$port}"); done
	start_server "$port" "${command[@]}" || return 1
	dns_answers "$port" || abandon_server || return 1
	stop_server
}

dns_load() {	# dns_load PORT: three seconds of dnsperf, 64 questions outstanding
	local log=$scratch_dir/dnsperf

	printf 'one.test A\ntwo.test A\n' >"$scratch_dir/queries"
	load_begins
	if ! bounded 30 dnsperf -s 127.0.0.1 -p "$1" -d "$scratch_dir/queries" -l 3 -q 64 -c 8 >"$log" 2>&1; then
		why="dnsperf: $why$(first_line "$log")"
		return 1
	fi
	load_ended load "$(awk '/Queries per second/ { printf "%d", $4 }' "$log")" queries/s \
		"$(awk '/Queries completed/ { print $3 }' "$log")"
}

dns_answers() {
	local port=$1 i

	for i in $(seq 200); do printf 'one.test A\ntwo.test A\n'; done >"$scratch_dir/queries"
	for i in 1 2 3 4; do
		timeout 60 dig @127.0.0.1 -p "$port" +short +tries=3 +time=10 -f "$scratch_dir/queries" >"$scratch_dir/dig.$i" 2>&1 &
		set -- "$@" $!
	done
	shift
	wait "$@"
	timeout 60 dig @127.0.0.1 -p "$port" +short +tcp +time=10 -f "$scratch_dir/queries" >"$scratch_dir/dig.5" 2>&1
	answer=$(grep -hv '^;;' "$scratch_dir"/dig.? | sort | uniq -c | tr -s ' ' | paste -sd,)
	figure=1 unit=run
	if [ "$answer" != " 1000 192.0.2.1, 1000 192.0.2.2" ]; then
		why="answers: ${answer:0:100}"
		return 1
	fi
	[ -z "${with_load-}" ] || ! have dnsperf || dns_load "$port"
}
