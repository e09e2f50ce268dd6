/*
 * A signal that all threads block stays pending, and says later who sent it and how: kill() by
 * another process, a child that ended, a value that was queued.  Taken by sigwaitinfo, and by a
 * handler that one thread lets in.
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "check.h"

static siginfo_t seen;
static atomic_int handled, stop;

static void on_signal(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	seen = *si;
	atomic_fetch_add(&handled, 1);
}

/* Another process sends it, and has ended when this returns: then it is pending here. */
static pid_t sent_by_child(int sig, int value)
{
	pid_t parent = getpid(), child = fork();
	siginfo_t si;

	CHECK_SYS(child);
	if (child == 0)
		_exit(value < 0 ? kill(parent, sig) != 0
				: sigqueue(parent, sig, (union sigval){ .sival_int = value }) != 0);
	CHECK_SYS(waitid(P_PID, (id_t)child, &si, WEXITED | WNOWAIT));
	CHECK_EQ(si.si_status, 0);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	return child;
}

static void check_sender(const siginfo_t *si, int sig, int code, pid_t pid)
{
	CHECK_EQ(si->si_signo, sig);
	CHECK_EQ(si->si_code, code);
	CHECK_EQ(si->si_pid, pid);
	CHECK_EQ(si->si_uid, getuid());
}

static void *idles(void *arg)
{
	while (!atomic_load(&stop))
		usleep(1000);
	return arg;
}

/* Pending for a while: whoever it reaches first in there must give it back. */
static void lies(int sig)
{
	sigset_t set;

	for (int i = 0; i < 20; i++) {
		usleep(1000);
		do
			CHECK_SYS(sigpending(&set));
		while (!sigismember(&set, sig)); /* it may be on its way from one to the other */
	}
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	int rt = SIGRTMIN + 3;
	pthread_t t[3];
	sigset_t set;
	siginfo_t si;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, rt);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	sa.sa_flags |= SA_NOCLDSTOP;
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGCHLD, &sa, NULL));
	CHECK_SYS(sigaction(rt, &sa, NULL));
	for (int i = 0; i < 3; i++)
		t[i] = spawn(idles, NULL);
	for (int round = 0; round < 10; round++) {
		child = sent_by_child(SIGUSR1, -1);
		lies(SIGUSR1);
		CHECK_SYS(sigwaitinfo(&set, &si));
		if (si.si_signo == SIGCHLD) {
			check_sender(&si, SIGCHLD, CLD_EXITED, child);
			CHECK_EQ(sigwaitinfo(&set, &si), SIGUSR1);
			check_sender(&si, SIGUSR1, SI_USER, child);
		} else {
			check_sender(&si, SIGUSR1, SI_USER, child);
			CHECK_EQ(sigwaitinfo(&set, &si), SIGCHLD);
			check_sender(&si, SIGCHLD, CLD_EXITED, child);
		}
		CHECK_EQ(si.si_status, 0);
	}
	passed("sigwaitinfo tells who sent it");
	for (int round = 0; round < 10; round++) {
		sigset_t one;

		child = sent_by_child(SIGUSR1, -1);
		lies(SIGUSR1);
		atomic_store(&handled, 0);
		sigemptyset(&one);
		sigaddset(&one, SIGUSR1);
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
		while (atomic_load(&handled) == 0)
			usleep(100);
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
		CHECK_EQ(atomic_load(&handled), 1);
		check_sender(&seen, SIGUSR1, SI_USER, child);
		while (sigtimedwait(&set, &si, &(struct timespec){ 0, 0 }) > 0)
			CHECK_EQ(si.si_signo, SIGCHLD);
	}
	passed("a handler is told who sent it");
	for (int round = 0; round < 10; round++) {
		child = sent_by_child(rt, 1000 + round);
		lies(rt);
		do
			CHECK_SYS(sigwaitinfo(&set, &si));
		while (si.si_signo == SIGCHLD);
		check_sender(&si, rt, SI_QUEUE, child);
		CHECK_EQ(si.si_value.sival_int, 1000 + round);
		child = sent_by_child(rt, -1);
		lies(rt);
		do
			CHECK_SYS(sigwaitinfo(&set, &si));
		while (si.si_signo == SIGCHLD);
		check_sender(&si, rt, SI_USER, child);
	}
	passed("real-time signals keep their values and senders");
	atomic_store(&stop, 1);
	for (int i = 0; i < 3; i++)
		join(t[i]);
	return 0;
}
