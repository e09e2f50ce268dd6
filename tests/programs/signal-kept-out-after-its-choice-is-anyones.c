/*
 * Two signals to the process, which one thread lets in.  The handler of the first keeps out the second, which
 * waits for the process then, and not for that thread: another thread sees it in sigpending(), takes it
 * with sigtimedwait(), or lets it in, while the first handler still runs.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ROUNDS = 20, FIRST = SIGUSR1, SECOND = SIGUSR2, OTHER = SIGWINCH };

static atomic_int inside, may_end, seconds, over; /* the first two count rounds */
static pthread_t main_thread;

static void first(int sig)
{
	int mine = ++inside;

	(void)sig;
	while (may_end < mine)
		usleep(100);
}

static void second(int sig)
{
	(void)sig;
	CHECK(pthread_equal(pthread_self(), main_thread));
	seconds++;
}

/* Waits, or computes: its signals reach it in both ways. */
static void *lets_in(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, FIRST);
	sigaddset(&set, SECOND);
	sigaddset(&set, OTHER);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	*(atomic_int *)arg = 1;
	for (int i = 0; !over; i++)
		if (i % 2)
			usleep(500);
		else
			sched_yield();
	return NULL;
}

static void one_round(int round, int sig, bool both, bool handle)
{
	struct timespec most = { 20, 0 };
	sigset_t only, now;

	sigemptyset(&only);
	sigaddset(&only, sig);
	CHECK_SYS(kill(getpid(), FIRST));
	while (!both && inside < round)
		sched_yield();
	CHECK_SYS(kill(getpid(), sig));
	while (inside < round)
		sched_yield();
	CHECK_SYS(sigpending(&now));
	CHECK_EQ(sigismember(&now, sig), 1);
	if (handle) {
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &only, NULL));
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
	} else {
		CHECK_EQ(sigtimedwait(&only, NULL, &most), sig);
	}
	CHECK_EQ(seconds, handle);
	seconds = 0;
	may_end = round;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = first }, sb = { .sa_handler = second };
	sigset_t set;
	atomic_int ready = 0;
	pthread_t t;

	main_thread = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, FIRST);
	sigaddset(&set, SECOND);
	sigaddset(&set, OTHER);
	sa.sa_mask = set;
	CHECK_SYS(sigaction(FIRST, &sa, NULL));
	CHECK_SYS(sigaction(SECOND, &sb, NULL));
	CHECK_SYS(sigaction(OTHER, &sb, NULL));
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t = spawn(lets_in, &ready);
	while (!ready)
		sched_yield();
	for (int i = 0; i < ROUNDS; i++)
		one_round(i + 1, i % 2 ? OTHER : SECOND, i / 2 % 2, i / 4 % 2);
	over = 1;
	join(t);
	passed("a signal of the process is no one's while it waits");
	return 0;
}
