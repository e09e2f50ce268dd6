/*
 * Stacks and guards that no memory can hold are refused with the error that says so, and threads go
 * on being made afterwards.
 */
#include "check.h"
#include <stdint.h>

static void *touch(void *arg)
{
	volatile char buf[2000];

	memset((char *)buf, 1, sizeof(buf));
	return arg;
}

static const char *outcome(size_t size, size_t guard)
{
	pthread_attr_t attr;
	pthread_t t;
	int err;

	CHECK_OK(pthread_attr_init(&attr));
	if (pthread_attr_setstacksize(&attr, size) || pthread_attr_setguardsize(&attr, guard))
		return "not even an attribute";
	err = pthread_create(&t, &attr, touch, &attr);
	if (!err)
		CHECK(join(t) == &attr);
	CHECK_OK(pthread_attr_destroy(&attr));
	return err == EINVAL ? "EINVAL" : err == EAGAIN ? "EAGAIN" : err ? strerror(err) : "made";
}

int main(void)
{
	static const size_t huge[] = { SIZE_MAX,	 SIZE_MAX - 63,	   SIZE_MAX - 4095, SIZE_MAX - 4096,
				       SIZE_MAX - 8191,	 SIZE_MAX - 12287, SIZE_MAX - 65535, SIZE_MAX / 2 + 1,
				       SIZE_MAX / 2 };
	static const size_t guards[] = { 0, 1, 4096, 65536, 1 << 20 };
	static const size_t stacks[] = { 65536, 1 << 20, 8 << 20 };

	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		for (size_t k = 0; k < sizeof(guards) / sizeof(guards[0]); k++)
			passed("stack %zx, guard %zx: %s", huge[i], guards[k], outcome(huge[i], guards[k]));
		for (size_t k = 0; k < sizeof(stacks) / sizeof(stacks[0]); k++)
			passed("stack %zx, guard %zx: %s", stacks[k], huge[i], outcome(stacks[k], huge[i]));
		passed("and then an ordinary thread is %s", outcome(1 << 20, 4096));
	}
	return 0;
}
