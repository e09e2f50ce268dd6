/*
 * The signal calls that came before sigaction and sigprocmask: each acts on the calling thread's
 * mask alone, and handlers installed by them run on the thread that is meant, among many that come
 * and go.
 */
#define _GNU_SOURCE 1
#include "check.h"

#include <signal.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

enum { THREADS = 8, ROUNDS = 50 };

static __thread volatile int mine;

static void count(int sig)
{
	(void)sig;
	mine++;
}

static int blocked(int sig)
{
	sigset_t set;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	return sigismember(&set, sig);
}

static int pending(int sig)
{
	sigset_t set;

	sigpending(&set);
	return sigismember(&set, sig);
}

/* A thread of each kind of call; others do the same at once with the same signal. */
static void *hold_and_release(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(sighold(SIGUSR1), 0);
		CHECK_EQ(blocked(SIGUSR1), 1);
		raise(SIGUSR1);
		sched_yield();
		CHECK_EQ(mine, i);
		CHECK_EQ(pending(SIGUSR1), 1);
		CHECK_EQ(sigrelse(SIGUSR1), 0);
		CHECK_EQ(mine, i + 1);
		CHECK_EQ(blocked(SIGUSR1), 0);
	}
	return arg;
}

static void *block_and_set_mask(void *arg)
{
	int bit = 1 << (SIGUSR1 - 1), was;

	for (int i = 0; i < ROUNDS; i++) {
		was = sigblock(bit);
		CHECK_EQ(was & bit, 0);
		CHECK_EQ(gsignal(SIGUSR1), 0);
		sched_yield();
		CHECK_EQ(mine, i);
		CHECK_EQ(sigsetmask(was) & bit, bit);
		CHECK_EQ(mine, i + 1);
	}
	return arg;
}

static void *pause_for_one(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		sighold(SIGUSR1);
		raise(SIGUSR1);
		/* Lets it in, and keeps it out again afterwards. */
		CHECK_EQ(sigpause(SIGUSR1), -1);
		CHECK_EQ(errno, EINTR);
		CHECK_EQ(mine, i + 1);
		CHECK_EQ(blocked(SIGUSR1), 1);
		sigrelse(SIGUSR1);
	}
	return arg;
}

static void *to_this_thread(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(tgkill(getpid(), gettid(), SIGUSR1), 0);
		CHECK_EQ(mine, i + 1);
	}
	return arg;
}

static void many(const char *what, void *(*fn)(void *))
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, fn, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	printf("%s\n", what);
}

static void dispositions(void)
{
	struct sigaction sa;

	CHECK(sigset(SIGUSR2, count) == SIG_DFL);
	CHECK(sigset(SIGUSR2, SIG_HOLD) == count);
	CHECK_EQ(blocked(SIGUSR2), 1);
	CHECK(sigset(SIGUSR2, SIG_IGN) == SIG_HOLD);
	CHECK_EQ(blocked(SIGUSR2), 0);
	CHECK_EQ(sigignore(SIGUSR2), 0);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN);
	CHECK_EQ(sighold(0), -1);
	printf("sigset, sigignore\n");

	mine = 0;
	CHECK(sysv_signal(SIGUSR2, count) == SIG_IGN);
	raise(SIGUSR2);
	CHECK_EQ(mine, 1);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
	printf("sysv_signal handles once\n");

	CHECK(ssignal(SIGUSR2, count) == SIG_DFL);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && sa.sa_flags & SA_RESTART);
	CHECK_EQ(siginterrupt(SIGUSR2, 1), 0);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && !(sa.sa_flags & SA_RESTART));
	CHECK(signal(SIGUSR2, count) == count);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && !(sa.sa_flags & SA_RESTART));
	CHECK_EQ(siginterrupt(SIGUSR2, 0), 0);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && sa.sa_flags & SA_RESTART);
	CHECK_EQ(sigismember(&sa.sa_mask, SIGUSR2), 1);
	printf("ssignal, siginterrupt\n");

	CHECK(signal(SIGUSR2, SIG_ERR) == SIG_ERR && errno == EINVAL);
	errno = 0;
	CHECK(sysv_signal(SIGUSR2, SIG_ERR) == SIG_ERR && errno == EINVAL);
	CHECK(sigaction(SIGUSR2, NULL, &sa) == 0 && sa.sa_handler == count);
	printf("no handler is refused\n");
}

static void *in_a_thread(void *arg)
{
	dispositions();
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = count };
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	many("sighold, sigrelse", hold_and_release);
	many("sigblock, sigsetmask", block_and_set_mask);
	many("sigpause", pause_for_one);
	many("tgkill", to_this_thread);
	CHECK(pthread_create(&t, NULL, in_a_thread, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	return 0;
}
