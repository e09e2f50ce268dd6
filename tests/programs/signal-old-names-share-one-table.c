/*
 * Functions that libc keeps for old programs say and do the same as their successors: a handler set
 * by bsd_signal() is what sigaction() sees, an alternate stack set by sigstack() what sigaltstack()
 * sees (of a size that is a guess, so that it cannot be used), and the names with two underscores answer for
 * the calling thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"

struct old_stack {
	void *ss_sp;
	int ss_onstack;
};

extern void (*bsd_signal(int sig, void (*handler)(int)))(int);
extern int __sched_getscheduler(pid_t id);
extern pid_t __getpgid(pid_t id);

static volatile int ran;

static void handler(int sig)
{
	(void)sig;
	ran++;
}

static void *other(void *arg)
{
	struct sigaction sa;
	stack_t ss;
	static char room[65536];
	struct old_stack want = {room, 0};
	int (*set)(struct old_stack *, struct old_stack *);

	(void)arg;
	CHECK(bsd_signal(SIGUSR1, handler) == SIG_DFL);
	CHECK(sigaction(SIGUSR1, NULL, &sa) == 0);
	CHECK(sa.sa_handler == handler);
	CHECK(pthread_kill(pthread_self(), SIGUSR1) == 0);
	CHECK_EQ(ran, 1);
	CHECK(signal(SIGUSR1, SIG_DFL) == handler);

	/* Withdrawn from newer headers. */
	*(void **)&set = dlsym(RTLD_DEFAULT, "sigstack");
	CHECK(set != NULL);
	CHECK_EQ(set(&want, NULL), 0);
	CHECK_EQ(sigaltstack(NULL, &ss), 0);
	CHECK(ss.ss_sp == room);

	CHECK_EQ(__sched_getscheduler((pid_t)syscall(SYS_gettid)), SCHED_OTHER);
	CHECK_EQ(__getpgid((pid_t)syscall(SYS_gettid)), getpgrp());
	return NULL;
}

int main(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, other, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
	puts("end");
	return 0;
}
