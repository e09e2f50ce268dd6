#!/usr/bin/env bash
# deadlock: what is said by itself of threads that wait for each other for good, and that nothing is said of others.

. "$(dirname "$0")/lib.sh"

"${CC:-gcc}" -g -O1 -pthread -o "$tmp/kinds" "$top/tests/e2e/circles.c" || exit 2

told()	# told KIND N PATTERN
{
	local p status
	for p in 1 2 8; do
		timeout -k 5 60 "$weft" --procs=$p -o deadlock=abort -- "$tmp/kinds" "$1" "$2" >"$tmp/out" 2>&1
		status=$?
		matches "procs=$p: $1 of $2" "^134 1 weft\[[0-9]+\]: deadlock: $3 .*end of deadlock" \
			"$status $(grep -c ': deadlock: ' "$tmp/out") $(tr '\n' ' ' <"$tmp/out")"
	done
}

silent()	# silent KIND N
{
	local p status
	for p in 1 2 8; do
		timeout -k 5 60 "$weft" --procs=$p -- "$tmp/kinds" "$1" "$2" >"$tmp/out" 2>&1
		status=$?
		matches "procs=$p: $1 of $2" '^0 $' "$status $(tr '\n' ' ' <"$tmp/out")"
	done
}

told ring 2 "threads wait for each other in a circle: 2 threads"
told ring 5 "threads wait for each other in a circle: 5 threads"
told ring 64 "threads wait for each other in a circle: 64 threads"
told join 3 "threads wait for each other in a circle: 3 threads"
told holdjoin 2 "threads wait for each other in a circle: 2 threads"
told rwlock 2 "threads wait for each other in a circle: 2 threads"
told mixed 2 "threads wait for each other in a circle: 2 threads"
told inherit 3 "threads wait for each other in a circle: 3 threads"
told robust 3 "threads wait for each other in a circle: 3 threads"
told self 1 "a thread waits for itself: 1 thread"
told upgrade 2 "all threads are asleep, and nothing is left that could wake one: 3 threads"
told cond 3 "all threads are asleep, and nothing is left that could wake one: 4 threads"
told sem 3 "all threads are asleep, and nothing is left that could wake one: 4 threads"
told mainleaves 3 "all threads are asleep, and nothing is left that could wake one: 3 threads"
told fork 2 "threads wait for each other in a circle: 2 threads"
silent chain 5
silent timed 5
silent handled 2
silent posted 3
silent sigwait 3
silent sleeper 3

# Circles that close late, are many, or may still be opened by a pthread_cancel().
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/late" "$top/tests/e2e/circleslate.c" || exit 2
late()	# late KIND N REPORTS
{
	local p
	for p in 1 2 8; do
		: >"$tmp/out" # it says what the last program did until this one has begun
		# A look is as rare as the CPU time that it costs is long: 20 reports took 3 s on one machine, 15 on another.
		timeout -k 5 90 "$weft" --procs=$p -- "$tmp/late" "$1" "$2" >"$tmp/out" 2>&1 &
		for _ in $(seq 800); do
			[ "$(grep -c 'end of deadlock' "$tmp/out")" -lt "$3" ] || break
			sleep 0.1
		done
		sleep 0.5
		kill $! 2>/dev/null
		wait $! 2>/dev/null
		matches "procs=$p: $1 of $2" "^$3$" "$(grep -c 'deadlock: threads wait for each other' "$tmp/out")"
	done
}
late late 2 1
late many 9 9
late many 20 20
for kind in join async; do
	for p in 1 2 8; do
		timeout -k 5 30 "$weft" --procs=$p -- "$tmp/late" $kind >"$tmp/out" 2>&1
		status=$?
		matches "procs=$p: $kind, cancelled" '^0 $' "$status $(tr '\n' ' ' <"$tmp/out")"
	done
done

# Only told: the program goes on, and is told of once.
: >"$tmp/out"
"$weft" --procs=2 -- "$tmp/kinds" ring 2 >"$tmp/out" 2>&1 &
pid=$!
for _ in $(seq 600); do
	grep -q 'end of deadlock' "$tmp/out" && break
	sleep 0.1
done
sleep 1
matches "report: once, and the program lives" '^1 alive$' \
	"$(grep -c 'deadlock: threads' "$tmp/out") $(kill -0 $pid 2>/dev/null && echo alive)"
kill -9 $pid
wait $pid 2>/dev/null
pid=
ERR_IS_DATA=$tmp/data timeout 3 "$weft" --procs=2 -- "$tmp/kinds" ring 2 >"$tmp/out" 2>&1
matches "standard error is a file of the program's own by now" '^124 0 $' "$? $(wc -c <"$tmp/data") $(cat "$tmp/out")"
: >"$tmp/data"
timeout 3 "$weft" --procs=2 -- "$tmp/kinds" ring 2 2>>"$tmp/data"
matches "it is a log" '^124 1$' "$? $(grep -c 'deadlock: threads' "$tmp/data")"
timeout 2 "$weft" --procs=2 -o deadlock=off -- "$tmp/kinds" ring 2 >"$tmp/out" 2>&1
matches "off" '^124 $' "$? $(cat "$tmp/out")"
"$weft" -o deadlock=maybe -- true >"$tmp/out" 2>&1
matches "neither" 'deadlock=maybe: not one of its words' "$(cat "$tmp/out")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
