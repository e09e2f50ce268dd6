/*
 * Thousands of timers may name a thread (SIGEV_THREAD_ID): each sends it its signal; they are deleted in any order, and
 * others are made in their place.
 */
#include "check.h"
#include <signal.h>

enum { MANY = 2500, AGAIN = 3000 };

static timer_t timers[MANY];
static _Atomic int fired[MANY];
static _Atomic int got;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	if (!fired[si->si_value.sival_int]++)
		got++;
}

static void make(int i)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN };

	ev.sigev_value.sival_int = i;
	ev._sigev_un._tid = gettid();
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timers[i]));
}

static void all_fire(void)
{
	struct itimerspec soon = { .it_value = { 0, 1000000 } };

	got = 0;
	for (int i = 0; i < MANY; i++)
		fired[i] = 0;
	for (int i = 0; i < MANY; i++)
		CHECK_SYS(timer_settime(timers[i], 0, &soon, NULL));
	while (got < MANY)
		usleep(1000);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(fired[i], 1);
}

static void *uses(void *who)
{
	for (int i = 0; i < MANY; i++)
		make(i);
	all_fire();
	passed("%s has %d", (const char *)who, MANY);
	for (int n = 0; n < AGAIN; n++) {
		int i = n * 7 % MANY;

		CHECK_SYS(timer_delete(timers[i]));
		make(i);
	}
	all_fire();
	passed("%s has %d others", (const char *)who, MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_SYS(timer_delete(timers[i]));
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };

	CHECK_SYS(sigaction(SIGRTMIN, &sa, NULL));
	join(spawn(uses, "a thread"));
	uses("main");
	return 0;
}
