/*
 * 200 keys in 60 threads that yield all the time: every thread finds its own values, every
 * destructor runs once per thread, on the thread that set the value.
 */
#include "check.h"
#include <stdatomic.h>

enum { KEYS = 200, THREADS = 60 };

struct slot {
	pthread_t owner;
	int key;
};

static pthread_key_t key[KEYS];
static atomic_int destroyed;

static void destroy(void *value)
{
	struct slot *s = value;

	CHECK(pthread_equal(s->owner, pthread_self()));
	CHECK(pthread_getspecific(key[s->key]) == NULL);
	if (s->key % 50 == 0)
		sched_yield();
	free(s);
	atomic_fetch_add(&destroyed, 1);
}

static void *fill(void *arg)
{
	for (int i = 0; i < KEYS; i++) {
		struct slot *s = malloc(sizeof *s);

		CHECK(s != NULL);
		CHECK(pthread_getspecific(key[i]) == NULL);
		s->owner = pthread_self();
		s->key = i;
		CHECK_OK(pthread_setspecific(key[i], s));
		if (i % 10 == 0)
			sched_yield();
	}
	for (int i = KEYS - 1; i >= 0; i--) {
		struct slot *s = pthread_getspecific(key[i]);

		CHECK_EQ(s->key, i);
		CHECK(pthread_equal(s->owner, pthread_self()));
		if (i % 10 == 0)
			sched_yield();
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < KEYS; i++)
		CHECK_OK(pthread_key_create(&key[i], destroy));
	for (int round = 1; round <= 5; round++) {
		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(fill, NULL);
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
		CHECK_EQ(destroyed, round * KEYS * THREADS);
	}
	passed("%d values were destroyed on the thread that set them", 5 * KEYS * THREADS);

	for (int i = 0; i < KEYS; i++)
		CHECK_OK(pthread_key_delete(key[i]));
	CHECK_EQ(pthread_key_delete(key[0]), EINVAL);
	CHECK_EQ(pthread_setspecific(key[0], key), EINVAL);
	CHECK(pthread_getspecific(key[0]) == NULL);
	passed("a deleted key is refused");
	return 0;
}
