#!/usr/bin/env bash
# deadlock: what is said by itself of threads that wait for each other for good, and that nothing is said of others.

. "$(dirname "$0")/lib.sh"

cat >"$tmp/kinds.c" <<'X'
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static pthread_mutex_t ring[MOST], own = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER, rw2 = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never_told = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;
static pthread_t t[MOST], first;
static sem_t never, later;
static sigjmp_buf out;
static int n;

static void *takes_two(void *arg)
{
	long i = (long)arg;

	pthread_mutex_lock(&ring[i]);
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&ring[(i + 1) % n]);
	return NULL;
}

static void *joins_the_next(void *arg)
{
	pthread_barrier_wait(&all);
	pthread_join(t[((long)arg + 1) % n], NULL);
	return NULL;
}

static void *holds_and_joins(void *arg)
{
	if (arg) {
		pthread_barrier_wait(&all);
		pthread_mutex_lock(&own);
		return NULL;
	}
	pthread_mutex_lock(&own);
	pthread_barrier_wait(&all);
	pthread_join(t[1], NULL);
	return NULL;
}

static void *writes_and_reads(void *arg)
{
	pthread_rwlock_wrlock(arg ? &rw : &rw2);
	pthread_barrier_wait(&all);
	pthread_rwlock_rdlock(arg ? &rw2 : &rw);
	return NULL;
}

static void *upgrades(void *arg)
{
	pthread_rwlock_rdlock(&rw);
	pthread_barrier_wait(&all);
	pthread_rwlock_wrlock(&rw);
	return arg;
}

static void *locks_twice(void *arg)
{
	pthread_mutex_lock(&own);
	pthread_mutex_lock(&own);
	return arg;
}

static void *listens(void *arg)
{
	pthread_mutex_lock(&own);
	for (;;)
		pthread_cond_wait(&never_told, &own);
	return arg;
}

static void *waits(void *arg)
{
	sem_wait(&never);
	return arg;
}

static void *waits_and_main_leaves(void *arg)
{
	return waits(arg);
}

/* The last of a chain waits for what comes. */
static void *takes_two_but_the_last(void *arg)
{
	if ((long)arg < n - 1)
		return takes_two(arg);
	pthread_mutex_lock(&ring[n - 1]);
	pthread_barrier_wait(&all);
	sem_wait(&later);
	pthread_mutex_unlock(&ring[n - 1]);
	return NULL;
}

static void *chain(void *arg)
{
	takes_two_but_the_last(arg);
	if ((long)arg < n - 1) {
		pthread_mutex_unlock(&ring[((long)arg + 1) % n]);
		pthread_mutex_unlock(&ring[(long)arg]);
	}
	return NULL;
}

static void *timed(void *arg)
{
	long i = (long)arg;
	struct timespec soon;

	pthread_mutex_lock(&ring[i]);
	pthread_barrier_wait(&all);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	if (!pthread_mutex_timedlock(&ring[(i + 1) % n], &soon))
		pthread_mutex_unlock(&ring[(i + 1) % n]);
	pthread_mutex_unlock(&ring[i]);
	return NULL;
}

static void leave(int sig)
{
	siglongjmp(out, sig);
}

/* A handler takes the first out of the circle. */
static void *handled(void *arg)
{
	long i = (long)arg;

	pthread_mutex_lock(&ring[i]);
	if (i || !sigsetjmp(out, 1)) {
		pthread_barrier_wait(&all);
		pthread_mutex_lock(&ring[(i + 1) % n]);
		pthread_mutex_unlock(&ring[(i + 1) % n]);
	}
	pthread_mutex_unlock(&ring[i]);
	return NULL;
}

static void post(int sig)
{
	sem_post(&later);
	(void)sig;
}

static void *wants_later(void *arg)
{
	sem_wait(&later);
	sem_post(&later);
	return arg;
}

static void *sigwaits(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &sig);
	sem_post(&later);
	return arg;
}

static void *sleeps(void *arg)
{
	sleep(1);
	sem_post(&later);
	return arg;
}

static const struct {
	const char *name;
	void *(*fn)(void *), *(*last)(void *);
} kinds[] = {
	{ "ring", takes_two }, { "join", joins_the_next }, { "holdjoin", holds_and_joins }, { "rwlock", writes_and_reads },
	{ "upgrade", upgrades }, { "self", locks_twice }, { "cond", listens }, { "sem", waits },
	{ "mainleaves", waits_and_main_leaves }, { "fork", takes_two }, { "chain", chain }, { "timed", timed },
	{ "handled", handled }, { "posted", wants_later }, { "sigwait", wants_later, sigwaits },
	{ "sleeper", wants_later, sleeps },
};

