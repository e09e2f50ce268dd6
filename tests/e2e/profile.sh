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

# The function of the innermost call with the largest sum of the last value, and that sum of the first: "name count".
cat >"$tmp/top.py" <<'X'
import gzip, sys

def varint(b, at):
    v = shift = 0
    while True:
        c = b[at]
        at += 1
        v |= (c & 0x7f) << shift
        shift += 7
        if c < 0x80:
            return v, at

def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        if key & 7 == 0:
            v, at = varint(b, at)
        else:
            n, at = varint(b, at)
            v, at = b[at:at + n], at + n
        yield key >> 3, v

def numbers(b):
    at, found = 0, []
    while at < len(b):
        v, at = varint(b, at)
        found.append(v)
    return found

data = open(sys.argv[1], "rb").read()
data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
strings, functions, places, samples = [], {}, {}, []
for f, v in fields(data):
    if f == 6:
        strings.append(v.decode())
    elif f == 5:
        m = dict(fields(v))
        functions[m[1]] = m[2]
    elif f == 4:
        m = dict(fields(v))
        places[m[1]] = dict(fields(m[4]))[1]
    elif f == 2:
        m = dict(fields(v))
        samples.append((numbers(m.get(1, b"")), numbers(m[2])))
sums, counts = {}, {}
for place, value in samples:
    name = strings[functions[places[place[0]]]] if place else "none"
    sums[name] = sums.get(name, 0) + value[-1]
    counts[name] = counts.get(name, 0) + value[0]
top = max(sums, key=sums.get)
print(top, counts[top])
X

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
		matches "$kind: what is on top" "^$top\$" "$(python3 "$tmp/top.py" "$tmp/p" 2>&1 | tail -n 1)"
	command -v go >/dev/null || continue
	matches "$kind: Go's reader" "${top%% *}" "$(HOME=$tmp timeout 60 go tool pprof -top "$tmp/p" 2>&1 | grep -m 1 '[0-9]%.*[0-9]%.*[0-9]%')"
done <<X
cpu counts_money [0-9]+
block uses_the_till [0-9]+
mutex uses_the_till [0-9]+
threads guest 50
X

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
