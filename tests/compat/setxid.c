/*
 * setxid: setuid() while another kernel thread runs with FS on a block of ours.
 *
 * Unwrapped it hangs for ever (glibc waits for a flag in the thread's own block, its handler clears
 * one in ours): that run must end by the alarm, or the test would prove nothing.
 */
#include "tests/compat/coro.h"

#include <sched.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static struct coro co;
static int thread_id;
static struct tcb *thread_block;
static volatile int running, stop;

static bool calling(void)
{
	return false;
}

static struct tcb *registered(bool other)
{
	(void)other;
	/* A kernel thread knows itself by its id whatever FS is. */
	return sys_gettid() == thread_id ? thread_block : NULL;
}

static int spin(struct coro *c, void *arg)
{
	(void)arg;
	running = 1;
	while (!stop)
		sched_yield();
	return arch_getfs() != (void *)c->tcb; /* the handler gave FS back */
}

static void *thread(void *arg)
{
	thread_block = tcb_self();
	thread_id = sys_gettid();
	coro_run(&co, spin, arg);
	return NULL;
}

static int change_ids(bool wrap)
{
	pthread_t th;

	if (compat_init() || !coro_new(&co, 0x10000001) || pthread_create(&th, NULL, thread, NULL))
		return 1;
	while (!running)
		sched_yield();
	if (wrap && (compat_setxid_wrap(registered, calling) || compat_setxid_wrap(registered, calling)))
		return 2;
	for (int i = 0; i < 50; i++)
		if (setuid(getuid()) || setgid(getgid()))
			return 3;
	stop = 1;
	if (pthread_join(th, NULL) || co.result)
		return 4;
	/* Nothing was left in the block: a set bit would make the next life exit strangely. */
	return *tcb_cancelhandling(co.tcb) != 0;
}

static int wrapped(void)
{
	return change_ids(true);
}

static int unwrapped(void)
{
	return change_ids(false);
}

int main(void)
{
	int how;

	report("setuid returns with the handler wrapped", in_child(wrapped, 60, &how), "");
	report("setuid hangs without", !in_child(unwrapped, 5, &how) && how == 14, "");
	return summary();
}
