/*
 * Signals queued at a thread that keeps them out: it has them lowest number first, each real-time
 * number in the order of sending, a standard one once; also when some are taken from the middle
 * and others come meanwhile.
 */
#include <signal.h>

#include "check.h"

enum { LOW = 1, HIGH = 3, KINDS = HIGH + 1, EACH = 500 };

static pthread_t target;
static int next[KINDS]; /* value that the next one of a number must carry */
static int highest_so_far;

static int number(int kind)
{
	return SIGRTMIN + 2 + kind;
}

static void send(int kind, int value)
{
	CHECK_OK(pthread_sigqueue(target, number(kind), (union sigval){ .sival_int = value }));
}

static void check_next(int sig, const siginfo_t *si)
{
	int kind = sig - number(0);

	CHECK(kind >= 0 && kind < KINDS);
	CHECK_EQ(si->si_value.sival_int, next[kind]);
	next[kind]++;
}

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	CHECK(sig >= highest_so_far);
	highest_so_far = sig;
	check_next(sig, si);
}

static void on_standard(int sig)
{
	(void)sig;
	next[0]++;
}

static void all(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR1);
	sigaddset(set, SIGUSR2);
	for (int kind = LOW; kind <= HIGH; kind++)
		sigaddset(set, number(kind));
}

/* From another thread, the numbers mixed. */
static void *sender(void *arg)
{
	int from = (int)(long)arg;

	for (int i = from; i < from + EACH; i++)
		for (int kind = HIGH; kind >= LOW; kind--)
			send(kind, i);
	CHECK_OK(pthread_kill(target, SIGUSR2));
	CHECK_OK(pthread_kill(target, SIGUSR1));
	CHECK_OK(pthread_kill(target, SIGUSR1));
	return NULL;
}

static void sent(int from)
{
	pthread_t t;

	CHECK_OK(pthread_create(&t, NULL, sender, (void *)(long)from));
	CHECK_OK(pthread_join(t, NULL));
}

static void wait_for(const sigset_t *set, int sig, int times)
{
	siginfo_t si;

	for (int i = 0; i < times; i++) {
		CHECK_EQ(sigwaitinfo(set, &si), sig);
		if (sig >= number(0))
			check_next(sig, &si);
	}
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct sigaction standard = { .sa_handler = on_standard };
	sigset_t set, middle;

	target = pthread_self();
	all(&set);
	sa.sa_mask = set;
	standard.sa_mask = set;
	for (int kind = LOW; kind <= HIGH; kind++)
		CHECK_SYS(sigaction(number(kind), &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &standard, NULL));
	CHECK_SYS(sigaction(SIGUSR2, &standard, NULL));
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));

	/* By sigwaitinfo: the middle number first, the other standard one, then all in order. */
	sent(0);
	sigemptyset(&middle);
	sigaddset(&middle, number(2));
	wait_for(&middle, number(2), EACH / 2);
	sigemptyset(&middle);
	sigaddset(&middle, SIGUSR2);
	wait_for(&middle, SIGUSR2, 1);
	wait_for(&set, SIGUSR1, 1);
	wait_for(&set, number(1), EACH);
	sent(EACH);
	wait_for(&set, SIGUSR1, 1);
	wait_for(&set, SIGUSR2, 1);
	wait_for(&set, number(1), EACH);
	wait_for(&set, number(2), EACH / 2 + EACH);
	wait_for(&set, number(3), 2 * EACH);

	/* By handlers. */
	sent(2 * EACH);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	for (int kind = LOW; kind <= HIGH; kind++)
		CHECK_EQ(next[kind], 3 * EACH);
	CHECK_EQ(next[0], 2);
	printf("in order\n");
	return 0;
}
