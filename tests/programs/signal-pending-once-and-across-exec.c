/*
 * What waits for one thread: a standard signal once, however often it was sent and whatever was
 * asked in between; exec keeps it pending, also one that fails; SIGCONT goes to the thread that was
 * named, like any other.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>

static atomic_int ran;
static _Atomic pthread_t by;
static atomic_int step;

static void handler(int sig)
{
	(void)sig;
	by = pthread_self();
	ran++;
}

static sigset_t set_of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

static void keep_out(int how, int sig)
{
	sigset_t set = set_of(sig);

	CHECK_OK(pthread_sigmask(how, &set, NULL));
}

static void to_self(int by_raise)
{
	for (int i = 0; i < 3; i++) {
		sigset_t now;

		CHECK_OK(by_raise ? raise(SIGUSR1) : pthread_kill(pthread_self(), SIGUSR1));
		CHECK_SYS(sigpending(&now));
		CHECK_EQ(sigismember(&now, SIGUSR1), 1);
	}
}

static void *once(void *arg)
{
	sigset_t set = set_of(SIGUSR1);
	struct timespec zero = { 0, 0 };

	keep_out(SIG_BLOCK, SIGUSR1);
	for (int by_raise = 0; by_raise < 2; by_raise++) {
		ran = 0;
		to_self(by_raise);
		keep_out(SIG_UNBLOCK, SIGUSR1);
		CHECK_EQ(ran, 1);
		keep_out(SIG_BLOCK, SIGUSR1);
		to_self(by_raise);
		CHECK_EQ(sigtimedwait(&set, NULL, &zero), SIGUSR1);
		CHECK_ERR(sigtimedwait(&set, NULL, &zero), EAGAIN);
	}
	passed("sent thrice while it was kept out, a signal is handled once, and taken once");
	ran = 0;
	step = 1;
	while (step == 1) {
		sigset_t now;

		CHECK_SYS(sigpending(&now));
		usleep(1000);
	}
	keep_out(SIG_UNBLOCK, SIGUSR1);
	CHECK_EQ(ran, 1);
	CHECK_OK(raise(SIGUSR1));
	CHECK_EQ(ran, 2);
	passed("by another thread too, and the next one comes");
	return arg;
}

static void sent_by_another(void)
{
	pthread_t t = spawn(once, NULL);

	while (step != 1)
		usleep(1000);
	for (int i = 0; i < 5; i++) {
		CHECK_OK(pthread_kill(t, SIGUSR1));
		usleep(5000);
	}
	step = 2;
	join(t);
}

static void *gets_cont(void *arg)
{
	sigset_t set = set_of(SIGCONT);
	int sig;

	step = 3;
	while (ran == 0)
		usleep(1000);
	keep_out(SIG_BLOCK, SIGCONT);
	step = 4;
	CHECK_OK(sigwait(&set, &sig));
	CHECK_EQ(sig, SIGCONT);
	return arg;
}

static void cont(void)
{
	pthread_t t;

	ran = 0;
	t = spawn(gets_cont, NULL);
	while (step != 3)
		usleep(1000);
	CHECK_OK(pthread_kill(t, SIGCONT));
	while (step != 4)
		usleep(1000);
	CHECK(pthread_equal(by, t));
	CHECK_OK(pthread_kill(t, SIGCONT));
	join(t);
	passed("SIGCONT runs its handler in the thread it was sent to, and ends its sigwait");
}

static char *const *arguments;

static void *execs(void *arg)
{
	union sigval value = { .sival_int = 7 };
	char *const next[] = { arguments[0], "after", NULL };
	sigset_t now;

	keep_out(SIG_BLOCK, SIGUSR1);
	keep_out(SIG_BLOCK, SIGUSR2);
	keep_out(SIG_BLOCK, SIGRTMIN + 1);
	CHECK_OK(raise(SIGUSR1));
	CHECK_OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, value));
	CHECK_ERR(execv("/nonexistent", next), ENOENT);
	CHECK_SYS(sigpending(&now));
	CHECK_EQ(sigismember(&now, SIGUSR1), 1);
	CHECK_EQ(sigismember(&now, SIGRTMIN + 1), 1);
	CHECK_EQ(sigismember(&now, SIGUSR2), 0);
	passed("an exec that fails keeps what is pending");
	CHECK_SYS(execv("/proc/self/exe", next));
	return arg;
}

/* The new program. */
static int after(void)
{
	sigset_t set = set_of(SIGRTMIN + 1), now;
	struct timespec zero = { 0, 0 };
	siginfo_t si;

	CHECK_SYS(sigpending(&now));
	CHECK_EQ(sigismember(&now, SIGUSR1), 1);
	CHECK_EQ(sigismember(&now, SIGUSR2), 0);
	CHECK_EQ(sigtimedwait(&set, &si, &zero), SIGRTMIN + 1);
	CHECK_EQ(si.si_code, SI_QUEUE);
	CHECK_EQ(si.si_value.sival_int, 7);
	passed("and one that succeeds, for the new program");
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = handler };

	arguments = argv;
	if (argc == 2)
		return after();
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGCONT, &sa, NULL));
	sent_by_another();
	cont();
	join(spawn(execs, NULL));
	return 1;
}
