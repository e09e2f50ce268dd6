#!/usr/bin/env bash
# beside: threads go on counting beside others that wait where weft cannot see them, with one processor too.

. "$(dirname "$0")/lib.sh"

source=$top/tests/stress/beside.c
if ! ${CC:-cc} -O2 -fopenmp -pthread -o "$tmp/beside" "$source" 2>"$tmp/err"; then
	echo "# no OpenMP: $(head -n 1 "$tmp/err")"
	echo "0 passed, 0 failed"
	exit 77
fi
run()	# run NAME WORD...
{
	local name=$1

	shift
	timeout 120 "$@" "$tmp/beside" >"$tmp/out" 2>&1
	status=$?
	[ $status -eq 0 ] && grep -q '^ok 3 waits ended' "$tmp/out"
	verdict $? "counters move beside fgets, getaddrinfo and an OpenMP barrier, $name" \
		"status $status, $(head -n 1 "$tmp/out")"
	sed 's/^/# /' "$tmp/out"
}
run natively
run "natively on one CPU" taskset -c 0
for procs in 1 2 8; do
	run "procs=$procs" "$weft" --procs=$procs --
	OMP_WAIT_POLICY=active run "procs=$procs, the barrier spins" "$weft" --procs=$procs --
done
for seed in 1 2 3 5; do
	run "procs=1, chaos=$seed" "$weft" --procs=1 -o chaos=$seed --
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
