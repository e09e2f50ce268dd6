/*
 * storm: queued signals by the hundred thousand at threads that wait for them by sigsuspend, or
 * compute; none may be lost, doubled or out of order.
 *
 *	storm [SIGNALS [REPEATS]]
 *
 * A real-time signal is queued as often as it is sent, in order, and carries a value.  Three kinds
 * are sent at once, each SIGNALS times: to a thread that lets it in only inside sigsuspend (which
 * must return after a handler, and only then), to a thread that computes, by another thread; and to
 * the process, by another process.  Each repeat has threads and a sender of its own.  A sender whom
 * the limit on queued signals stops (EAGAIN) tries again.
 *
 * Short slices make it worse: WEFT=slice=500us.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

enum { WAITS, COMPUTES, PROCESS, KINDS };

static int wanted = 1000;
static atomic_int next[KINDS], disorder, ready;
static __thread int mine; /* handlers that ran on this thread */

static int signal_of(int kind)
{
	return SIGRTMIN + 1 + kind;
}

/*
 * To one thread they come one by one; to the process, on whatever threads: only counted and added.
 */
static atomic_long sum;

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	int kind = sig - SIGRTMIN - 1, saved = errno;

	(void)uc;
	mine++;
	if (kind == PROCESS) {
		atomic_fetch_add(&sum, si->si_value.sival_int);
		atomic_fetch_add(&next[kind], 1);
	} else if (atomic_fetch_add(&next[kind], 1) != si->si_value.sival_int) {
		atomic_fetch_add(&disorder, 1);
	}
	errno = saved;
}

static void only(int how, int kind)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal_of(kind));
	CHECK(pthread_sigmask(how, &set, NULL) == 0);
}

static void *waits(void *arg)
{
	sigset_t let_in;

	only(SIG_BLOCK, WAITS);
	atomic_fetch_add(&ready, 1);
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &let_in) == 0);
	sigdelset(&let_in, signal_of(WAITS));
	while (atomic_load(&next[WAITS]) < wanted) {
		int before = mine;

		CHECK(sigsuspend(&let_in) == -1 && errno == EINTR);
		CHECK(mine > before);
		before = mine;
		for (volatile int i = 0; i < 50; i++)
			CHECK(mine == before); /* blocked again */
	}
	return arg;
}

static void *computes(void *arg)
{
	volatile unsigned long sink = 0;

	only(SIG_UNBLOCK, COMPUTES);
	only(SIG_UNBLOCK, PROCESS);
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&next[COMPUTES]) < wanted || atomic_load(&next[PROCESS]) < wanted)
		sink++;
	return arg;
}

struct target {
	pthread_t thread;
	int kind;
};

static void *sends(void *arg)
{
	struct target *t = arg;

	for (int i = 0; i < wanted; i++) {
		union sigval v = { .sival_int = i };
		int err;

		while ((err = pthread_sigqueue(t->thread, signal_of(t->kind), v)) == EAGAIN)
			sched_yield();
		CHECK(err == 0);
	}
	return arg;
}

static void sends_to_parent(pid_t parent)
{
	for (int i = 0; i < wanted; i++) {
		union sigval v = { .sival_int = i };

		while (sigqueue(parent, signal_of(PROCESS), v)) {
			CHECK(errno == EAGAIN && getppid() == parent);
			usleep(100);
		}
	}
	_exit(0);
}

static void once(void)
{
	struct target to[2];
	pthread_t sender[2];
	pid_t parent = getpid(), child;
	int status;

	memset(next, 0, sizeof(next));
	atomic_store(&sum, 0);
	atomic_store(&ready, 0);
	for (int kind = 0; kind < 2; kind++) {
		to[kind].kind = kind;
		CHECK(pthread_create(&to[kind].thread, NULL, kind == WAITS ? waits : computes, NULL) == 0);
	}
	while (atomic_load(&ready) < 2)
		sched_yield();
	child = fork();
	CHECK(child >= 0);
	if (child == 0)
		sends_to_parent(parent);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&sender[i], NULL, sends, &to[i]) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_join(sender[i], NULL) == 0);
		CHECK(pthread_join(to[i].thread, NULL) == 0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	for (int kind = 0; kind < KINDS; kind++)
		CHECK(atomic_load(&next[kind]) == wanted);
	CHECK(atomic_load(&disorder) == 0);
	CHECK(atomic_load(&sum) == (long)wanted * (wanted - 1) / 2);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	int repeats = argc > 2 ? atoi(argv[2]) : 1;

	if (argc > 1)
		wanted = atoi(argv[1]);
	for (int kind = 0; kind < KINDS; kind++) {
		CHECK(sigaction(signal_of(kind), &sa, NULL) == 0);
		only(SIG_BLOCK, kind);
	}
	for (int i = 0; i < repeats; i++)
		once();
	printf("%d repeats of 3 times %d signals: none lost, none out of order\n", repeats, wanted);
	return 0;
}
