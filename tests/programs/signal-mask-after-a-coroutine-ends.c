/*
 * A coroutine that ends goes on with its uc_link, and with that context's mask: what pthread_sigmask()
 * says, which signals reach the thread, and what its next thread inherits.  In main and in other threads,
 * where the coroutine was entered before there were threads, nested, and where its end ends the process.
 */
#include "check.h"

#include <signal.h>
#include <sys/wait.h>
#include <ucontext.h>

enum { STACK = 64 * 1024 };

struct co {
	ucontext_t uc, back;
	char stack[STACK];
};

static __thread volatile sig_atomic_t came;
static __thread int depth;

static void handler(int sig)
{
	(void)sig;
	came++;
}

static void blocks_and_ends(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &s, NULL));
}

static int blocked(int sig)
{
	sigset_t s;

	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &s));
	return sigismember(&s, sig);
}

static void *tells_mask(void *arg)
{
	*(int *)arg = blocked(SIGUSR1);
	return NULL;
}

static void run(struct co *co, void (*fn)(void))
{
	CHECK_SYS(getcontext(&co->uc));
	co->uc.uc_stack.ss_sp = co->stack;
	co->uc.uc_stack.ss_size = sizeof co->stack;
	co->uc.uc_link = &co->back;
	makecontext(&co->uc, fn, 0);
	CHECK_SYS(swapcontext(&co->back, &co->uc));
}

static void mask_is_back(void)
{
	int theirs = 1, before = came;

	CHECK_EQ(blocked(SIGUSR1), 0);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(came, before + 1);
	join(spawn(tells_mask, &theirs));
	CHECK_EQ(theirs, 0);
}

static void *coroutine(void *arg)
{
	struct co *co = malloc(sizeof *co);

	CHECK(co);
	for (int i = 0; i < 100; i++) {
		run(co, blocks_and_ends);
		if (i % 10 == 0)
			mask_is_back();
		CHECK_EQ(blocked(SIGUSR1), 0);
	}
	free(co);
	return arg;
}

static void nests(void)
{
	struct co *co = malloc(sizeof *co);

	CHECK(co);
	blocks_and_ends();
	if (++depth < 5)
		run(co, nests);
	CHECK_EQ(blocked(SIGUSR1), 1);
	free(co);
}

static void *nested(void *arg)
{
	struct co *co = malloc(sizeof *co);

	CHECK(co);
	depth = 0;
	run(co, nests);
	mask_is_back();
	free(co);
	return arg;
}

static void starts_threads(void)
{
	blocks_and_ends();
	join(spawn(tells_mask, &(int){ 0 }));
}

static void says(void)
{
	CHECK_EQ(write(STDOUT_FILENO, "", 0), 0);
}

int main(void)
{
	static struct co first, last;
	struct sigaction sa = { .sa_handler = handler };
	pthread_t t[4];
	int status;
	pid_t pid;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	run(&first, starts_threads);
	mask_is_back();
	passed("a coroutine in which the first thread was made");
	coroutine(NULL);
	nested(NULL);
	passed("coroutines of main");
	for (int i = 0; i < 4; i++)
		t[i] = spawn(i % 2 ? coroutine : nested, NULL);
	for (int i = 0; i < 4; i++)
		join(t[i]);
	passed("coroutines of threads");

	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0) {
		CHECK_SYS(getcontext(&last.uc));
		last.uc.uc_stack.ss_sp = last.stack;
		last.uc.uc_stack.ss_size = sizeof last.stack;
		last.uc.uc_link = NULL;
		makecontext(&last.uc, says, 0);
		setcontext(&last.uc);
		_exit(3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	passed("a process ends with a coroutine that goes on nowhere");
	return 0;
}
