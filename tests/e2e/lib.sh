# lib: what the end-to-end scripts begin with; sourced, not run.
#
# Sets top, build and weft, an empty directory $tmp that goes away at the end (with $pid, if it is set), and the counts
# passed and failed.  Nothing of the caller's environment chooses options.

set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${top_builddir:-$top/build}
weft=$build/weft
tmp=$(mktemp -d) || exit 2
passed=0 failed=0 pid= started=()
unset WEFT LD_PRELOAD GOMAXPROCS
trap '[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null; chmod -R u+rwx "$tmp"; rm -rf "$tmp"' EXIT

verdict()	# verdict STATUS NAME [DETAIL]
{
	if [ "$1" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok $2"
	else
		failed=$((failed + 1))
		echo "not ok $2: ${3-}"
	fi
}

matches()	# matches NAME PATTERN WHAT: the words match the extended regular expression
{
	[[ $3 =~ $2 ]]
	verdict $? "$1" "\"$3\", wanted $2"
}

# start COMMAND...: a program that prints its id and waits, in the background, with a standard input that does not end.
# Sets at to the id; none: it printed none in a minute.
start()
{
	[ -p "$tmp/end" ] || {
		mkfifo "$tmp/end"
		exec 5<>"$tmp/end"
	}
	: >"$tmp/id"
	"$@" <"$tmp/end" >"$tmp/id" 2>"$tmp/err" 5>&- &
	started+=($!)
	disown
	for _ in $(seq 600); do
		at=$(cat "$tmp/id")
		[ -z "$at" ] || return
		sleep 0.1
	done
	at=none
}
