/*
 * 5,000 threads created and joined one after another: ids, stacks and control blocks are recycled,
 * and nothing of an earlier life (errno, a key's value, a thread-local) may be seen by the next
 * one.
 */
#include "check.h"

static _Thread_local long mark = 7;
static pthread_key_t key;

static void *life(void *arg)
{
	CHECK_EQ(mark, 7);
	CHECK_EQ(errno, 0);
	CHECK(pthread_getspecific(key) == NULL);
	mark = (long)arg;
	errno = EDOM;
	CHECK_OK(pthread_setspecific(key, &mark));
	return (void *)mark;
}

int main(void)
{
	CHECK_OK(pthread_key_create(&key, NULL));
	for (long i = 1; i <= 5000; i++)
		CHECK_EQ((long)join(spawn(life, (void *)i)), i);
	CHECK_EQ(mark, 7);
	passed("5000 lives, each began clean");
	return 0;
}
