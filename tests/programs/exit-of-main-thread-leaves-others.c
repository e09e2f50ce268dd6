/*
 * pthread_exit in main: the process lives on until the last thread ends, then exits with status 0
 * and runs atexit handlers and flushes stdio, whichever thread was last.  Main itself can be
 * joined.
 */
#include "check.h"

static pthread_t main_thread;

static void at_end(void)
{
	printf("atexit ran\n");
}

static void *outlive(void *arg)
{
	void *value;

	CHECK_OK(pthread_join(main_thread, &value));
	CHECK_EQ((long)value, 42);
	passed("main was joined and its value seen");
	for (int i = 0; i < 100; i++)
		sched_yield();
	printf("the last thread ends without a flush");
	printf("\n");
	return arg;
}

static void destroy(void *arg)
{
	printf("main's key destructor: %s\n", (char *)arg);
}

int main(void)
{
	pthread_key_t key;

	CHECK_SYS(atexit(at_end));
	CHECK_OK(pthread_key_create(&key, destroy));
	CHECK_OK(pthread_setspecific(key, "value"));
	main_thread = pthread_self();
	spawn(outlive, NULL);
	pthread_exit((void *)42);
}
