/*
 * All PTHREAD_KEYS_MAX keys can be created, the next one is EAGAIN; a key that is deleted and
 * created anew starts out NULL in threads that had a value under the old one.
 */
#include "check.h"
#include <limits.h>

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static pthread_barrier_t step;
static pthread_key_t reborn;

static void *old_value(void *arg)
{
	CHECK_OK(pthread_setspecific(reborn, arg));
	pthread_barrier_wait(&step);
	/* main deletes the key and creates another, which most likely takes the same slot */
	pthread_barrier_wait(&step);
	CHECK(pthread_getspecific(reborn) == NULL);
	CHECK_OK(pthread_setspecific(reborn, arg));
	CHECK(pthread_getspecific(reborn) == arg);
	return NULL;
}

int main(void)
{
	int n = 0, err;
	pthread_t t;

	CHECK_OK(pthread_barrier_init(&step, NULL, 2));
	CHECK_OK(pthread_key_create(&reborn, NULL));
	t = spawn(old_value, "old");
	pthread_barrier_wait(&step);
	CHECK_OK(pthread_key_delete(reborn));
	CHECK_OK(pthread_key_create(&reborn, NULL));
	pthread_barrier_wait(&step);
	join(t);
	CHECK_OK(pthread_key_delete(reborn));
	passed("a key reborn starts out empty everywhere");

	pthread_key_t one_more;

	while (n < PTHREAD_KEYS_MAX && (err = pthread_key_create(&keys[n], NULL)) == 0)
		n++;
	/* A library that is loaded may own some keys: hundreds must be left all the same. */
	CHECK(n >= PTHREAD_KEYS_MAX - 64);
	CHECK_EQ(pthread_key_create(&one_more, NULL), EAGAIN);
	for (int i = 0; i < n; i++) {
		CHECK(pthread_getspecific(keys[i]) == NULL);
		CHECK_OK(pthread_setspecific(keys[i], &keys[i]));
	}
	for (int i = 0; i < n; i++)
		CHECK(pthread_getspecific(keys[i]) == &keys[i]);
	for (int i = 0; i < n; i++)
		CHECK_OK(pthread_key_delete(keys[i]));
	passed("all keys were used, one more is EAGAIN");
	return 0;
}
