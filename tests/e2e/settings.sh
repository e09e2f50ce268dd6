#!/usr/bin/env bash
# settings: what threads commonly set of their own ties none of them to a kernel thread of its own.
#
# A tied thread costs two switches of the kernel's each time that it waits: a server whose threads all make such a
# setting serves two thirds of what it does on plain threads.

. "$(dirname "$0")/lib.sh"

${CC:-cc} -O2 -pthread -o "$tmp/settings" "$top/tests/stress/settings.c" || exit 2
for name in $("$tmp/settings"); do
	for procs in 1 8; do
		said=$(timeout 60 "$weft" --procs=$procs -- "$tmp/settings" "$name" 2>&1)
		status=$?
		if [ $status -eq 77 ]; then
			echo "# $name: not to be had here"
			continue
		fi
		# At procs=8 idle Ms look for work now and then.
		[ $status -eq 0 ] && [ "$said" -le $((procs * 5)) ]
		verdict $? "threads in a ring that set $name are not tied, procs=$procs" \
			"status $status, switches for each 100 hand-overs: $said"
	done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
