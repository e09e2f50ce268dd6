#!/usr/bin/env bash
# knots [FIRST [LAST]]: threads that wait for each other as random numbers say (knots.c).  Each circle that nothing can end
# is told of once, with all its members, and nothing else is; `weftctl dump` names the holder of each lock that is waited
# for.  KNOTS says how many run at a time.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl
first=${1-1} last=${2-60}

"${CC:-gcc}" -g -O1 -pthread -o "$tmp/knots" "$top/tests/e2e/knots.c" || exit 2

# A line for each circle that was told of: its members.
circles()
{
	awk '/: deadlock: / { inside = 1; n = 0 }
	inside && /^G[0-9]+ "t[0-9]+"/ { split($2, name, "\""); member[n++] = name[2] }
	/end of deadlock/ && inside {
		inside = 0
		for (i = 0; i < n; i++)
			print member[i] | "sort"
		close("sort")
		print "."
	}' "$1" | tr '\n' ' ' | tr '.' '\n' | sed 's/^ *//; s/ *$//; /^$/d' | sort
}

knot()	# knot SEED PROCS: says what is wrong
{
	local dir=$tmp/$1 pid wanted n

	mkdir "$dir"
	"$weft" --procs="$2" -- "$tmp/knots" "$1" >"$dir/out" 2>"$dir/err" &
	pid=$!
	for _ in $(seq 600); do
		grep -q '^ready' "$dir/out" && break
		sleep 0.1
	done
	wanted=$(sed -n 's/^circle //p' "$dir/out" | sort)
	n=$(grep -c '^circle' "$dir/out")
	for _ in $(seq 600); do
		[ "$(grep -c 'end of deadlock' "$dir/err")" -ge "$n" ] && break
		sleep 0.1
	done
	sleep 1
	[ "$(circles "$dir/err")" = "$wanted" ] ||
		echo "circles: $(circles "$dir/err" | tr '\n' ';'), wanted $(echo "$wanted" | tr '\n' ';')"
	"$weftctl" dump -x "$pid" >"$dir/dump" 2>&1
	sed -n 's/.*"\(t[0-9]*\)".*held by G[0-9]* "\(t[0-9]*\)".*/\1 \2/p' "$dir/dump" | sort >"$dir/holders"
	[ "$(cat "$dir/holders")" = "$(sed -n 's/^waits //p' "$dir/out" | sort)" ] ||
		echo "holders: $(tr '\n' ';' <"$dir/holders"), wanted $(sed -n 's/^waits //p' "$dir/out" | sort | tr '\n' ';')"
	! grep '^over' "$dir/out"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
}

procs=(1 2 8)
seed=$first
while [ "$seed" -le "$last" ]; do
	for _ in $(seq "${KNOTS:-12}"); do
		[ "$seed" -le "$last" ] || break
		knot "$seed" "${procs[seed % 3]}" >"$tmp/said.$seed" 2>/dev/null &
		seed=$((seed + 1))
	done
	wait
done
for seed in $(seq "$first" "$last"); do
	matches "seed $seed, procs=${procs[seed % 3]}" '^$' "$(tr '\n' ' ' <"$tmp/said.$seed")"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
