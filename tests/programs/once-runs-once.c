/*
 * pthread_once: among many threads the initialiser runs once and all see its result before they go
 * on, though it sleeps and blocks; an initialiser that is cancelled leaves the work to the next
 * caller; one initialiser may call another.
 */
#include "check.h"
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS = 100 };

static pthread_once_t slow = PTHREAD_ONCE_INIT, cancelled = PTHREAD_ONCE_INIT,
		      outer = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;
static int slow_value, inner_value, outer_value;
static atomic_int attempts, cleaned;
static sem_t inside;

static void slow_init(void)
{
	struct timespec ts = { 0, 20 * 1000000L };

	CHECK_EQ(slow_value, 0);
	CHECK_SYS(nanosleep(&ts, NULL));
	sched_yield();
	slow_value++;
}

static void inner_init(void)
{
	sched_yield();
	inner_value++;
}

static void outer_init(void)
{
	CHECK_OK(pthread_once(&inner, inner_init));
	CHECK_EQ(inner_value, 1);
	outer_value++;
}

static void *use(void *arg)
{
	CHECK_OK(pthread_once(&slow, slow_init));
	CHECK_EQ(slow_value, 1);
	CHECK_OK(pthread_once(&outer, outer_init));
	CHECK_EQ(outer_value, 1);
	return arg;
}

static void count_cleanup(void *arg)
{
	(void)arg;
	cleaned++;
}

static void blocks_first_time(void)
{
	if (atomic_fetch_add(&attempts, 1) > 0)
		return;
	pthread_cleanup_push(count_cleanup, NULL);
	CHECK_SYS(sem_post(&inside));
	for (;;)
		pause();
	pthread_cleanup_pop(0);
}

static void *try_cancelled(void *arg)
{
	CHECK_OK(pthread_once(&cancelled, blocks_first_time));
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(use, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(slow_value, 1);
	CHECK_EQ(inner_value, 1);
	CHECK_EQ(outer_value, 1);
	passed("%d threads, one run each", THREADS);

	CHECK_SYS(sem_init(&inside, 0, 0));
	t[0] = spawn(try_cancelled, "value");
	CHECK_SYS(sem_wait(&inside));
	for (int i = 1; i < 20; i++)
		t[i] = spawn(try_cancelled, "value");
	let_others_block();
	CHECK_OK(pthread_cancel(t[0]));
	CHECK(join(t[0]) == PTHREAD_CANCELED);
	for (int i = 1; i < 20; i++)
		CHECK(join(t[i]) != PTHREAD_CANCELED);
	CHECK_EQ(attempts, 2);
	CHECK_EQ(cleaned, 1);
	passed("a cancelled initialiser was run again, once");
	return 0;
}
