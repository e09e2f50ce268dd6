/*
 * POSIX, kill(): a signal to a group that the sender is in, which the sender lets in and no other thread does,
 * has been handled when the call returns.  So has one by killpg(), rt_sigqueueinfo(2), and of a pidfd.
 */
#include "check.h"
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>

enum { TIMES = 200 };

static volatile sig_atomic_t handled, code;
static int pidfd;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	code = si->si_code;
	handled++;
}

static int by_kill(void)
{
	return kill(0, SIGUSR1);
}

static int by_group(void)
{
	return kill(-getpgrp(), SIGUSR1);
}

static int by_killpg(void)
{
	return killpg(getpgrp(), SIGUSR1);
}

static int by_number(void)
{
	return (int)syscall(SYS_kill, 0, SIGUSR1);
}

static int by_info(void)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_code = SI_QUEUE;
	si.si_pid = getpid();
	return (int)syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, &si);
}

static int by_pidfd(void)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0);
}

static const struct {
	const char *name;
	int (*send)(void);
	int code;
} ways[] = {
	{ "kill(0)", by_kill, SI_USER },
	{ "kill of the group", by_group, SI_USER },
	{ "killpg", by_killpg, SI_USER },
	{ "kill by number", by_number, SI_USER },
	{ "rt_sigqueueinfo", by_info, SI_QUEUE },
	{ "pidfd_send_signal", by_pidfd, SI_USER },
};

static void *sends(void *who)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	for (unsigned n = 0; n < TIMES * sizeof(ways) / sizeof(ways[0]); n++) {
		unsigned way = n % (sizeof(ways) / sizeof(ways[0]));
		int before = handled;

		if (ways[way].send == by_pidfd && pidfd < 0)
			continue;
		CHECK_SYS(ways[way].send());
		CHECK_EQ(handled, before + 1);
		CHECK_EQ(code, ways[way].code);
	}
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	passed("sent by %s", (const char *)who);
	return NULL;
}

static volatile bool stop;

static void *yields(void *arg)
{
	while (!stop)
		sched_yield();
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigset_t set;
	pthread_t t;

	CHECK_SYS(setpgid(0, 0));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0); /* Linux 5.3 */
	join(spawn(sends, "a thread"));
	t = spawn(yields, NULL);
	join(spawn(sends, "a thread beside another"));
	sends("main beside another");
	stop = true;
	join(t);
	for (int i = 0; i < 10; i++)
		join(spawn(sends, "a thread in turn"));
	sends("main alone");
	return 0;
}
