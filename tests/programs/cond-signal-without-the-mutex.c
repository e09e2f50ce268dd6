/*
 * Signals sent with and without holding the mutex, by several threads at once, through a bounded
 * queue: every item arrives exactly once and nobody sleeps for ever (a lost wake-up hangs here).
 */
#include "check.h"

enum { PRODUCERS = 20, CONSUMERS = 20, ITEMS = 500, ROOM = 4 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static long queue[ROOM];
static int head, count;

static void put(long item, int outside)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	while (count == ROOM)
		CHECK_OK(pthread_cond_wait(&not_full, &mu));
	queue[(head + count++) % ROOM] = item;
	if (!outside)
		CHECK_OK(pthread_cond_signal(&not_empty));
	CHECK_OK(pthread_mutex_unlock(&mu));
	if (outside)
		CHECK_OK(pthread_cond_signal(&not_empty));
}

static long get(int outside)
{
	long item;

	CHECK_OK(pthread_mutex_lock(&mu));
	while (count == 0)
		CHECK_OK(pthread_cond_wait(&not_empty, &mu));
	item = queue[head];
	head = (head + 1) % ROOM;
	count--;
	if (!outside)
		CHECK_OK(pthread_cond_signal(&not_full));
	CHECK_OK(pthread_mutex_unlock(&mu));
	if (outside)
		CHECK_OK(pthread_cond_signal(&not_full));
	return item;
}

static void *produce(void *arg)
{
	long me = (long)arg;

	for (long i = 0; i < ITEMS; i++)
		put(me * ITEMS + i, i % 2);
	return NULL;
}

static void *consume(void *seen)
{
	for (long i = 0; i < PRODUCERS * ITEMS / CONSUMERS; i++)
		__atomic_fetch_add((char *)seen + get(i % 2), 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	static char seen[PRODUCERS * ITEMS];
	pthread_t p[PRODUCERS], c[CONSUMERS];

	for (int i = 0; i < CONSUMERS; i++)
		c[i] = spawn(consume, seen);
	for (long i = 0; i < PRODUCERS; i++)
		p[i] = spawn(produce, (void *)i);
	for (int i = 0; i < PRODUCERS; i++)
		join(p[i]);
	for (int i = 0; i < CONSUMERS; i++)
		join(c[i]);
	for (int i = 0; i < PRODUCERS * ITEMS; i++)
		CHECK_EQ(seen[i], 1);
	CHECK_EQ(count, 0);
	passed("%d items arrived once each", PRODUCERS * ITEMS);
	return 0;
}
