#!/usr/bin/env bash
# profile: `weftctl profile` of a program with a known hot spot, a known lock and known places where its threads wait.
#
# What a profile says is read by a small reader of its format (python3, where it is there), and by Go's own where a
# `go` is.  Nothing is said of how long: only of what is on top.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

cat >"$tmp/shop.c" <<'X'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

enum { CLERKS = 6, GUESTS = 50 };

static pthread_mutex_t till = PTHREAD_MUTEX_INITIALIZER;
static sem_t table;
static volatile long sum;

__attribute__((noinline)) static void counts_money(void)
{
	for (int i = 0; i < 30000000; i++)
		sum++;
}

__attribute__((noinline)) static void uses_the_till(void)
{
	pthread_mutex_lock(&till);
	usleep(2000);
	pthread_mutex_unlock(&till);
}

static void *clerk(void *arg)
{
	for (;;)
		uses_the_till();
	return arg;
}

static void *owner(void *arg)
{
	for (;;)
		counts_money();
	return arg;
}

static void *guest(void *arg)
{
	sem_wait(&table);
	return arg;
}

int main(void)
{
	pthread_t t;
	char c;

	sem_init(&table, 0, 0);
	for (int i = 0; i < CLERKS; i++)
		pthread_create(&t, NULL, clerk, NULL);
	for (int i = 0; i < GUESTS; i++)
		pthread_create(&t, NULL, guest, NULL);
	pthread_create(&t, NULL, owner, NULL);
	usleep(100000);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/shop" "$tmp/shop.c" || exit 2

start "$weft" --procs=2 -- "$tmp/shop"
pid=$at

"$weftctl" profile "$at" --threads -o "$tmp/p" >"$tmp/out" 2>&1
status=$?
if grep -q "without libdw" "$tmp/out"; then
	matches "without libdw it says so" '^1$' "$status"
	echo "$passed passed, $failed failed"
	exit "$failed"
fi
matches "threads: all 58" "^0 .*stacks, 58 threads\$" "$status $(cat "$tmp/out")"

while read -r kind top; do
	"$weftctl" profile --"$kind" "$at" 500ms -o "$tmp/p" >"$tmp/out" 2>&1
	matches "$kind: it is written" '^0 ' "$? $(cat "$tmp/out")"
	command -v python3 >/dev/null &&
		matches "$kind: what is on top" "^$top\$" "$(python3 -B "$(dirname "$0")/pprof.py" "$tmp/p" 2>&1 | head -n 1)"
	command -v go >/dev/null || continue
	matches "$kind: Go's reader" "${top%% *}" "$(HOME=$tmp timeout 60 go tool pprof -top "$tmp/p" 2>&1 | grep -m 1 '[0-9]%.*[0-9]%.*[0-9]%')"
done <<X
cpu counts_money [0-9]+
block uses_the_till [0-9]+
mutex uses_the_till [0-9]+
threads guest 50
X

# Its end comes within the time: the waits that were seen stay, with their names.  Where weftctl had no CPU for two seconds the
# trace ended before, and it says so; that is another case.
for _ in 1 2 3 4 5; do
	start "$weft" --procs=2 -- "$tmp/shop"
	"$weftctl" profile "$at" --mutex 30s -o "$tmp/p" >"$tmp/out" 2>&1 &
	profiler=$!
	sleep 1.5
	kill -9 "$at"
	wait $profiler
	status=$?
	grep -q 'the trace ended early' "$tmp/out" || break
done
matches "of one that ends meanwhile" '^0 .*it ended while it was traced.* [1-9][0-9]* ns of waiting' "$status $(tr '\n' ' ' <"$tmp/out")"
command -v python3 >/dev/null &&
	matches "of one that ends meanwhile: what is on top" '^uses_the_till [0-9]+$' \
		"$(python3 -B "$(dirname "$0")/pprof.py" "$tmp/p" 2>&1 | head -n 1)"
at=$pid

"$weftctl" profile "$at" --cpu 100ms -o "$tmp/none/p" >"$tmp/out" 2>&1
matches "a file that cannot be written" '^1 weftctl: .*none/p: No such file' "$? $(cat "$tmp/out")"
"$weftctl" profile "$at" --cpu --block -o "$tmp/p" >"$tmp/out" 2>&1
matches "two kinds" '^2 usage: weftctl profile' "$? $(cat "$tmp/out")"
"$weftctl" profile "$at" -o "$tmp/p" >"$tmp/out" 2>&1
matches "no kind" '^2 usage: weftctl profile' "$? $(cat "$tmp/out")"
"$weftctl" profile $$ --cpu -o "$tmp/p" >"$tmp/out" 2>&1
matches "a process that is not under weft" "^1 weftctl: $$: " "$? $(cat "$tmp/out")"
# Beside others that have the CPU a thread that was told to stop does so late: it must not stay stopped for that.
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[-,].*//')
for task in /proc/"$at"/task/*; do
	taskset -pc "$cpu" "${task##*/}" >/dev/null 2>&1
	renice -n 19 -p "${task##*/}" >/dev/null 2>&1
done
hogs=
for _ in 1 2 3; do
	taskset -c "$cpu" timeout 100 sh -c 'while :; do :; done' &
	hogs="$hogs $!"
done
"$weftctl" profile "$at" --cpu 4s -o "$tmp/p" >"$tmp/out" 2>&1 &
profiler=$!
looks=0 stopped=0
while kill -0 $profiler 2>/dev/null; do
	looks=$((looks + 1))
	cat /proc/"$at"/task/*/stat 2>/dev/null | grep -q ') t ' && stopped=$((stopped + 1))
	sleep 0.1
done
wait $profiler
# shellcheck disable=SC2086
kill $hogs
[ $((stopped * 2)) -lt $looks ]
verdict $? "a thread without a CPU is not left stopped" "stopped at $stopped of $looks looks"
kill -0 "$at"
verdict $? "the process goes on"
kill -9 "$at"
pid=

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
