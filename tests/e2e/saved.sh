#!/usr/bin/env bash
# saved: profiles that a program writes itself, from its start on (option profile), read while it runs, after it was
# killed and after its end; and that no call of the program ends because of them.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

cat >"$tmp/mill.c" <<'X2'
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { CLERKS = 4, POLLERS = 3 };

static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static volatile long sum, cut;
static int rounds, random_fd;

__attribute__((noinline)) static void grinds(long n)
{
	for (long i = 0; i < n; i++)
		sum++;
}

__attribute__((noinline)) static void draws(void)
{
	static char b[1 << 18];

	if (read(random_fd, b, sizeof(b)) < 0)
		cut++;
}

__attribute__((noinline)) static void pays(void)
{
	struct timespec ms = { 0, 1000000 };

	pthread_mutex_lock(&till);
	cut += clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL) == EINTR;
	pthread_mutex_unlock(&till);
}

static void *clerk(void *arg)
{
	for (int i = 0; i < rounds; i++)
		pays();
	return arg;
}

static void *grinder(void *arg)
{
	for (int i = 0; i < rounds; i++)
		grinds(3000000);
	return arg;
}

static void *drawer(void *arg)
{
	for (int i = 0; i < rounds; i++)
		draws();
	return arg;
}

/* Computes, then waits in the kernel: a signal that is late by a little ends the wait. */
static void *poller(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		grinds(200000);
		cut += poll(NULL, 0, 1) < 0;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[CLERKS + POLLERS + 2];
	int n = 0;

	rounds = argc > 1 ? atoi(argv[1]) : 0;
	random_fd = open("/dev/urandom", O_RDONLY);
	for (int i = 0; i < CLERKS; i++)
		pthread_create(&t[n++], NULL, clerk, NULL);
	for (int i = 0; i < POLLERS; i++)
		pthread_create(&t[n++], NULL, poller, NULL);
	pthread_create(&t[n++], NULL, grinder, NULL);
	pthread_create(&t[n++], NULL, drawer, NULL);
	while (n)
		pthread_join(t[--n], NULL);
	printf("%ld cut\n", cut);
	return 0;
}
X2
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/mill" "$tmp/mill.c" || exit 2

# read_all WHAT: the profiles in $tmp/raw
read_all()
{
	local kind wanted

	while read -r kind wanted; do
		"$weftctl" profile -f "$tmp/raw" --"$kind" -o "$tmp/p" >"$tmp/out" 2>&1
		matches "$1, $kind: it is written" "^0 .*p: [0-9]+ stacks, [1-9][0-9]* ns" "$? $(cat "$tmp/out")"
		command -v python3 >/dev/null &&
			matches "$1, $kind: what it has" "$wanted" "$(python3 -B "$(dirname "$0")/pprof.py" "$tmp/p" 2>&1 | tr '\n' ' ')"
	done <<X4
cpu grinds
cpu draws
block pays
mutex ^pays
X4
}

"$weftctl" profile --cpu -f /dev/null -o "$tmp/p" >"$tmp/out" 2>&1
status=$?
if grep -q "without libdw" "$tmp/out"; then
	matches "without libdw it says so" '^1$' "$status"
	echo "$passed passed, $failed failed"
	exit "$failed"
fi
matches "no profile" "^1 .*is no profile of this weft's" "$status $(cat "$tmp/out")"

for procs in 1 2 8; do
	rm -f "$tmp/raw"
	timeout 100 "$weft" --procs=$procs -o profile="$tmp/raw" -- "$tmp/mill" 150 >"$tmp/out" 2>&1
	matches "procs=$procs: no call is cut" '^0 0 cut$' "$? $(cat "$tmp/out")"
	read_all "procs=$procs"
done

# One that fell over: what was written stays.
rm -f "$tmp/raw"
"$weft" --procs=2 -o profile="$tmp/raw" -- "$tmp/mill" 1000000 >/dev/null 2>&1 &
pid=$!
for _ in $(seq 600); do
	"$weftctl" profile -f "$tmp/raw" --cpu -o "$tmp/p" 2>/dev/null | grep -q ' [1-9][0-9]* stacks' && break
	sleep 0.1
