#!/usr/bin/env bash
# clocks: a library before libc shows the program a clock of its own; a wait until a time of that clock lasts as long as
# it should, also where the clock shows a time before 1970.

. "$(dirname "$0")/lib.sh"

cat >"$tmp/shows.c" <<'X'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The time is as many seconds as the variable says, when the process starts, and goes on from there. */
int clock_gettime(clockid_t clock, struct timespec *ts)
{
	static time_t start[16];
	const char *at = getenv("SHOWN");
	long r = syscall(SYS_clock_gettime, clock, ts);

	if (r || clock < 0 || clock > 15 || !at)
		return (int)r;
	if (!start[clock])
		start[clock] = ts->tv_sec;
	ts->tv_sec += atol(at) - start[clock];
	return 0;
}
X
cat >"$tmp/waits.c" <<'X'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LENGTH_MS = 30, KINDS = 4 };

static double kernel_ms(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int waits(int kind)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	clockid_t clock = kind == 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
	struct timespec ts;
	sem_t never;

	clock_gettime(clock, &ts);
	ts.tv_nsec += LENGTH_MS * 1000000;
	if (ts.tv_nsec >= 1000000000)
		ts.tv_sec++, ts.tv_nsec -= 1000000000;
	switch (kind) {
	case 0:
	case 1:
		return clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL);
	case 2:
		sem_init(&never, 0, 0);
		return sem_timedwait(&never, &ts) ? errno - ETIMEDOUT : -1;
	default:
		pthread_mutex_lock(&m);
		return pthread_cond_timedwait(&(pthread_cond_t)PTHREAD_COND_INITIALIZER, &m, &ts) - ETIMEDOUT;
	}
}

static void *all(void *arg)
{
	for (int kind = 0; kind < KINDS; kind++) {
		double start = kernel_ms();
		int err = waits(kind);

		printf("%d%s ", err, kernel_ms() - start < LENGTH_MS ? " early" : "");
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, all, NULL);
	pthread_join(t, NULL);
	puts("");
	return 0;
}
X
${CC:-cc} -O2 -shared -fPIC -o "$tmp/shows.so" "$tmp/shows.c" && ${CC:-cc} -O2 -pthread -o "$tmp/waits" "$tmp/waits.c" || exit 2

for shown in 1000000 5 0 -1 -5 -1000000; do
	for procs in 1 2; do
		said=$(SHOWN=$shown LD_PRELOAD=$tmp/shows.so timeout 60 "$weft" --procs=$procs -- "$tmp/waits" 2>&1)
		[ "$said" = "0 0 0 0 " ]
		verdict $? "waits by a clock that shows $shown s, procs=$procs" "$said"
	done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
