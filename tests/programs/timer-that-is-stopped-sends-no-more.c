/*
 * A thread has a timer for itself (SIGEV_THREAD_ID), and deletes it, or sets it to another time, in the midst
 * of its expirations: once that call has returned no handler of what was before runs, on any thread.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS = 3, ROUNDS = 150, OFTEN = 20000, SETTINGS = 1000000 };

static atomic_bool stop;
static atomic_int strange, late, handled;
static __thread int me;                /* from 1 */
static __thread volatile bool expects; /* its timer is set, and will expire soon */

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	if (si->si_value.sival_int != me)
		strange++;
	else if (!expects)
		late++;
	else
		handled++;
}

static void *computes(void *arg)
{
	volatile unsigned long k = 0;

	while (!stop)
		if (++k % 100000 == 0)
			usleep(100);
	return arg;
}

static void set(timer_t t, long first_s, long every_ns)
{
	struct itimerspec it = { { 0, every_ns }, { first_s, first_s ? 0 : every_ns } };

	CHECK_SYS(timer_settime(t, 0, &it, NULL));
}

static void linger(int round)
{
	volatile unsigned long k = 0;

	switch (round % 3) {
	case 0:
		usleep(100);
		break;
	case 1:
		sched_yield();
		break;
	case 2:
		while (++k < 20000)
			;
	}
}

static void *one(void *number)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3 };
	timer_t t;

	me = (int)(long)number;
	ev.sigev_value.sival_int = me;
	ev._sigev_un._tid = gettid();
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
		expects = true;
		set(t, 0, OFTEN);
		linger(i);
		if (i % 2) {
			set(t, SETTINGS, 0);
			expects = false;
			linger(i + 1);
		}
		CHECK_SYS(timer_delete(t));
		expects = false;
		linger(i + 2);
	}
	usleep(20000);
	return number;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t busy[2], t[THREADS];

	CHECK_SYS(sigaction(SIGRTMIN + 3, &sa, NULL));
	for (int i = 0; i < 2; i++)
		busy[i] = spawn(computes, NULL);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(one, (void *)(i + 2));
	one((void *)1);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	stop = true;
	for (int i = 0; i < 2; i++)
		join(busy[i]);
	CHECK_EQ(strange, 0);
	CHECK_EQ(late, 0);
	CHECK(handled > 0);
	passed("a timer that is deleted or set anew");
	return 0;
}
