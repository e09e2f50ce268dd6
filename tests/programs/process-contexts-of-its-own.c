/*
 * Programs with coroutines of their own (makecontext, swapcontext) inside threads: each thread runs
 * four coroutines that yield to each other and block in between; errno, thread-locals and
 * pthread_self are the thread's in all of them, and the signal mask is the context's.
 */
#include "check.h"
#include <signal.h>
#include <ucontext.h>

enum { THREADS = 20, COROUTINES = 4, ROUNDS = 50, SIZE = 64 * 1024 };

struct coroutine {
	ucontext_t ctx;
	char *stack;
	int rounds;
};

static _Thread_local struct coroutine co[COROUTINES];
static _Thread_local ucontext_t home;
static _Thread_local int current, turns;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void body(int me)
{
	pthread_t self = pthread_self();
	sigset_t now;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(current, me);
		CHECK(pthread_equal(self, pthread_self()));
		turns++;
		co[me].rounds++;
		errno = 100 + me;
		if (i % 10 == me) {
			CHECK_OK(pthread_mutex_lock(&mu));
			sched_yield();
			CHECK_OK(pthread_mutex_unlock(&mu));
		}
		CHECK_EQ(errno, 100 + me);
		CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
		CHECK_EQ(sigismember(&now, SIGRTMIN + me), 1);
		CHECK_EQ(sigismember(&now, SIGRTMIN + (me + 1) % COROUTINES), 0);
		current = (me + 1) % COROUTINES;
		CHECK_SYS(swapcontext(&co[me].ctx, &co[current].ctx));
	}
	/* Coroutine 0 comes here first: all have had their rounds, the others stay in their last
	 * swap. */
	CHECK_SYS(setcontext(&home));
}

static void make_all(void)
{
	for (int i = 0; i < COROUTINES; i++) {
		CHECK_SYS(getcontext(&co[i].ctx));
		CHECK((co[i].stack = malloc(SIZE)) != NULL);
		co[i].ctx.uc_stack.ss_sp = co[i].stack;
		co[i].ctx.uc_stack.ss_size = SIZE;
		co[i].ctx.uc_link = NULL;
		sigemptyset(&co[i].ctx.uc_sigmask);
		sigaddset(&co[i].ctx.uc_sigmask, SIGRTMIN + i);
		makecontext(&co[i].ctx, (void (*)(void))body, 1, i);
	}
}

static void *work(void *arg)
{
	volatile int back = 0;

	make_all();
	CHECK_SYS(getcontext(&home));
	if (back++ == 0)
		CHECK_SYS(setcontext(&co[0].ctx));
	CHECK_EQ(turns, COROUTINES * ROUNDS);
	for (int i = 0; i < COROUTINES; i++) {
		CHECK_EQ(co[i].rounds, ROUNDS);
		free(co[i].stack);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(work, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads with %d coroutines each", THREADS, COROUTINES);
	return 0;
}
