#!/usr/bin/env bash
# calls: system calls while the CPU is taken away all the time end as if it were not.

. "$(dirname "$0")/lib.sh"

${CC:-cc} -O2 -pthread -o "$tmp/calls" "$top/tests/stress/calls.c" || exit 2
for procs in 1 2 8; do
	timeout 120 "$weft" --procs=$procs -o slice=200us -- "$tmp/calls" 0.1 4 2 >"$tmp/out" 2>&1
	status=$?
	[ $status -eq 0 ] && [ "$(cat "$tmp/out")" = "every call did what it says, and nothing else" ]
	verdict $? "100,000 calls under a slice of 200 us, procs=$procs" "status $status, $(cat "$tmp/out")"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
