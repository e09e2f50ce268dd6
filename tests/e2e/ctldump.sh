#!/usr/bin/env bash
# ctldump: what `weftctl dump` says of threads that wait for each kind of thing, that compute, and of those that hold it.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

# Threads of every kind; then a line with the id, and main waits until standard input ends.
cat >"$tmp/kinds.c" <<'X'
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_told = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t prices = PTHREAD_RWLOCK_INITIALIZER;
static sem_t never;
static int sv[2];
static volatile long sum;
static volatile int over;

__attribute__((noinline)) static void takes_stock(void)
{
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
}

static void *wants(void *arg)
{
	takes_stock();
	return arg;
}

static void *holds(void *arg)
{
	pthread_mutex_lock(&stock);
	pthread_rwlock_wrlock(&prices);
	*(volatile int *)arg = 1;
	sem_wait(&never);
	pthread_rwlock_unlock(&prices);
	pthread_mutex_unlock(&stock);
	return arg;
}

static void *asks(void *arg)
{
	pthread_rwlock_rdlock(&prices);
	return arg;
}

static void *listens(void *arg)
{
	pthread_mutex_lock(&guard);
	while (!over)
		pthread_cond_wait(&never_told, &guard);
	return arg;
}

static void *reads(void *arg)
{
	char c;

	return read(sv[0], &c, 1) < 0 ? arg : NULL;
}

static char *lockfile;

static void *locks(void *arg)
{
	int fd = open(lockfile, O_CREAT | O_RDWR, 0600);

	return flock(fd, LOCK_EX) ? arg : NULL;
}

__attribute__((noinline)) static void crunches(void)
{
	while (!over)
		sum++;
}

