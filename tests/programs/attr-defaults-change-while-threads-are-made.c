/*
 * pthread_setattr_default_np while other threads create threads without an attribute: each new thread
 * has the stack of one setting or of another, whole, and none is refused.
 */
#include "check.h"
#include <stdatomic.h>
#include <stdbool.h>

enum { MAKERS = 3, THREADS = 2000, SMALL = 256 * 1024, LARGE = 1024 * 1024 };

static atomic_bool over;

static void set_default(size_t size)
{
	pthread_attr_t attr;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, size));
	CHECK_OK(pthread_setattr_default_np(&attr));
	CHECK_OK(pthread_attr_destroy(&attr));
}

static void *setter(void *arg)
{
	while (!atomic_load(&over)) {
		set_default(SMALL);
		set_default(LARGE);
	}
	return arg;
}

static void *uses_its_stack(void *arg)
{
	volatile char deep[SMALL / 2];
	pthread_attr_t attr;
	size_t size;

	for (size_t i = 0; i < sizeof(deep); i += 4096)
		deep[i] = 1;
	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getstacksize(&attr, &size));
	CHECK_OK(pthread_attr_destroy(&attr));
	CHECK(size == SMALL || size == LARGE);
	return arg;
}

static void *maker(void *arg)
{
	for (int i = 0; i < THREADS; i++)
		join(spawn(uses_its_stack, arg));
	return arg;
}

int main(void)
{
	pthread_t makers[MAKERS], changes;

	set_default(SMALL);
	changes = spawn(setter, NULL);
	for (int i = 0; i < MAKERS; i++)
		makers[i] = spawn(maker, NULL);
	for (int i = 0; i < MAKERS; i++)
		join(makers[i]);
	atomic_store(&over, true);
	join(changes);
	passed("each thread has the stack of one setting, and uses it");
	return 0;
}
