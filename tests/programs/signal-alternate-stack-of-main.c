/*
 * An alternate signal stack that main has set before it makes its first thread is main's for good:
 * it is seen, main's handlers run there, those of other threads never, and an overflow of main's
 * stack is handled on it; whether the first thread is made by main's ordinary code or by a handler
 * that runs there.
 */
#include "check.h"

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>

enum { SIZE = 65536 };

static char *mine;
static _Thread_local int is_main;
static atomic_int strangers, stop;
static volatile int on_it, threads_from_handler;
static pthread_t made;
static sigjmp_buf out;

static int on_mine(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)mine && (uintptr_t)p < (uintptr_t)mine + SIZE;
}

static void *rest(void *arg)
{
	return arg;
}

static void usr(int sig)
{
	char here;

	(void)sig;
	if (!is_main) {
		if (on_mine(&here))
			atomic_fetch_add(&strangers, 1);
		return;
	}
	on_it = on_mine(&here);
	if (threads_from_handler) {
		threads_from_handler = 0;
		CHECK_OK(pthread_create(&made, NULL, rest, NULL));
	}
}

static void overflown(int sig)
{
	char here;

	(void)sig;
	CHECK(on_mine(&here));
	siglongjmp(out, 1);
}

static __attribute__((noinline)) int deeper(int n)
{
	volatile char room[4000];

	room[0] = (char)n;
	return deeper(n + 1) + room[0];
}

static void *others(void *arg)
{
	while (!atomic_load(&stop)) {
		CHECK_SYS(raise(SIGUSR1));
		sched_yield();
	}
	return arg;
}

static void look(void)
{
	stack_t now;

	CHECK_SYS(sigaltstack(NULL, &now));
	CHECK(now.ss_sp == mine && now.ss_size == SIZE && now.ss_flags == 0);
	on_it = 0;
	CHECK_SYS(raise(SIGUSR1));
	CHECK(on_it);
}

static void run(int from_handler)
{
	stack_t ss = { .ss_size = SIZE };
	struct sigaction sa = { .sa_handler = usr, .sa_flags = SA_ONSTACK | SA_NODEFER };
	pthread_t t[4];

	is_main = 1;
	CHECK((mine = ss.ss_sp = malloc(SIZE)) != NULL);
	CHECK_SYS(sigaltstack(&ss, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_handler = overflown;
	CHECK_SYS(sigaction(SIGSEGV, &sa, NULL));
	look();
	threads_from_handler = from_handler;
	look();
	if (from_handler)
		join(made);
	look();
	for (int i = 0; i < 4; i++)
		t[i] = spawn(others, NULL);
	for (int i = 0; i < 50; i++) {
		look();
		CHECK_SYS(usleep(1000));
	}
	for (volatile int i = 0; i < 3; i++)
		if (!sigsetjmp(out, 1))
			deeper(0);
	look();
	atomic_store(&stop, 1);
	for (int i = 0; i < 4; i++)
		join(t[i]);
	look();
	CHECK_EQ(atomic_load(&strangers), 0);
}

int main(void)
{
	for (int from_handler = 0; from_handler < 2; from_handler++) {
		int status;
		pid_t child;

		fflush(stdout);
		CHECK_SYS(child = fork());
		if (!child) {
			run(from_handler);
			_exit(0);
		}
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
		passed("main keeps its alternate stack, first thread made by %s",
		       from_handler ? "a handler on it" : "main");
	}
	run(0);
	passed("and in the process that was started");
	return 0;
}