static void *computes(void *arg)
{
	crunches();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	volatile int held = 0;
	pthread_t t;
	char c;

	socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
	sem_init(&never, 0, 0);
	pthread_create(&t, NULL, holds, (void *)&held);
	while (!held)
		usleep(1000);
	for (int i = 0; i < n; i++)
		pthread_create(&t, NULL, wants, NULL);
	pthread_create(&t, NULL, asks, NULL);
	pthread_create(&t, NULL, listens, NULL);
	pthread_create(&t, NULL, reads, NULL);
	pthread_create(&t, NULL, computes, NULL);
	lockfile = argv[2];
	flock(open(lockfile, O_CREAT | O_RDWR, 0600), LOCK_EX);
	for (int i = 0; i < 5; i++)
		pthread_create(&t, NULL, locks, NULL);
	usleep(100000);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	return 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/kinds" "$tmp/kinds.c" || exit 2


# The entry with this in it, as one line; again until it is there, for a thread may still be on its way.
entry()	# entry WORDS
{
	for _ in $(seq 100); do
		"$weftctl" dump "$at" >"$tmp/dump" 2>&1
		awk -v RS= -v words="$1" 'index($0, words) { gsub(/[ \n]+/, " "); print; exit }' "$tmp/dump" >"$tmp/entry"
		[ ! -s "$tmp/entry" ] || break
		sleep 0.1
	done
	cat "$tmp/entry"
}

for p in 1 2; do
	start "$weft" --procs=$p -- "$tmp/kinds" 1000 "$tmp/lock"
	pid=$at
	entry "mutex lock" >/dev/null
	grep -q "no stacks" "$tmp/dump" && frames=no || frames=yes
	stack()	# stack PATTERN: where there are stacks
	{
		[ $frames = yes ] && echo "$1"
	}
	matches "procs=$p: a thousand at one mutex are one entry" \
		"^1000 threads .*waiting, mutex lock: mutex 0x[0-9a-f]+$(stack ' \(stock\)'), held by G[0-9]+ \"kinds\", which waits \(semaphore wait\)$(stack ' in holds \(kinds.c:[0-9]+\).* takes_stock \(kinds.c:[0-9]+\) wants \(kinds.c')" \
		"$(entry "mutex lock")"
	matches "procs=$p: a semaphore" "waiting, semaphore wait: semaphore 0x[0-9a-f]+, which says 0.*$(stack 'holds')" \
		"$(entry "waiting, semaphore")"
	matches "procs=$p: a read-write lock" "rwlock read: .*held by G[0-9]+.*$(stack 'asks')" "$(entry "rwlock read")"
	matches "procs=$p: a condition" "condition wait: .*$(stack 'listens')" "$(entry "condition wait")"
	matches "procs=$p: a socket" "IO wait: descriptor [0-9]+ to read, socket:.*$(stack 'reads')" "$(entry "socket:")"
	if [ $frames = yes ]; then
		matches "procs=$p: one that computes" "crunches \(kinds.c:[0-9]+\) computes \(kinds.c" "$(entry "crunches")"
		matches "procs=$p: those that the kernel keeps" "^5 threads .*: in a system call.* locks \(kinds.c:[0-9]+\)" \
			"$(entry "5 threads")"
		matches "procs=$p: main" " main \(kinds.c:[0-9]+\)" "$(entry " main (")"
	fi
	"$weftctl" dump -x "$at" >"$tmp/dump" 2>&1
	matches "procs=$p: -x: each thread, P and M" "^0 1000 $p\$" \
		"$? $(grep -c "mutex lock" "$tmp/dump") $(grep -c "^P[0-9]*:" "$tmp/dump")"
	kill -9 "$at"
	pid=
done

# Threads that park and run all the time: what is said of each is of one moment.
cat >"$tmp/restless.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t next = PTHREAD_COND_INITIALIZER;

static void *moves(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&turn);
		pthread_cond_signal(&next);
		if (arg)
			pthread_cond_wait(&next, &turn);
		for (volatile int i = 0; i < 2000; i++)
			;
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}

int main(void)
{
	pthread_t t;
	char c;

	for (long i = 0; i < 64; i++)
		pthread_create(&t, NULL, moves, (void *)(i % 4));
	printf("%d\n", (int)getpid());
	fflush(stdout);
	return read(0, &c, 1) > 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/restless" "$tmp/restless.c" || exit 2
start "$weft" --procs=2 -- "$tmp/restless"
pid=$at
seen=0 strange=
for _ in $(seq 10); do
	[ $frames = yes ] || break
	"$weftctl" dump "$at" >"$tmp/dump" 2>&1
	seen=$((seen + $(grep -c "moves (restless.c" "$tmp/dump")))
	strange+=$(grep -E "cannot be read|^    0x" "$tmp/dump")
done
[ $frames = no ] || matches "threads that never rest" "^yes:\$" "$([ $seen -ge 10 ] && echo yes || echo no):$strange"
kill -9 "$at"
pid=

# Circles of each kind, and what is like one: a holder that waits for something else, timed waits that pass.
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/circle" "$top/tests/e2e/circles.c" || exit 2

circle()	# circle KIND N HOW-MANY: so many are told to be in a circle; again until it has closed
{
	local told tries=1

	start "$weft" --procs=2 -o deadlock=off -- "$tmp/circle" "$1" "$2" stays
	pid=$at
	[ "$3" = none ] || tries=100
	for _ in $(seq $tries); do
		[ "$3" != none ] || sleep 0.5
		"$weftctl" dump "$at" >"$tmp/dump" 2>&1
		told=$(sed -n 's/^deadlock: \([0-9]*\) thread.*/\1/p' "$tmp/dump")
		[ -z "$told" ] || break
		[ "$3" = none ] || sleep 0.1
	done
	matches "$1 of $2" "^$3\$" "${told:-none}"
	kill -9 "$at"
	pid=
}

circle ring 2 2
circle ring 5 5
circle join 3 3
circle rwlock 2 2
circle mixed 2 2
circle inherit 3 3
circle robust 3 3
circle self 1 1
circle chain 5 none
circle tries 5 none

# Its file names a FIFO as the one with its debug information; then the right one, then one of another program.
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/linked" "$tmp/restless.c" || exit 2
objcopy --only-keep-debug "$tmp/linked" "$tmp/right" && strip "$tmp/linked" &&
	(cd "$tmp" && cp right linked.debug && objcopy --add-gnu-debuglink=linked.debug linked) || exit 2
rm "$tmp/linked.debug"
mkfifo "$tmp/linked.debug"
start "$weft" --procs=2 -- "$tmp/linked"
pid=$at
timeout 20 "$weftctl" dump "$at" >"$tmp/dump" 2>&1
matches "debug information in a FIFO" '^0 0$' "$? $(grep -c "restless.c" "$tmp/dump")"
rm "$tmp/linked.debug"
mkdir "$tmp/.debug"
cp "$tmp/right" "$tmp/.debug/linked.debug"
if [ $frames = yes ]; then
	timeout 20 "$weftctl" dump "$at" >"$tmp/dump" 2>&1
	matches "debug information beside" '^0 yes$' "$? $(grep -q "main (restless.c" "$tmp/dump" && echo yes)"
fi
cp "$weft" "$tmp/.debug/linked.debug"
timeout 20 "$weftctl" dump "$at" >"$tmp/dump" 2>&1
matches "debug information of another program" '^0 0$' "$? $(grep -c "restless.c" "$tmp/dump")"
kill "$at"
pid=

"$weftctl" dump $$ >"$tmp/out" 2>&1
matches "a process that is not under weft" "^1 weftctl: $$: " "$? $(cat "$tmp/out")"
"$weftctl" dump 999999999 >"$tmp/out" 2>&1
matches "none" '^1 weftctl: 999999999: ' "$? $(cat "$tmp/out")"
"$weftctl" dump >"$tmp/out" 2>&1
matches "no argument" '^2 usage: weftctl dump' "$? $(cat "$tmp/out")"
"$weftctl" dump word >"$tmp/out" 2>&1
matches "no number" '^[12] .*weftctl' "$? $(cat "$tmp/out")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
