/*
 * Handlers that do more than set a flag: they block (a semaphore, a read, a sleep), yield, run
 * nested, and leave by siglongjmp with the mask restored; and pthread_exit from a handler ends the
 * thread.
 */
#include "check.h"
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>

static sem_t in_handler, go;
static atomic_int nested, finished;
static _Thread_local sigjmp_buf back;
static _Thread_local int depth;

static void blocks(int sig)
{
	int saved = errno;

	(void)sig;
	CHECK_SYS(sem_post(&in_handler));
	while (sem_wait(&go) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_SYS(usleep(100));
	finished++;
	errno = saved;
}

static void nests(int sig)
{
	sigset_t now;

	depth++;
	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK_EQ(sigismember(&now, sig), 1);
	sched_yield();
	if (sig < SIGRTMIN + 4)
		CHECK_SYS(raise(sig + 1));
	else
		nested++;
	CHECK_EQ(depth, 5 - (SIGRTMIN + 4 - sig));
	depth--;
}

static void jumps(int sig)
{
	siglongjmp(back, sig);
}

static void exits(int sig)
{
	pthread_exit((void *)(long)sig);
}

static void *blocked_inside(void *arg)
{
	CHECK_SYS(raise(SIGUSR1));
	return arg;
}

static void *nest(void *arg)
{
	for (int i = 0; i < 10; i++) {
		CHECK_SYS(raise(SIGRTMIN));
		CHECK_EQ(depth, 0);
	}
	/* depth's checks count from one at SIGRTMIN: five handlers stood on each other. */
	return arg;
}

static void *jump(void *arg)
{
	sigset_t now;

	for (int i = 0; i < 50; i++) {
		int sig = sigsetjmp(back, 1);

		if (sig == 0) {
			sched_yield();
			CHECK_SYS(raise(SIGUSR2));
			CHECK(0);
		}
		CHECK_EQ(sig, SIGUSR2);
		CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
		CHECK_EQ(sigismember(&now, SIGUSR2), 0);
		sched_yield();
	}
	return arg;
}

static void *exit_inside(void *arg)
{
	CHECK_SYS(raise(SIGHUP));
	return arg;
}

static void set(int sig, void (*fn)(int))
{
	struct sigaction sa = { .sa_handler = fn };

	CHECK_SYS(sigaction(sig, &sa, NULL));
}

int main(void)
{
	pthread_t t[20];

	CHECK_SYS(sem_init(&in_handler, 0, 0));
	CHECK_SYS(sem_init(&go, 0, 0));
	set(SIGUSR1, blocks);
	set(SIGUSR2, jumps);
	set(SIGHUP, exits);
	for (int i = 0; i < 5; i++)
		set(SIGRTMIN + i, nests);
	for (int i = 0; i < 20; i++)
		t[i] = spawn(blocked_inside, NULL);
	for (int i = 0; i < 20; i++)
		CHECK_SYS(sem_wait(&in_handler));
	CHECK_EQ(finished, 0);
	for (int i = 0; i < 20; i++)
		CHECK_SYS(sem_post(&go));
	for (int i = 0; i < 20; i++)
		join(t[i]);
	CHECK_EQ(finished, 20);
	passed("20 handlers blocked at the same time");
	for (int i = 0; i < 20; i++)
		t[i] = spawn(nest, NULL);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	CHECK_EQ(nested, 200);
	passed("200 stacks of five handlers");
	for (int i = 0; i < 20; i++)
		t[i] = spawn(jump, NULL);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	passed("1000 jumps out of handlers");
	for (int i = 0; i < 20; i++)
		CHECK_EQ((long)join(spawn(exit_inside, NULL)), SIGHUP);
	passed("pthread_exit from a handler");
	return 0;
}
