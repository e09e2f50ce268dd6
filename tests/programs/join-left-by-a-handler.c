/*
 * A handler that ends the joining thread, by pthread_exit or by cancellation, ends its join: the thread that
 * it waited for can be joined by another.  One that leaves by siglongjmp may join it once more.
 */
#include "check.h"
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

static sem_t go, ready;
static sigjmp_buf out;
static volatile sig_atomic_t how; /* 0: pthread_exit, 1: cancels itself, 2: siglongjmp */

static void leave(int sig)
{
	(void)sig;
	if (how == 0)
		pthread_exit(NULL);
	if (how == 1)
		pthread_cancel(pthread_self());
	if (how == 2)
		siglongjmp(out, 1);
}

static void await(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

static void *waits(void *arg)
{
	await(&go);
	return arg;
}

static void *joins(void *arg)
{
	if (sigsetjmp(out, 1) == 0) {
		CHECK_SYS(sem_post(&ready));
		pthread_join(*(pthread_t *)arg, NULL);
	}
	/* By siglongjmp. */
	CHECK_SYS(sem_post(&go));
	CHECK(join(*(pthread_t *)arg) == &go);
	return NULL;
}

static void round_of(int by, const char *text)
{
	pthread_t t = spawn(waits, &go), joiner;

	how = by;
	joiner = spawn(joins, &t);
	await(&ready);
	let_others_block();
	CHECK_OK(pthread_kill(joiner, SIGUSR1));
	join(joiner);
	if (by != 2) {
		CHECK_SYS(sem_post(&go));
		CHECK(join(t) == &go);
	}
	passed("%s", text);
}

int main(void)
{
	CHECK_SYS(sem_init(&go, 0, 0));
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK(signal(SIGUSR1, leave) != SIG_ERR);
	round_of(0, "left by pthread_exit: another joins");
	round_of(1, "cancelled: another joins");
	round_of(2, "left by siglongjmp: the same joins again");
	return 0;
}
