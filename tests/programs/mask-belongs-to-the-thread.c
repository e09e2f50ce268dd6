/*
 * Signal masks: inherited at creation, changed by each thread for itself, kept over every kind of
 * blocking, and seen by signals: a blocked one stays pending for its thread, and is delivered
 * before the call that unblocks it returns.
 */
#include "check.h"
#include <signal.h>

enum { THREADS = 40 };

static _Thread_local volatile sig_atomic_t here;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t bar;

static void handler(int sig)
{
	here = sig;
}

static int blocked(int sig)
{
	sigset_t now;

	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
	return sigismember(&now, sig);
}

static void *own_mask(void *arg)
{
	int i = (int)(long)arg, mine = SIGRTMIN + i % 20;
	struct timespec ts = { 0, 1000 };
	sigset_t set, old, pending;

	/* Inherited from main. */
	CHECK_EQ(blocked(SIGHUP), 1);
	CHECK_EQ(blocked(SIGUSR1), 0);
	sigemptyset(&set);
	sigaddset(&set, mine);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, &old));
	CHECK_EQ(sigismember(&old, mine), 0);
	CHECK_EQ(sigismember(&old, SIGHUP), 1);
	for (int k = 0; k < 20; k++) {
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK_OK(pthread_mutex_unlock(&mu));
		if (k % 5 == 0)
			pthread_barrier_wait(&bar);
		if (k % 7 == 0)
			CHECK_SYS(nanosleep(&ts, NULL));
		for (int s = 0; s < 20; s++)
			CHECK_EQ(blocked(SIGRTMIN + s), SIGRTMIN + s == mine);
	}

	CHECK_OK(pthread_kill(pthread_self(), mine));
	CHECK_EQ(here, 0);
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, mine), 1);
	pthread_barrier_wait(&bar);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	CHECK_EQ(here, mine);
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, mine), 0);
	CHECK_EQ(blocked(SIGHUP), 1);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t t[THREADS];
	sigset_t hup, old;

	CHECK_OK(pthread_barrier_init(&bar, NULL, THREADS));
	for (int s = 0; s < 20; s++)
		CHECK_SYS(sigaction(SIGRTMIN + s, &sa, NULL));
	sigemptyset(&hup);
	sigaddset(&hup, SIGHUP);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &hup, &old));
	CHECK_EQ(pthread_sigmask(77, &hup, NULL), EINVAL);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(own_mask, (void *)i);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &old, NULL));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(blocked(SIGHUP), 0);
	CHECK_EQ(blocked(SIGRTMIN), 0);
	passed("%d threads, each with its own mask", THREADS);

	pthread_attr_t attr;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setsigmask_np(&attr, &hup));
	CHECK_OK(pthread_barrier_destroy(&bar));
	CHECK_OK(pthread_barrier_init(&bar, NULL, 1));
	CHECK_OK(pthread_create(&t[0], &attr, own_mask, (void *)3L));
	join(t[0]);
	CHECK_OK(pthread_attr_destroy(&attr));
	passed("a mask given by attribute");
	return 0;
}
