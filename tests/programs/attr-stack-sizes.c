/*
 * Threads with stacks from the smallest allowed to a huge one: each can use what it asked for, and
 * sees its own stack (its locals lie inside, the size is at least the wish) through
 * pthread_getattr_np.
 */
#include "check.h"
#include <limits.h>
#include <stdint.h>

static void *use_stack(void *arg)
{
	size_t wish = (size_t)arg, size, guard;
	/* A tiny stack also holds glibc's thread block and static TLS: use half of it, no more. */
	size_t use = wish / 2;
	volatile char *p = __builtin_alloca(use);
	pthread_attr_t attr;
	void *low;

	for (size_t i = 0; i < use; i += 512)
		p[i] = (char)(i >> 9);
	for (size_t i = 0; i < use; i += 512)
		CHECK_EQ(p[i], (char)(i >> 9));

	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getstack(&attr, &low, &size));
	CHECK_OK(pthread_attr_getguardsize(&attr, &guard));
	CHECK_OK(pthread_attr_destroy(&attr));
	CHECK((uintptr_t)p >= (uintptr_t)low && (uintptr_t)p + use <= (uintptr_t)low + size);
	CHECK(size + guard >= wish);
	return NULL;
}

static void with_stack(size_t size, int threads)
{
	pthread_attr_t attr;
	pthread_t t[16];

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, size));
	for (int i = 0; i < threads; i++)
		CHECK_OK(pthread_create(&t[i], &attr, use_stack, (void *)size));
	for (int i = 0; i < threads; i++)
		join(t[i]);
	CHECK_OK(pthread_attr_destroy(&attr));
	passed("%zu KiB, %d threads", size / 1024, threads);
}

int main(void)
{
	with_stack(PTHREAD_STACK_MIN, 16);
	with_stack(20 * 1024, 16);
	with_stack(64 * 1024, 16);
	with_stack(100 * 1000, 16);
	with_stack(1024 * 1024, 8);
	with_stack(8192 * 1024, 8);
	with_stack(64 * 1024 * 1024, 2);
	with_stack(256 * 1024 * 1024, 1);
	/* Small ones again: a cache of stacks must not hand out one of the wrong size. */
	with_stack(20 * 1024, 16);
	return 0;
}
