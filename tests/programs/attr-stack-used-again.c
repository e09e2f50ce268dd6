/*
 * Whatever stack a thread had that has ended, the next thread has the stack and the guard that it
 * asked for: its lowest byte may be used, and the bytes below are shut.
 */
#include "check.h"
#include <stdint.h>

static const struct ask {
	size_t size, guard;
} asks[] = {
	{ 65536, 4096 },  { 65536 + 4096, 0 }, { 65536 - 4096, 8192 }, { 65536, 0 },
	{ 65535, 4096 },  { 65500, 4097 },     { 1 << 20, 65536 },     { (1 << 20) + 65536, 0 },
	{ 300000, 4096 }, { 299999, 8192 },
};

static int readable(uintptr_t at)
{
	int fds[2], ok;

	CHECK_SYS(pipe(fds));
	ok = write(fds[1], (void *)at, 1) == 1;
	CHECK_SYS(close(fds[0]));
	CHECK_SYS(close(fds[1]));
	return ok;
}

static void *look(void *arg)
{
	const struct ask *ask = arg;
	pthread_attr_t attr;
	size_t size, guard;
	void *low;

	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getstack(&attr, &low, &size));
	CHECK_OK(pthread_attr_getguardsize(&attr, &guard));
	CHECK_OK(pthread_attr_destroy(&attr));
	CHECK(guard >= ask->guard);
	CHECK(size >= ask->size / 64 * 64);
	CHECK((uintptr_t)&attr > (uintptr_t)low && (uintptr_t)&attr < (uintptr_t)low + size);
	CHECK(readable((uintptr_t)low));
	for (size_t at = 1; at <= guard; at += 4096)
		CHECK(!readable((uintptr_t)low - at));
	return NULL;
}

static void one(const struct ask *ask)
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, ask->size));
	CHECK_OK(pthread_attr_setguardsize(&attr, ask->guard));
	CHECK_OK(pthread_create(&t, &attr, look, (void *)ask));
	CHECK_OK(pthread_attr_destroy(&attr));
	join(t);
}

int main(void)
{
	int n = sizeof(asks) / sizeof(asks[0]);

	for (int i = 0; i < n; i++) {
		for (int k = 0; k < n; k++) {
			one(&asks[i]);
			one(&asks[k]);
		}
		passed("%zu bytes with a guard of %zu, before and after every other", asks[i].size,
		       asks[i].guard);
	}
	return 0;
}
