#!/usr/bin/env bash
# trace: execution traces, by the option and of a process that runs, in both formats.
#
# What a program is known to do is counted in the trace.  Each file is read by a small reader of its format here
# (python3, where it is there), and by Go's own where a `go` of 1.22 or later is.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

# N threads hand a turn round R times; `crash` ends it by abort(), `fork` makes children meanwhile, `wait` goes on
# until standard input ends.
cat >"$tmp/turns.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int n, rounds, turn;
static volatile int over;

__attribute__((noinline)) static void waits_for_its_turn(int me)
{
	if (rounds < 0)
		usleep(1000); /* the others may well come in turn, and then this is all that is waited for */
	pthread_mutex_lock(&m);
	while (turn % n != me && !over)
		pthread_cond_wait(&c, &m);
	turn++;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
}

static void *plays(void *arg)
{
	for (int i = 0; (rounds < 0 || i < rounds) && !over; i++)
		waits_for_its_turn((int)(long)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 3 ? argv[3] : "";
	pthread_t t[100];
	char in;

	n = atoi(argv[1]);
	rounds = atoi(argv[2]);
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, plays, (void *)i);
	if (!strcmp(how, "fork"))
		for (int i = 0; i < 5; i++) {
			if (!fork()) {
				pthread_create(&t[0], NULL, plays, NULL);
				usleep(1000);
				_exit(0);
			}
			wait(NULL);
		}
	if (!strcmp(how, "wait")) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
		while (read(0, &in, 1) > 0)
			;
		over = 1;
		pthread_cond_broadcast(&c);
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (!strcmp(how, "crash"))
		abort();
	return 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/turns" "$tmp/turns.c" || exit 2
ulimit -c 0

reads()	# reads NAME PATTERN FILE
{
	command -v python3 >/dev/null || return
	matches "$1" "$2" "$(python3 -B "$(dirname "$0")/tracereader.py" "$3" 2>&1 | tail -n 1)"
}

# Go's own parser accepts each event.
go_reads()	# go_reads NAME FILE
{
	command -v go >/dev/null && go tool trace -help 2>&1 | grep -q -- '-d=int' || return
	timeout 120 go tool trace -d=1 "$2" >"$tmp/parsed" 2>"$tmp/err"
	verdict $? "$1" "$(head -c 300 "$tmp/err")"
}

count()	# count WORD: of the line that weftctl printed
{
	sed -n "s/.* \([0-9]*\) $1[,;]* .*/\1/p; s/.* \([0-9]*\) $1\$/\1/p" "$tmp/out" | head -n 1
}

# ---- the option ----
for p in 1 2 8; do
	"$weft" --procs=$p -o trace="$tmp/raw" -- "$tmp/turns" 8 200 || exit 2
	"$weftctl" trace -f "$tmp/raw" -o "$tmp/go" >"$tmp/out" 2>&1
	matches "procs=$p: it is read" '^0 ' "$? $(cat "$tmp/out")"
	matches "procs=$p: 8 threads are made and end, none is lost" '^8 8 0$' "$(count creates) $(count ends) $(count lost)"
	matches "procs=$p: each thread that waited is readied" '^yes$' \
		"$([ "$(count parks)" -gt 800 ] && [ "$(count parks)" -le $(($(count readies) + 20)) ] && echo yes)"
	go_reads "procs=$p: Go's parser" "$tmp/go"
done
reads "its batches, and names of functions" '^batches True names True$' "$tmp/go"
"$weftctl" trace -f "$tmp/raw" -o "$tmp/a.perfetto" >"$tmp/out" 2>&1
matches "Perfetto's" '^0 ' "$? $(cat "$tmp/out")"
reads "its packets" '^packets True events True tracks True$' "$tmp/a.perfetto"

{ "$weft" -o trace="$tmp/raw" -- "$tmp/turns" 4 50 crash; } 2>/dev/null
"$weftctl" trace -f "$tmp/raw" -o "$tmp/go" >"$tmp/out" 2>&1
matches "of a program that crashes" '^0 4 4$' "$? $(count creates) $(count ends)"
go_reads "the same, Go's parser" "$tmp/go"
"$weft" -o trace="$tmp/raw" -- "$tmp/turns" 4 50 fork
"$weftctl" trace -f "$tmp/raw" -o "$tmp/go" >"$tmp/out" 2>&1
matches "its children are not in it" '^0 4 4$' "$? $(count creates) $(count ends)"
"$weft" -o trace="$tmp/raw" -o tracesize=65536 -- "$tmp/turns" 8 2000
"$weftctl" trace -f "$tmp/raw" -o "$tmp/go" >"$tmp/out" 2>&1
matches "too small: the end stays, and it says what is lost" '^0 yes$' "$? $([ "$(count lost)" -gt 1000 ] && echo yes)"
go_reads "the same, Go's parser" "$tmp/go"
"$weft" -o trace="$tmp/none/raw" -- "$tmp/turns" 2 2 2>"$tmp/out"
matches "a file that cannot be made" '^0 weft.*: trace: .*no trace is written' "$? $(cat "$tmp/out")"

# ---- a process that runs ----
start "$weft" --procs=2 -- "$tmp/turns" 8 -1 wait
pid=$at
for format in go perfetto go; do
	"$weftctl" trace "$at" 300ms -o "$tmp/live.$format" >"$tmp/out" 2>&1
	matches "of a process that runs ($format)" '^0 0 yes$' \
		"$? $(count lost) $([ "$(count parks)" -gt 10 ] && [ "$(count runs)" -gt 10 ] && echo yes)"
done
go_reads "the same, Go's parser" "$tmp/live.go"
reads "the same, its batches" '^batches True names True$' "$tmp/live.go"
reads "the same, its packets" '^packets True events True tracks True$' "$tmp/live.perfetto"
"$weftctl" trace "$at" 3s -o "$tmp/first.go" >"$tmp/first" 2>&1 &
other=$!
sleep 0.3
"$weftctl" trace "$at" 300ms -o "$tmp/second.go" >"$tmp/out" 2>&1
matches "beside another: it has its own" '^0 0 yes$' "$? $(count lost) $([ "$(count parks)" -gt 10 ] && echo yes)"
go_reads "the same, Go's parser" "$tmp/second.go"
kill -9 "$other"
wait "$other" 2>/dev/null
"$weftctl" trace "$at" 300ms -o "$tmp/live.go" >"$tmp/out" 2>&1
matches "after one that was killed" '^0 0 yes$' "$? $(count lost) $([ "$(count parks)" -gt 10 ] && echo yes)"
kill -STOP "$at"
"$weftctl" trace "$at" 300ms -o "$tmp/x" >"$tmp/out" 2>&1
matches "of one that is stopped" '^1 weftctl: [0-9]+: it is stopped' "$? $(cat "$tmp/out")"
kill -CONT "$at"
"$weftctl" trace "$at" 1s -o "$tmp/none/x" >"$tmp/out" 2>&1
matches "a file that cannot be written" '^1 .*none/x' "$? $(cat "$tmp/out")"
kill -9 "$at"
pid=

"$weftctl" trace $$ 1s -o "$tmp/x" >"$tmp/out" 2>&1
matches "a process that is not under weft" "^1 weftctl: $$: " "$? $(cat "$tmp/out")"
"$weftctl" trace -f "$tmp/turns" -o "$tmp/x" >"$tmp/out" 2>&1
matches "a file that is no trace" '^1 weftctl: .*turns: ' "$? $(cat "$tmp/out")"
head -c 70000 "$tmp/raw" >"$tmp/short"
"$weftctl" trace -f "$tmp/short" -o "$tmp/x" >"$tmp/out" 2>&1
matches "one that is cut off" '^1 weftctl: .*short: ' "$? $(cat "$tmp/out")"
"$weftctl" trace >"$tmp/out" 2>&1
matches "no argument" '^2 usage: weftctl trace' "$? $(cat "$tmp/out")"
for bytes in 1g abc -1 0 "" 1mm 99999999999999999999 18446744073709551615k; do
	"$weftctl" trace 1 10ms -o "$tmp/none.go" -b "$bytes" >"$tmp/out" 2>&1
	matches "no number of bytes: '$bytes'" '^2 usage: weftctl trace[^\n]*$' "$? $(cat "$tmp/out")"
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