done
sleep 1
read_all "while it runs"
kill -9 "$pid"
wait "$pid" 2>/dev/null
pid=
read_all "killed"

"$weftctl" profile -f "$tmp/raw" --threads -o "$tmp/p" >"$tmp/out" 2>&1
matches "threads are not in it" "^2 .*raw: it does not say where threads were" "$? $(cat "$tmp/out")"
"$weftctl" profile 1 -f "$tmp/raw" --cpu -o "$tmp/p" >"$tmp/out" 2>&1
matches "a process and a file" "^2 usage: " "$? $(cat "$tmp/out")"
"$weftctl" trace -f "$tmp/raw" -o "$tmp/p" >"$tmp/out" 2>&1
matches "a profile is no trace" "^1 .*is no trace of this weft's" "$? $(cat "$tmp/out")"
"$weft" -o trace="$tmp/both" -o profile="$tmp/raw2" -- "$tmp/mill" 20 >"$tmp/out" 2>&1
matches "a trace and a profile at once" '^0 0 cut$' "$? $(cat "$tmp/out")"
"$weftctl" trace -f "$tmp/both" -o "$tmp/p" >"$tmp/out" 2>&1
matches "the trace" '^0 .* events, 0 lost' "$? $(cat "$tmp/out")"
"$weftctl" profile -f "$tmp/raw2" --mutex -o "$tmp/p" >"$tmp/out" 2>&1
matches "the profile" '^0 .* stacks, ' "$? $(cat "$tmp/out")"
"$weftctl" profile -f "$tmp/both" --cpu -o "$tmp/p" >"$tmp/out" 2>&1
matches "a trace is no profile" "^1 .*is no profile of this weft's" "$? $(cat "$tmp/out")"
head -c 100000 "$tmp/raw" >"$tmp/short"
"$weftctl" profile -f "$tmp/short" --cpu -o "$tmp/p" >"$tmp/out" 2>&1
matches "a part of a file" "^1 .*is cut short" "$? $(cat "$tmp/out")"
"$weft" -o profile="$tmp/none/raw" -- "$tmp/mill" 2 >"$tmp/out" 2>&1
matches "a file that cannot be made" '^0 weft\[[0-9]+\]: profile: .*none/raw: error 2 \(no profile is written\) 0 cut$' "$(echo $? "$(cat "$tmp/out")" | tr '\n' ' ' | sed 's/ $//')"

# Of a run with several processes each has its own, whether they begin at one time or one after another.
files()
{
	local f good=0
	for f in "$tmp"/many*; do
		"$weftctl" profile -f "$f" --block -o "$tmp/p" 2>&1 | grep -q ' [1-9][0-9]* stacks' && good=$((good + 1))
	done
	echo "$good of $(ls "$tmp"/many* | wc -l)"
}
rm -f "$tmp"/many*
for _ in $(seq 8); do
	"$weft" --procs=2 -o profile="$tmp/many" -- sh -c "'$tmp/mill' 5 & '$tmp/mill' 5; wait" >"$tmp/out" 2>&1
	echo $? "$(files)" "$(grep -c '^0 cut' "$tmp/out")"
	rm -f "$tmp"/many*
done | sort | uniq -c >"$tmp/all"
matches "two at one time" '^ *8 0 2 of 2 2$' "$(cat "$tmp/all")"
"$weft" --procs=2 -o profile="$tmp/many" -- sh -c "'$tmp/mill' 5; '$tmp/mill' 5" >"$tmp/out" 2>&1
matches "one after another" '^0 2 of 2$' "$? $(files)"
rm -f "$tmp"/many.*
"$weft" --procs=2 -o profile="$tmp/many" -- "$tmp/mill" 5 >"$tmp/out" 2>&1
matches "the next run has the name again" '^0 1 of 1$' "$? $(files)"
echo mine >"$tmp/mine"
"$weft" -o trace="$tmp/mine" -o disable -- true
"$weft" -o trace="$tmp/mine" -- true
matches "a file of the user's is not removed" '^mine$' "$(cat "$tmp/mine")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
