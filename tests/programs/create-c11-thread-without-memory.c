/*
 * A C11 thread for which there is no memory is refused with thrd_error: libc's word for that is EAGAIN, of which it
 * makes no thrd_nomem.  pthread_create() says EAGAIN.
 */
#include "check.h"
#include <sys/resource.h>
#include <threads.h>

enum { ROOM = 300 << 20, MANY = 10000 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static int waits(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&held);
	return 0;
}

static int returns(void *arg)
{
	(void)arg;
	return 5;
}

static void *waits_too(void *arg)
{
	waits(arg);
	return NULL;
}

int main(void)
{
	struct rlimit room = { ROOM, ROOM };
	int n = 0, r, value;
	pthread_t p;
	thrd_t t;

	CHECK_EQ(thrd_create(&t, returns, NULL), thrd_success);
	CHECK_EQ(thrd_join(t, &value), thrd_success);
	CHECK_EQ(value, 5);
	CHECK_OK(pthread_mutex_lock(&held));
	CHECK_SYS(setrlimit(RLIMIT_AS, &room));
	while ((r = thrd_create(&t, waits, NULL)) == thrd_success)
		CHECK(++n < MANY);
	CHECK_EQ(r, thrd_error);
	passed("thrd_create() says thrd_error");
	for (n = 0; !(r = pthread_create(&p, NULL, waits_too, NULL));)
		CHECK(++n < MANY);
	CHECK_EQ(r, EAGAIN);
	passed("pthread_create() says EAGAIN");
	_exit(0);
}
