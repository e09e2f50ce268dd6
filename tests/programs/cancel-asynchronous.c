/*
 * Asynchronous cancellation ends a thread that calls no cancellation point: one that only yields,
 * one that is parked in a mutex, and one that is asked while it was still deferred and then changes
 * its type.
 */
#include "check.h"
#include <semaphore.h>
#include <stdatomic.h>

static sem_t ready, go;
static atomic_int cleaned;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *yields(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	CHECK_SYS(sem_post(&ready));
	for (;;)
		sched_yield();
	pthread_cleanup_pop(0);
	return arg;
}

static void *changes_type(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK_SYS(sem_post(&ready));
	CHECK_SYS(sem_wait(&go));
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	/* The request is pending and the type allows it: enabling must act at once. */
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	*(int *)arg = 1;
	pthread_cleanup_pop(0);
	return arg;
}

static void *parked(void *arg)
{
	pthread_cleanup_push(clean, NULL);
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	CHECK_SYS(sem_post(&ready));
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return arg;
}

int main(void)
{
	pthread_t t[10];
	int reached = 0;

	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sem_init(&go, 0, 0));
	for (int i = 0; i < 10; i++)
		t[i] = spawn(yields, NULL);
	for (int i = 0; i < 10; i++)
		CHECK_SYS(sem_wait(&ready));
	for (int i = 0; i < 10; i++)
		CHECK_OK(pthread_cancel(t[i]));
	for (int i = 0; i < 10; i++)
		CHECK(join(t[i]) == PTHREAD_CANCELED);
	CHECK_EQ(cleaned, 10);
	passed("ten threads that only yielded");

	t[0] = spawn(changes_type, &reached);
	CHECK_SYS(sem_wait(&ready));
	CHECK_OK(pthread_cancel(t[0]));
	CHECK_SYS(sem_post(&go));
	CHECK(join(t[0]) == PTHREAD_CANCELED);
	CHECK_EQ(reached, 0);
	CHECK_EQ(cleaned, 11);
	passed("a pending request acts when the type becomes asynchronous");

	for (int i = 0; i < 10; i++)
		t[i] = spawn(parked, NULL);
	for (int i = 0; i < 10; i++)
		CHECK_SYS(sem_wait(&ready));
	let_others_block();
	for (int i = 0; i < 10; i++)
		CHECK_OK(pthread_cancel(t[i]));
	for (int i = 0; i < 10; i++)
		CHECK(join(t[i]) == PTHREAD_CANCELED);
	CHECK_EQ(cleaned, 21);
	CHECK_OK(pthread_mutex_trylock(&mu));
	passed("ten threads that were parked");
	return 0;
}
