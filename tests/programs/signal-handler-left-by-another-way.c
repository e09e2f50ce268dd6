/*
 * A handler may be left without a return: by siglongjmp(), by setcontext().  What the thread does later to the
 * kernel thread below it is its own all the same: main keeps its working directory.
 */
#define _GNU_SOURCE 1
#include "check.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

enum { RETURN, LONGJMP, SETCONTEXT, WAYS };

static int way;
static sigjmp_buf jump;
static ucontext_t context;
static volatile int handled;

static void on_usr1(int sig)
{
	(void)sig;
	handled = 1;
	if (way == LONGJMP)
		siglongjmp(jump, 1);
	if (way == SETCONTEXT)
		setcontext(&context);
}

static void raised(void)
{
	handled = 0;
	if (way == LONGJMP && sigsetjmp(jump, 1))
		return;
	if (way == SETCONTEXT) {
		CHECK_SYS(getcontext(&context));
		if (handled)
			return;
	}
	CHECK_EQ(pthread_kill(pthread_self(), SIGUSR1), 0);
}

static void *mover(void *arg)
{
	char here[64];

	raised();
	CHECK_EQ(handled, 1);
	if (unshare(CLONE_FS)) /* some sandboxes refuse it */
		return NULL;
	CHECK_SYS(chdir("/usr"));
	sched_yield();
	CHECK(getcwd(here, sizeof(here)));
	CHECK(strcmp(here, "/usr") == 0);
	return arg;
}

/* Long enough for the mover to find every kernel thread in use. */
static void *computes(void *arg)
{
	struct timespec t;

	do
		CHECK_SYS(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	while (t.tv_nsec < 20000000);
	return arg;
}

static void round_of(int w)
{
	pthread_t t, others[3];
	char here[64];

	way = w;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&others[i], NULL, computes, NULL), 0);
	CHECK_EQ(pthread_create(&t, NULL, mover, NULL), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(others[i], NULL), 0);
	CHECK(getcwd(here, sizeof(here)));
	CHECK(strcmp(here, "/") == 0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_NODEFER };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(chdir("/"));
	for (int i = 0; i < 3; i++)
		for (int w = 0; w < WAYS; w++)
			round_of(w);
	passed("a thread's working directory is not main's, however a handler was left");
	return 0;
}
