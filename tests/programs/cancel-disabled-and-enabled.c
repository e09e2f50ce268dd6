/*
 * A cancel request waits while cancellation is disabled and acts at the first cancellation point
 * after it is enabled; a thread that reaches none ends by itself with its own value; requests to a
 * thread that has ended, or to oneself, do no harm.
 */
#include "check.h"
#include <semaphore.h>

static sem_t disabled, go;

static void *protected(void *arg)
{
	struct timespec ms = { 0, 1000000 };
	int old;

	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ENABLE);
	CHECK_SYS(sem_post(&disabled));
	CHECK_SYS(sem_wait(&go));
	CHECK_SYS(nanosleep(&ms, NULL));
	pthread_testcancel();
	*(int *)arg = 1;
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_DISABLE);
	*(int *)arg = 2;
	pthread_testcancel();
	*(int *)arg = 3;
	return NULL;
}

static void *without_a_point(void *arg)
{
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK_SYS(sem_post(&disabled));
	CHECK_SYS(sem_wait(&go));
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	return arg;
}

static void *cancels_itself(void *arg)
{
	CHECK_OK(pthread_cancel(pthread_self()));
	*(int *)arg = 1;
	pthread_testcancel();
	*(int *)arg = 2;
	return NULL;
}

static void *states(void *arg)
{
	int old;

	CHECK_EQ(pthread_setcancelstate(77, &old), EINVAL);
	CHECK_EQ(pthread_setcanceltype(77, &old), EINVAL);
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_DEFERRED);
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
	CHECK_EQ(old, PTHREAD_CANCEL_ASYNCHRONOUS);
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

int main(void)
{
	int step = 0;
	pthread_t t;

	CHECK_SYS(sem_init(&disabled, 0, 0));
	CHECK_SYS(sem_init(&go, 0, 0));

	t = spawn(protected, &step);
	CHECK_SYS(sem_wait(&disabled));
	CHECK_OK(pthread_cancel(t));
	CHECK_OK(pthread_cancel(t));
	CHECK_SYS(sem_post(&go));
	CHECK(join(t) == PTHREAD_CANCELED);
	CHECK_EQ(step, 2);
	passed("disabled: it waited for the first point after enabling");

	t = spawn(without_a_point, "mine");
	CHECK_SYS(sem_wait(&disabled));
	CHECK_OK(pthread_cancel(t));
	CHECK_SYS(sem_post(&go));
	CHECK_EQ(strcmp(join(t), "mine"), 0);
	passed("no point reached: the thread's own value");

	CHECK(join(spawn(cancels_itself, &step)) == PTHREAD_CANCELED);
	CHECK_EQ(step, 1);
	passed("a thread that cancels itself goes on to its next point");
	join(spawn(states, NULL));
	passed("states and types are handed back");

	t = spawn(ends, "ended");
	let_others_block();
	CHECK_OK(pthread_cancel(t));
	void *value = join(t);

	CHECK(value == PTHREAD_CANCELED || strcmp(value, "ended") == 0);
	passed("an ended thread that nobody joined may still be cancelled");
	return 0;
}
