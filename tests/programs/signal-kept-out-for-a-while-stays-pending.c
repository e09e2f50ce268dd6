/*
 * What all threads keep out stays pending, though its default action would end the process, by
 * whatever way the last thread came to keep it out: a jump, another context, the mask of a handler while
 * that runs, the mask that a handler leaves, the mask of a call that waits.
 */
#include "check.h"
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

static sem_t end;

/* To the process, from another one; back when it has come. */
static void from_outside(int sig)
{
	pid_t parent = getpid(), pid = fork();
	int status;

	CHECK_SYS(pid);
	if (pid == 0) {
		kill(parent, sig);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) != pid)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(status, 0);
	let_others_block(); /* who would take it has time to */
}

static void change(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_OK(pthread_sigmask(how, &set, NULL));
}

/* SIGUSR2 comes now, is pending, and is forgotten. */
static void comes(void)
{
	sigset_t set;

	from_outside(SIGUSR2);
	CHECK_SYS(sigpending(&set));
	CHECK_EQ(sigismember(&set, SIGUSR2), 1);
	CHECK(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
	CHECK(signal(SIGUSR2, SIG_DFL) != SIG_ERR);
}

static void jump(void)
{
	sigjmp_buf there;

	change(SIG_BLOCK, SIGUSR2);
	if (sigsetjmp(there, 1) == 0) {
		change(SIG_UNBLOCK, SIGUSR2);
		siglongjmp(there, 1);
	}
	comes();
	change(SIG_UNBLOCK, SIGUSR2);
}

static void context(void)
{
	volatile int times = 0;
	ucontext_t there;

	change(SIG_BLOCK, SIGUSR2);
	CHECK_SYS(getcontext(&there));
	if (times++ == 0) {
		change(SIG_UNBLOCK, SIGUSR2);
		setcontext(&there);
	}
	comes();
	change(SIG_UNBLOCK, SIGUSR2);
}

static volatile sig_atomic_t ran;

static void during(int sig)
{
	(void)sig;
	comes();
	ran++;
}

static void leaves(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	sigaddset(&((ucontext_t *)uc)->uc_sigmask, SIGUSR2);
	ran++;
}

static void by_itself(int sig)
{
	CHECK_OK(pthread_kill(pthread_self(), sig));
}

static void handler(struct sigaction sa, void (*send)(int))
{
	int before = ran;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	send(SIGUSR1);
	while (ran == before)
		sched_yield();
}

static void handlers(void)
{
	struct sigaction sa = { .sa_handler = during };

	sigaddset(&sa.sa_mask, SIGUSR2);
	handler(sa, by_itself);
	handler(sa, from_outside);
	sa = (struct sigaction){ .sa_sigaction = leaves, .sa_flags = SA_SIGINFO };
	handler(sa, by_itself);
	comes();
	change(SIG_UNBLOCK, SIGUSR2);
	handler(sa, from_outside);
	comes();
	change(SIG_UNBLOCK, SIGUSR2);
}

static void *later(void *waits)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
	let_others_block();
	from_outside(SIGUSR2);
	CHECK_OK(pthread_kill(*(pthread_t *)waits, SIGUSR1));
	return NULL;
}

static void call(void)
{
	struct sigaction sa = { .sa_handler = during };
	sigset_t all, was, but;
	pthread_t me = pthread_self(), t;

	sigfillset(&all);
	but = all;
	sigdelset(&but, SIGUSR1);
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, &was));
	t = spawn(later, &me);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &was, NULL));
	CHECK_ERR(sigsuspend(&but), EINTR);
	join(t);
}

static void *beside(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
	while (sem_wait(&end) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

int main(void)
{
	pthread_t t;

	CHECK_SYS(sem_init(&end, 0, 0));
	t = spawn(beside, NULL);
	let_others_block();
	jump();
	passed("after a jump");
	context();
	passed("in another context");
	handlers();
	passed("while a handler runs, and when it leaves such a mask");
	call();
	passed("while a call waits");
	CHECK_SYS(sem_post(&end));
	join(t);
	return 0;
}