static void *kill_later(void *arg)
{
	if (arg) {
		usleep(900000);
		pthread_kill(t[0], SIGUSR1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned k = 0;

	n = atoi(argv[argc - 1]);
	pthread_barrier_init(&all, NULL, (unsigned)n + !strcmp(argv[1], "join"));
	for (int i = 0; i < n; i++)
		pthread_mutex_init(&ring[i], NULL);
	while (strcmp(kinds[k].name, argv[1]))
		k++;
	first = pthread_self();
	if (!strcmp(argv[1], "handled"))
		signal(SIGUSR1, leave);
	if (!strcmp(argv[1], "posted") || !strcmp(argv[1], "sigwait")) {
		sigset_t set;

		signal(SIGUSR1, post);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	if (!strcmp(argv[1], "fork")) {
		pthread_create(&t[0], NULL, kill_later, NULL);
		pthread_join(t[0], NULL);
		if (fork()) {
			int status;

			wait(&status);
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		}
	}
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, i == n - 1 && kinds[k].last ? kinds[k].last : kinds[k].fn, (void *)i);
	if (!strcmp(argv[1], "handled")) {
		pthread_t killer;

		pthread_create(&killer, NULL, kill_later, (void *)1);
	}
	if (!strcmp(argv[1], "chain")) {
		usleep(900000);
		sem_post(&later);
	}
	if (!strcmp(argv[1], "posted") || !strcmp(argv[1], "sigwait")) {
		/* From outside: a child, so that no thread of this process is at work meanwhile. */
		pid_t who = getpid();

		if (!fork()) {
			usleep(900000);
			kill(who, !strcmp(argv[1], "posted") ? SIGUSR1 : SIGUSR2);
			_exit(0);
		}
	}
	if (!strcmp(argv[1], "join")) {
		pthread_barrier_wait(&all);
		sem_wait(&never);
	}
	if (!strcmp(argv[1], "mainleaves"))
		pthread_exit(NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/kinds" "$tmp/kinds.c" || exit 2

told()	# told KIND N PATTERN
{
	local p status
	for p in 1 2 8; do
		timeout -k 5 60 "$weft" --procs=$p -o deadlock=abort -- "$tmp/kinds" "$1" "$2" >"$tmp/out" 2>&1
		status=$?
		matches "procs=$p: $1 of $2" "^134 1 weft\[[0-9]+\]: deadlock: $3 .*end of deadlock" \
			"$status $(grep -c ': deadlock: ' "$tmp/out") $(tr '\n' ' ' <"$tmp/out")"
	done
}

silent()	# silent KIND N
{
	local p status
	for p in 1 2 8; do
		timeout -k 5 60 "$weft" --procs=$p -- "$tmp/kinds" "$1" "$2" >"$tmp/out" 2>&1
		status=$?
		matches "procs=$p: $1 of $2" '^0 $' "$status $(tr '\n' ' ' <"$tmp/out")"
	done
}

told ring 2 "threads wait for each other in a circle: 2 threads"
told ring 5 "threads wait for each other in a circle: 5 threads"
told ring 64 "threads wait for each other in a circle: 64 threads"
told join 3 "threads wait for each other in a circle: 3 threads"
told holdjoin 2 "threads wait for each other in a circle: 2 threads"
told rwlock 2 "threads wait for each other in a circle: 2 threads"
told self 1 "a thread waits for itself: 1 thread"
told upgrade 2 "all threads are asleep, and nothing is left that could wake one: 3 threads"
told cond 3 "all threads are asleep, and nothing is left that could wake one: 4 threads"
told sem 3 "all threads are asleep, and nothing is left that could wake one: 4 threads"
told mainleaves 3 "all threads are asleep, and nothing is left that could wake one: 3 threads"
told fork 2 "threads wait for each other in a circle: 2 threads"
silent chain 5
silent timed 5
silent handled 2
silent posted 3
silent sigwait 3
silent sleeper 3

# Only told: the program goes on, and is told of once.
"$weft" --procs=2 -- "$tmp/kinds" ring 2 >"$tmp/out" 2>&1 &
pid=$!
for _ in $(seq 600); do
	grep -q 'end of deadlock' "$tmp/out" && break
	sleep 0.1
done
sleep 1
matches "report: once, and the program lives" '^1 alive$' \
	"$(grep -c 'deadlock: threads' "$tmp/out") $(kill -0 $pid 2>/dev/null && echo alive)"
kill -9 $pid
wait $pid 2>/dev/null
pid=
timeout 2 "$weft" --procs=2 -o deadlock=off -- "$tmp/kinds" ring 2 >"$tmp/out" 2>&1
matches "off" '^124 $' "$? $(cat "$tmp/out")"
"$weft" -o deadlock=maybe -- true >"$tmp/out" 2>&1
matches "neither" 'deadlock=maybe: not one of its words' "$(cat "$tmp/out")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
