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
	pthread_mutex_lock(&m);
	while (turn % n != me && !over)
		pthread_cond_wait(&c, &m);
	turn++;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
}

static void *plays(void *arg)
{
	for (int i = 0; (rounds < 0 || i < rounds) && !over; i++) {
		waits_for_its_turn((int)(long)arg);
		if (rounds < 0)
			usleep(1000);
	}
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

# Reads one file as its format says, to its last byte; prints what it counted.
cat >"$tmp/reader.py" <<'X'
import sys

def varint(b, at):
    v = shift = 0
    while True:
        c = b[at]
        at += 1
        v |= (c & 0x7f) << shift
        shift += 7
        if c < 0x80:
            return v, at
        if shift > 63:
            raise ValueError("a varint of more than ten bytes")

def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        kind = key & 7
        if kind == 0:
            v, at = varint(b, at)
        elif kind == 1:
            v, at = b[at:at + 8], at + 8
        elif kind == 2:
            n, at = varint(b, at)
            v, at = b[at:at + n], at + n
        elif kind == 5:
            v, at = b[at:at + 4], at + 4
        else:
            raise ValueError("wire type %d" % kind)
        if at > len(b):
            raise ValueError("cut off")
        yield key >> 3, v

def perfetto(b):
    packets = events = tracks = 0
    for field, packet in fields(b):
        if field != 1:
            raise ValueError("field %d of a trace" % field)
        packets += 1
        for f, v in fields(packet):
            events += f == 11    # track_event
            tracks += f == 60    # track_descriptor
    print("packets", packets > 0, "events", events > 0, "tracks", tracks > 0)

def go(b):
    at, batches, strings = 16, 0, b""
    while at < len(b):
        if b[at] != 1:
            raise ValueError("no batch at %d" % at)
        at += 1
        for _ in range(3):      # generation, M, time
            v, at = varint(b, at)
        n, at = varint(b, at)
        if n > 65536 or at + n > len(b):
            raise ValueError("a batch of %d bytes" % n)
        if n and b[at] == 4:
            strings += b[at:at + n]
        at += n
        batches += 1
    print("batches", batches > 0, "names", b"waits_for_its_turn" in strings)

data = open(sys.argv[1], "rb").read()
go(data) if data.startswith(b"go 1.22 trace\0\0\0"[:16]) else perfetto(data)
X

reads()	# reads NAME PATTERN FILE
{
	command -v python3 >/dev/null || return
	matches "$1" "$2" "$(python3 "$tmp/reader.py" "$3" 2>&1 | tail -n 1)"
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

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
