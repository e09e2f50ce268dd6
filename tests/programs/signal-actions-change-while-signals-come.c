/*
 * sigaction while signals arrive: what comes is handled or ignored by one whole action, the last
 * call is what counts, and SA_RESETHAND gives its handler one signal.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ROUNDS = 2000, SENDERS = 2 };
static atomic_bool stop;
static atomic_int ran, bad;
static pthread_barrier_t barrier;

static void count(int sig)
{
	(void)sig;
	ran++;
}

/* Its mask has SIGUSR2, and it has the information. */
static void informed(int sig, siginfo_t *si, void *uc)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	bad += si->si_signo != sig || !uc || !sigismember(&now, SIGUSR2);
	ran++;
}

static void set(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };

	CHECK_SYS(sigaction(sig, &sa, NULL));
}

static void set_informed(int sig)
{
	struct sigaction sa = { .sa_sigaction = informed, .sa_flags = SA_SIGINFO };

	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK_SYS(sigaction(sig, &sa, NULL));
}

static void *toggle(void *arg)
{
	while (!stop) {
		set(SIGUSR1, count, 0);
		set(SIGUSR1, SIG_IGN, 0);
		set_informed(SIGUSR1);
		set(SIGUSR1, SIG_IGN, SA_RESTART);
	}
	return arg;
}

static void senders_and_toggles(void)
{
	pthread_t t;

	set(SIGUSR1, SIG_IGN, 0);
	t = spawn(toggle, NULL);
	for (int i = 0; i < 30 * ROUNDS; i++) {
		switch (i % 3) {
		case 0:
			CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
			break;
		case 1:
			CHECK_SYS(kill(getpid(), SIGUSR1));
			break;
		default:
			CHECK_OK(pthread_kill(t, SIGUSR1));
			break;
		}
	}
	stop = true;
	join(t);
	CHECK_EQ(bad, 0);
	passed("a handler comes and goes while signals come: each runs it whole or is ignored");
}

static void *writer(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		set(SIGUSR1, arg ? count : SIG_IGN, 0);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void two_writers(void)
{
	pthread_t t[2];

	CHECK_OK(pthread_barrier_init(&barrier, NULL, 3));
	t[0] = spawn(writer, NULL);
	t[1] = spawn(writer, &barrier);
	for (int i = 0; i < ROUNDS; i++) {
		struct sigaction now;

		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		CHECK_SYS(sigaction(SIGUSR1, NULL, &now));
		ran = 0;
		CHECK_SYS(raise(SIGUSR1));
		CHECK_EQ(ran, now.sa_handler == count);
		pthread_barrier_wait(&barrier);
	}
	join(t[0]);
	join(t[1]);
	passed("two set one signal at once: what sigaction tells is what a signal does");
}

/* The default action of SIGURG is to do nothing. */
static void *sender(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&barrier);
		CHECK_SYS(raise(SIGURG));
		pthread_barrier_wait(&barrier);
	}
	return arg;
}

static void once_only(void)
{
	pthread_t t[SENDERS];
	struct sigaction now;

	CHECK_OK(pthread_barrier_init(&barrier, NULL, SENDERS + 1));
	for (int i = 0; i < SENDERS; i++)
		t[i] = spawn(sender, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		ran = 0;
		set(SIGURG, count, SA_RESETHAND | SA_RESTART);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		CHECK_EQ(ran, 1);
	}
	for (int i = 0; i < SENDERS; i++)
		join(t[i]);
	CHECK_SYS(sigaction(SIGURG, NULL, &now));
	CHECK(now.sa_handler == SIG_DFL);
	CHECK_EQ(now.sa_flags & (SA_RESETHAND | SA_RESTART), SA_RESETHAND | SA_RESTART);
	passed("SA_RESETHAND: of two at once one is handled, and the flags stay");
}

static void changes_itself(int sig)
{
	(void)sig;
	set(SIGUSR2, ran++ % 2 ? SIG_IGN : count, 0);
	set(SIGUSR1, changes_itself, 0);
}

static void *pester(void *arg)
{
	while (!stop) {
		pthread_kill(*(pthread_t *)arg, SIGUSR1);
		sched_yield();
	}
	return NULL;
}

static void in_handlers(void)
{
	pthread_t self = pthread_self(), t;

	stop = false;
	set(SIGUSR1, changes_itself, 0);
	t = spawn(pester, &self);
	for (int i = 0; i < 5 * ROUNDS; i++)
		set(SIGUSR2, i % 2 ? SIG_IGN : count, 0);
	stop = true;
	join(t);
	passed("a handler may call sigaction when it has interrupted sigaction");
}

int main(void)
{
	senders_and_toggles();
	two_writers();
	once_only();
	in_handlers();
	return 0;
}
