/*
 * The id of any thread names its process for kill(), sigqueue() and rt_sigqueueinfo(): the signal is the
 * process's, and goes to a thread that lets it in.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>

static volatile sig_atomic_t handled, code;
static pid_t sender;
static sem_t end;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	code = si->si_code;
	sender = si->si_pid;
	handled++;
}

static pid_t id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static int by_kill(pid_t pid)
{
	return kill(pid, SIGUSR1);
}

static int by_number(pid_t pid)
{
	return (int)syscall(SYS_kill, pid, SIGUSR1);
}

static int by_queue(pid_t pid)
{
	return sigqueue(pid, SIGUSR1, (union sigval){ 0 });
}

static int by_info(pid_t pid)
{
	siginfo_t si;

	memset(&si, 0, sizeof(si));
	si.si_code = SI_QUEUE;
	si.si_pid = getpid();
	return (int)syscall(SYS_rt_sigqueueinfo, pid, SIGUSR1, &si);
}

static void each(pid_t pid)
{
	static int (*const ways[])(pid_t) = { by_kill, by_number, by_queue, by_info };

	CHECK_SYS(kill(pid, 0));
	for (int i = 0; i < 4; i++) {
		int before = handled;

		sender = 0;
		CHECK_SYS(ways[i](pid));
		while (handled == before)
			sched_yield();
		CHECK_EQ(handled, before + 1);
		CHECK_EQ(sender, getpid());
		CHECK_EQ(code, i < 2 ? SI_USER : SI_QUEUE);
	}
}

static void *own(void *arg)
{
	each(id());
	return arg;
}

static pid_t other;

static void *beside(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
	other = id();
	CHECK_SYS(sem_post(arg));
	while (sem_wait(&end) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sem_t there;
	pthread_t t;

	CHECK_SYS(sem_init(&end, 0, 0));
	CHECK_SYS(sem_init(&there, 0, 0));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	join(spawn(own, NULL));
	passed("a thread's own");
	t = spawn(beside, &there);
	while (sem_wait(&there) == -1)
		CHECK_EQ(errno, EINTR);
	each(other);
	passed("another's, which keeps it out");
	CHECK_SYS(sem_post(&end));
	join(t);
	while (kill(other, 0) == 0)
		sched_yield(); /* the kernel's part of its end */
	CHECK_EQ(errno, ESRCH);
	passed("none of who has ended");
	return 0;
}
