/*
 * A thread that computes and loses its processor keeps its errno, its signal mask, its alternate
 * stack and its stack, however small; and so does a coroutine of the program's own, on a stack that
 * no thread library knows.
 */
#include <limits.h>
#include <signal.h>
#include <ucontext.h>

#include "check.h"

enum { THREADS = 8, LAPS = 60 };

static volatile unsigned long sink;

static void compute(void)
{
	for (unsigned long i = 0; i < 300000; i++)
		sink = i;
}

static void *keeps(void *arg)
{
	int me = (int)(long)arg;
	stack_t ss = { .ss_size = (size_t)sysconf(_SC_SIGSTKSZ) }, now;
	sigset_t mask, got;

	CHECK((ss.ss_sp = malloc(ss.ss_size)) != NULL);
	if (me % 2)
		CHECK_SYS(sigaltstack(&ss, NULL));
	sigemptyset(&mask);
	sigaddset(&mask, SIGRTMIN + me);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &mask, NULL));
	for (int lap = 0; lap < LAPS; lap++) {
		errno = me * 1000 + lap;
		compute();
		CHECK_EQ(errno, me * 1000 + lap);
		CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &got));
		for (int sig = SIGRTMIN; sig < SIGRTMIN + THREADS; sig++)
			CHECK_EQ(sigismember(&got, sig), sig == SIGRTMIN + me);
		CHECK_SYS(sigaltstack(NULL, &now));
		if (me % 2)
			CHECK(now.ss_sp == ss.ss_sp && now.ss_size == ss.ss_size);
		else
			CHECK(now.ss_flags & SS_DISABLE);
	}
	ss.ss_flags = SS_DISABLE;
	CHECK_SYS(sigaltstack(&ss, NULL));
	free(ss.ss_sp);
	return NULL;
}

static void *small(void *arg)
{
	for (int lap = 0; lap < LAPS; lap++)
		compute();
	return arg;
}

static __thread ucontext_t outside, inside;
static __thread int steps;

static void coroutine(void)
{
	for (;;) {
		compute();
		steps++;
		swapcontext(&inside, &outside);
	}
}

static void *switches(void *arg)
{
	void *stack = malloc(32768);

	CHECK(stack != NULL);
	CHECK_SYS(getcontext(&inside));
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = 32768;
	makecontext(&inside, coroutine, 0);
	for (int lap = 0; lap < LAPS; lap++)
		CHECK_SYS(swapcontext(&outside, &inside));
	CHECK_EQ(steps, LAPS);
	free(stack);
	return arg;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(keeps, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("errno, masks and alternate stacks are the threads' own");
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&t[i], &attr, small, NULL));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("the smallest stacks suffice");
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(switches, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("coroutines go on where they were");
	return 0;
}
