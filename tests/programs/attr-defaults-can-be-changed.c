/*
 * pthread_setattr_default_np changes what later threads get when no attribute is given; getattr of
 * a detached, a joinable and the main thread report what is so.
 */
#include "check.h"
#include <semaphore.h>
#include <stdint.h>
#include <sys/resource.h>

static sem_t done;

static void *stack_size(void *arg)
{
	pthread_attr_t attr;
	size_t size;
	int detached;

	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getstacksize(&attr, &size));
	CHECK_OK(pthread_attr_getdetachstate(&attr, &detached));
	CHECK_OK(pthread_attr_destroy(&attr));
	if (arg) {
		CHECK_EQ(detached, PTHREAD_CREATE_DETACHED);
		CHECK_SYS(sem_post(&done));
	} else {
		CHECK_EQ(detached, PTHREAD_CREATE_JOINABLE);
	}
	return (void *)size;
}

static void about_main(void)
{
	pthread_attr_t attr;
	size_t size;
	char here;
	void *low;

	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getstack(&attr, &low, &size));
	CHECK_OK(pthread_attr_destroy(&attr));
	CHECK((uintptr_t)&here > (uintptr_t)low && (uintptr_t)&here < (uintptr_t)low + size);
	passed("main's stack holds main's locals");
}

int main(void)
{
	pthread_attr_t attr, was;
	size_t size;
	pthread_t t;

	CHECK_SYS(sem_init(&done, 0, 0));
	about_main();
	CHECK_OK(pthread_getattr_default_np(&was));
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, 768 * 1024));
	CHECK_OK(pthread_setattr_default_np(&attr));

	size = (size_t)join(spawn(stack_size, NULL));
	CHECK(size >= 700 * 1024 && size <= 900 * 1024);
	passed("the default stack size was taken");

	CHECK_OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	CHECK_OK(pthread_create(&t, &attr, stack_size, "detached"));
	CHECK_SYS(sem_wait(&done));
	passed("a detached thread sees that it is");

	CHECK_OK(pthread_setattr_default_np(&was));
	about_main();
	return 0;
}
