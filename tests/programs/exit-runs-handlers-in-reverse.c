/*
 * atexit and on_exit handlers registered by many threads run once each, in reverse order of
 * registration, on the thread that calls exit, with the program's threads still there.
 */
#include "check.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static int next = 8;
static pthread_t exiter;

static void ran(int n)
{
	CHECK_EQ(n, --next);
	CHECK(pthread_equal(pthread_self(), exiter));
	CHECK_OK(pthread_mutex_lock(&mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	printf("handler %d\n", n);
}

#define HANDLER(n)                                                                                 \
	static void h##n(void)                                                                     \
	{                                                                                          \
		ran(n);                                                                            \
	}
HANDLER(0) HANDLER(1) HANDLER(2) HANDLER(3) HANDLER(5) HANDLER(6) HANDLER(7)

static void on_exit_handler(int status, void *arg)
{
	CHECK_EQ(status, 0);
	ran((int)(long)arg);
}

static void *register_one(void *arg)
{
	static void (*const fn[])(void) = { h0, h1, h2, h3, NULL, h5, h6, h7 };
	long n = (long)arg;

	if (fn[n])
		CHECK_OK(atexit(fn[n]));
	else
		CHECK_OK(on_exit(on_exit_handler, arg));
	return NULL;
}

static void *leave(void *arg)
{
	exiter = pthread_self();
	exit((int)(long)arg);
}

static void *forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(void)
{
	for (long i = 0; i < 8; i++)
		join(spawn(register_one, (void *)i));
	spawn(forever, NULL);
	spawn(leave, NULL);
	for (;;)
		pause();
}
