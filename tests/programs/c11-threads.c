/*
 * C11's <threads.h>: thrd_create/join/detach/exit, mtx of all kinds, cnd, tss with destructors,
 * call_once, thrd_sleep and thrd_yield.
 */
#include "check.h"
#include <stdatomic.h>
#include <threads.h>

static mtx_t mu;
static cnd_t cv;
static tss_t key;
static once_flag flag = ONCE_FLAG_INIT;
static atomic_int destroyed, once_ran, detached_done;
static int count, go;

static void destroy(void *value)
{
	CHECK_EQ(*(int *)value, 3);
	destroyed++;
}

static void init_once(void)
{
	thrd_yield();
	once_ran++;
}

static int work(void *arg)
{
	static int three = 3;

	CHECK_EQ(tss_set(key, &three), thrd_success);
	call_once(&flag, init_once);
	CHECK_EQ(once_ran, 1);
	CHECK_EQ(mtx_lock(&mu), thrd_success);
	while (!go)
		CHECK_EQ(cnd_wait(&cv, &mu), thrd_success);
	count++;
	CHECK_EQ(mtx_unlock(&mu), thrd_success);
	CHECK(tss_get(key) == &three);
	if ((long)arg % 2)
		thrd_exit((int)(long)arg);
	return (int)(long)arg;
}

static int detached(void *arg)
{
	CHECK_EQ(thrd_detach(thrd_current()), thrd_success);
	detached_done++;
	(void)arg;
	return 0;
}

static int try_mutex(void *arg)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 20);

	CHECK_EQ(mtx_trylock(arg), thrd_busy);
	CHECK_EQ(mtx_timedlock(arg, &ts), thrd_timedout);
	return 0;
}

static void mutexes(void)
{
	mtx_t m;
	thrd_t t;
	int r;

	CHECK_EQ(mtx_init(&m, mtx_timed | mtx_recursive), thrd_success);
	CHECK_EQ(mtx_lock(&m), thrd_success);
	CHECK_EQ(mtx_lock(&m), thrd_success);
	CHECK_EQ(thrd_create(&t, try_mutex, &m), thrd_success);
	CHECK_EQ(thrd_join(t, &r), thrd_success);
	CHECK_EQ(mtx_unlock(&m), thrd_success);
	CHECK_EQ(mtx_unlock(&m), thrd_success);
	mtx_destroy(&m);
	CHECK_EQ(mtx_init(&m, mtx_timed), thrd_success);
	CHECK_EQ(mtx_trylock(&m), thrd_success);
	CHECK_EQ(thrd_create(&t, try_mutex, &m), thrd_success);
	CHECK_EQ(thrd_join(t, NULL), thrd_success);
	CHECK_EQ(mtx_unlock(&m), thrd_success);
	mtx_destroy(&m);
	passed("mtx: recursive and timed");
}

int main(void)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 20), ms = { 0, 20 * 1000000L };
	long long began;
	thrd_t t[50];

	CHECK_EQ(mtx_init(&mu, mtx_plain), thrd_success);
	CHECK_EQ(cnd_init(&cv), thrd_success);
	CHECK_EQ(tss_create(&key, destroy), thrd_success);
	for (long i = 0; i < 50; i++)
		CHECK_EQ(thrd_create(&t[i], work, (void *)i), thrd_success);
	CHECK_EQ(mtx_lock(&mu), thrd_success);
	while (cnd_timedwait(&cv, &mu, &ts) == thrd_success)
		;
	CHECK_EQ(count, 0);
	go = 1;
	CHECK_EQ(cnd_broadcast(&cv), thrd_success);
	CHECK_EQ(mtx_unlock(&mu), thrd_success);
	for (int i = 0; i < 50; i++) {
		int r;

		CHECK_EQ(thrd_join(t[i], &r), thrd_success);
		CHECK_EQ(r, i);
	}
	CHECK_EQ(count, 50);
	CHECK_EQ(destroyed, 50);
	tss_delete(key);
	passed("50 threads, results, cnd, tss destructors, call_once");
	mutexes();

	for (int i = 0; i < 50; i++)
		CHECK_EQ(thrd_create(&t[i], detached, NULL), thrd_success);
	while (detached_done < 50)
		thrd_yield();
	passed("detached");
	began = now_ns(CLOCK_MONOTONIC);
	CHECK_EQ(thrd_sleep(&ms, NULL), 0);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 20 * 1000000LL);
	CHECK(thrd_equal(thrd_current(), thrd_current()));
	passed("sleep");
	return 0;
}
