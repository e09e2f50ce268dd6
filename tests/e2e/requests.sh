#!/usr/bin/env bash
# requests: how many system calls on descriptors a request costs a server, natively and under weft.
#
# An event loop makes those that it asked for, and no others: where its only thread serves, weft has nothing to add.  A
# thread that waits in a call costs the poller's wake-up and the try that finds what came.

. "$(dirname "$0")/lib.sh"

${CC:-cc} -O2 -pthread -o "$tmp/requests" "$top/tests/stress/requests.c" &&
	${CC:-cc} -O2 -o "$tmp/countcalls" "$top/tests/stress/countcalls.c" || exit 2

# each COMMAND...: calls for a hundred requests; the ones before and after the requests are left out.
each()
{
	local few many

	few=$(timeout 120 "$tmp/countcalls" "$@" 100) && many=$(timeout 120 "$tmp/countcalls" "$@" 500) &&
		echo $(((many - few) / 4))
}

native=$(each "$tmp/requests" recv)
if [ "${native:-0}" -lt 190 ] || [ "$native" -gt 210 ]; then
	echo "# a process cannot be traced here, or not exactly: ${native:-nothing} for 200 calls"
	echo "0 passed, 0 failed"
	exit 77
fi
# The poller does not look before it sleeps (spin=0): each look is a call.
for kind in $("$tmp/requests"); do
	case $kind in
	epoll_*) more=20 ;;
	pipe*) more=430 ;; # its other end is another process's, so its flags are asked for each time
	select) more=350 ;;
	*) more=230 ;;
	esac
	native=$(each "$tmp/requests" "$kind")
	for procs in 1 2; do
		weft=$(each "$build/weft" --procs=$procs -o spin=0 -- "$tmp/requests" "$kind")
		[ -n "$weft" ] && [ -n "$native" ] && [ "$weft" -le $((native + more)) ]
		verdict $? "100 requests by $kind, procs=$procs: natively ${native:-?} calls, ${weft:-?}" "$more more at most"
	done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
