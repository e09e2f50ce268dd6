/*
 * An interval timer whose signal is kept out meanwhile queues one signal, and says how often it has
 * expired besides: timer_getoverrun() and si_overrun.  Of timers that name the thread and of the
 * process's, with a standard and a real-time signal, taken by sigwaitinfo() and by a handler.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { EVERY_MS = 5, AWAY_MS = 200, AT_LEAST = AWAY_MS / EVERY_MS / 4 };

struct way {
	int notify, sig;
	bool handled;
};

static atomic_int runs, overrun;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	CHECK_EQ(si->si_code, SI_TIMER);
	overrun = si->si_overrun;
	runs++;
}

static void away(long ms)
{
	struct timespec ts = { 0, ms * 1000000L };

	while (nanosleep(&ts, &ts) == -1)
		CHECK_EQ(errno, EINTR);
}

static void set(timer_t t, long first_ms, long every_ms)
{
	struct itimerspec it = { { 0, every_ms * 1000000L }, { 0, first_ms * 1000000L } };

	CHECK_SYS(timer_settime(t, 0, &it, NULL));
}

static void *counts(void *arg)
{
	const struct way *w = arg;
	struct sigevent ev = { .sigev_notify = w->notify, .sigev_signo = w->sig };
	struct timespec none = { 0, 0 };
	sigset_t only;
	siginfo_t si;
	timer_t t;

	sigemptyset(&only);
	sigaddset(&only, w->sig);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
	ev._sigev_un._tid = gettid();
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
	runs = overrun = 0;
	set(t, EVERY_MS, EVERY_MS);
	away(AWAY_MS);
	if (w->handled) {
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &only, NULL));
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
		CHECK(runs >= 1 && runs <= 2); /* the next one may have come meanwhile */
	} else {
		CHECK_EQ(sigwaitinfo(&only, &si), w->sig);
		CHECK_EQ(si.si_code, SI_TIMER);
		overrun = si.si_overrun;
		CHECK(timer_getoverrun(t) >= AT_LEAST);
		set(t, 0, 0);
		while (sigtimedwait(&only, &si, &none) > 0)
			runs++;
		CHECK(runs <= 1);
	}
	CHECK(runs > 1 || overrun >= AT_LEAST);
	/* One that expires once has no others to tell of. */
	set(t, 0, 0);
	while (sigtimedwait(&only, &si, &none) > 0)
		;
	set(t, 1, 0);
	CHECK_EQ(sigwaitinfo(&only, &si), w->sig);
	CHECK_EQ(si.si_overrun, 0);
	CHECK_EQ(timer_getoverrun(t), 0);
	CHECK_SYS(timer_delete(t));
	CHECK_ERR(timer_getoverrun(t), EINVAL);
	return NULL;
}

/* A standard signal that waits already does not hide the timer's. */
static void *waits_beside_another(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	struct timespec none = { 0, 0 };
	sigset_t only;
	siginfo_t si;
	timer_t t;

	sigemptyset(&only);
	sigaddset(&only, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	ev._sigev_un._tid = gettid();
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
	set(t, 1, 0);
	away(100);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(sigwaitinfo(&only, &si), SIGUSR1);
	CHECK(si.si_code != SI_TIMER);
	CHECK_EQ(sigwaitinfo(&only, &si), SIGUSR1);
	CHECK_EQ(si.si_code, SI_TIMER);
	CHECK_ERR(sigtimedwait(&only, &si, &none), EAGAIN);
	CHECK_SYS(timer_delete(t));
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigset_t all;

	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &all, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGRTMIN + 3, &sa, NULL));
	for (int i = 0; i < 8; i++) {
		struct way w = { i & 1 ? SIGEV_THREAD_ID : SIGEV_SIGNAL, i & 2 ? SIGUSR1 : SIGRTMIN + 3,
				 i & 4 };

		join(spawn(counts, &w));
	}
	passed("one signal tells of all expirations");
	join(spawn(waits_beside_another, NULL));
	passed("and comes beside one that waits already");
	return 0;
}
