#!/usr/bin/env bash
# soak: scripts/soak says what is wrong with its arguments, repeats its seeds, names the command that repeats a failure, and
# ends with its table when it is stopped.

. "$(dirname "$0")/lib.sh"
soak=$top/scripts/soak

refused()	# refused WORDS ARGUMENT...
{
	local words=$1
	shift
	out=$(BUILD=$build "$soak" -k "$tmp" "$@" 2>&1)
	[ $? -eq 2 ] && [[ $out == *"$words"* ]]
	verdict $? "'$*' is refused: $words" "$out"
}
refused "no number of hours" long
refused "no time" 0
refused "one number of hours" 1 2
refused "no such part" -o nothing 1
refused "no seed" -s x 1
refused "illegal option" -Z

# A launcher that does nothing but fail.
printf '#!/bin/sh\necho broken >&2\nexit 3\n' >"$tmp/launcher"
chmod +x "$tmp/launcher"
for i in 1 2; do
	BUILD=$build WEFT_LAUNCHER=$tmp/launcher timeout 60 "$soak" -s 3 -k "$tmp" -o stress 0.0015 >"$tmp/out$i" 2>&1
	status=$?
done
[ $status -eq 1 ] && grep -q '^not ok stress: status 3: broken' "$tmp/out1" &&
	grep -q '^    again: build/weft --procs=' "$tmp/out1" && grep -q '^0 passed, [1-9][0-9]* failed' "$tmp/out1"
verdict $? "a failure is said with the command that repeats it" "$(cat "$tmp/out1")"
[ -n "$(grep -m 1 again: "$tmp/out1")" ] && [ "$(grep -m 1 again: "$tmp/out1")" = "$(grep -m 1 again: "$tmp/out2")" ]
verdict $? "the same seed begins with the same"

# Ctrl-C in the middle of a run, as a terminal sends it.
printf '#!/bin/sh\n[ "$1" != --version ] || exit 0\nexec sleep 1000.25\n' >"$tmp/launcher"
BUILD=$build WEFT_LAUNCHER=$tmp/launcher timeout -s INT -k 20 5 "$soak" -k "$tmp" -o stress 1 >"$tmp/out" 2>&1
grep -q '^stopped; so far:' "$tmp/out" && [ "$(tail -n 1 "$tmp/out")" = "0 passed, 0 failed" ]
verdict $? "Ctrl-C ends it with its table" "$(cat "$tmp/out")"
[ -z "$(pgrep -f "^sleep 1000[.]25$")" ]
verdict $? "nothing that it started is left"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
