#!/usr/bin/env bash
# ctl: what `weftctl ps` shows of processes under weft, of those that are not, and of another user's.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

# N threads that wait until standard input ends; `closed` closes all other descriptors first, `fork` waits
# in a child, `computes` has one more, which does.
cat >"$tmp/waits.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *computes(void *arg)
{
	for (volatile long i = 0;; i++)
		;
	return arg;
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	pthread_t t;
	char c;

	pthread_mutex_lock(&m);
	if (argc > 2 && !strcmp(argv[2], "closed"))
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	if (argc > 2 && !strcmp(argv[2], "fork")) {
		pthread_create(&t, NULL, waits, NULL);
		if (fork()) {
			wait(NULL);
			_exit(0);
		}
	}
	if (argc > 2 && !strcmp(argv[2], "computes"))
		pthread_create(&t, NULL, computes, NULL);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, NULL, waits, NULL))
			return 1;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
X
"${CC:-gcc}" -O2 -pthread -o "$tmp/waits" "$tmp/waits.c" || exit 2


row()	# row PID: its line, with single blanks
{
	"$weftctl" ps 2>"$tmp/ctl.err" | awk -v pid="$1" '$1 == pid { $1 = $1; print }'
}

start "$weft" --procs=2 -- "$tmp/waits" 100
matches "a process of 100 threads" "^$at waits [0-9.]+ 101 [0-9]+ 2$" "$(row "$at")"
start "$weft" --procs=1 -- "$tmp/waits" 3 closed
matches "one that has closed all descriptors" "^$at waits [0-9.]+ 4 [0-9]+ 1$" "$(row "$at")"
start "$weft" --procs=1 -- "$tmp/waits" 2 fork
matches "a child by fork" "^$at waits [0-9.]+ 3 [0-9]+ 1$" "$(row "$at")"
start "$weft" -- "$tmp/waits" 0
matches "one that has made no thread" "^$at waits [0-9.]+ - - -$" "$(row "$at")"
start "$tmp/waits" 3
matches "one that is not under weft" '^$' "$(row "$at")"

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$tmp"
	start "$weft" --procs=1 -- setpriv --reuid=65534 --clear-groups "$tmp/waits" 3
	matches "another user's, for root" "^$at waits [0-9.]+ 4 [0-9]+ 1$" "$(row "$at")"
	start "$weft" --procs=1 -- "$tmp/waits" 3
	matches "root's, for another user" '^$' "$(cp "$weftctl" "$tmp/weftctl"; weftctl="setpriv --reuid=65534 --clear-groups $tmp/weftctl"
		$weftctl ps 2>"$tmp/ctl.err" | awk -v pid="$at" '$1 == pid')"
	matches "and nothing is said of it" '^$' "$(cat "$tmp/ctl.err")"
fi

start "$weft" --procs=2 -- "$tmp/waits" 100
matches "stat: two lines of 101 threads" '^0 2$' \
	"$("$weftctl" stat "$at" 100ms 2 >"$tmp/out" 2>&1; echo "$?") $(grep -c "^ *101 .* [01]/2 " "$tmp/out")"
"$weftctl" stat "$at" 100ms none >"$tmp/out" 2>&1
matches "stat: no number" '^2 usage: weftctl stat' "$? $(cat "$tmp/out")"
"$weftctl" stat "$at" 100ms -1 >"$tmp/out" 2>&1
matches "stat: less than nothing" '^2 usage: weftctl stat' "$? $(cat "$tmp/out")"
"$weftctl" stat "$at" 1e-12 1 >"$tmp/out" 2>&1
matches "stat: no time" '^2 usage: weftctl stat' "$? $(cat "$tmp/out")"
# Its threads are idle, so that the library may say so only when it runs next; one that computes answers.
start "$weft" --procs=2 -- "$tmp/waits" 100 computes
"$weftctl" set "$at" procs=4 slice=5ms >"$tmp/out" 2>&1
matches "set: procs" '^0  4$' "$? $(cat "$tmp/out") $("$weftctl" stat "$at" 50ms 1 | awk 'END { split($6, n, "/"); print n[2] }')"
"$weftctl" set "$at" procs=1,nap=0 >"$tmp/out" 2>&1
matches "set: fewer procs" '^0  1$' "$? $(cat "$tmp/out") $("$weftctl" stat "$at" 50ms 1 | awk 'END { split($6, n, "/"); print n[2] }')"
"$weftctl" set "$at" procs=3 slice=soon >"$tmp/out" 2>&1
matches "set: of two, one that is bad" '^1 weftctl: [0-9]*: slice=soon: .*nothing is changed.* 1$' \
	"$? $(cat "$tmp/out") $("$weftctl" stat "$at" 50ms 1 | awk 'END { split($6, n, "/"); print n[2] }')"
"$weftctl" set "$at" threads=3 >"$tmp/out" 2>&1
matches "set: one that cannot change" '^1 weftctl: .*only when a program starts' "$? $(cat "$tmp/out")"
"$weftctl" set "$at" >"$tmp/out" 2>&1
matches "set: nothing" '^2 usage: weftctl set' "$? $(cat "$tmp/out")"
"$weftctl" top "$at" >"$tmp/out" 2>&1 </dev/null
matches "top: no terminal, or not built" '^1 weftctl: top: ' "$? $(cat "$tmp/out")"
if ! grep -q "without" "$tmp/out" && command -v script >/dev/null; then
	matches "top: on a terminal" '^0 yes$' \
		"$( (sleep 2; printf q; sleep 2) | TERM=xterm timeout 60 script -qec "$weftctl top $at" /dev/null >"$tmp/out" 2>&1
		echo "$?") $(grep -q "102 threads" "$tmp/out" && grep -q "mutex lock" "$tmp/out" && echo yes)"
	matches "top: how long the woken wait, where none are" '^0 yes$' \
		"$( (sleep 2; printf w; sleep 3; printf q; sleep 2) | TERM=xterm timeout 60 script -qec "$weftctl top $at" /dev/null \
			>"$tmp/out" 2>&1
		echo "$?") $(grep -q "woken to running: none" "$tmp/out" && echo yes)"
	matches "top: a terminal that is not known" '^1 .*not known' \
		"$(TERM=none-such timeout 60 script -qec "$weftctl top $at" /dev/null >"$tmp/out" 2>&1 </dev/null
		echo "$?") $(cat "$tmp/out")"
fi
"$weftctl" ps more >"$tmp/out" 2>&1
matches "an argument too many" '^2 usage: weftctl ps' "$? $(cat "$tmp/out")"
"$weftctl" >"$tmp/out" 2>&1
matches "no verb" '^2 usage: weftctl VERB' "$? $(cat "$tmp/out")"
"$weftctl" nothing >"$tmp/out" 2>&1
matches "a verb that is none" '^2 weftctl: nothing: no such verb' "$? $(cat "$tmp/out")"
"$weftctl" ps >/dev/full 2>"$tmp/out"
matches "a full disk" '^1 weftctl: standard output: ' "$? $(cat "$tmp/out")"

{
	kill -9 "${started[@]}"
	pkill -9 -f "^$tmp/waits"
	wait
} 2>/dev/null

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
