/*
 * A library with thread-locals in a name space of its own, in static storage: each thread finds the
 * initial values, a hundred times over, the first one as well as those that come after threads have
 * ended with values of their own.
 */
#include "check.h"
#include <dlfcn.h>

enum { ROUNDS = 100, THREADS = 4 };

static long *(*value)(void), *(*zero)(void);

static void *uses(void *arg)
{
	CHECK_EQ(*value(), 0x1e);
	CHECK_EQ(*zero(), 0);
	*value() = *zero() = (long)arg;
	sched_yield();
	CHECK_EQ(*value(), (long)arg);
	CHECK_EQ(*zero(), (long)arg);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	char path[600];
	ssize_t n = readlink("/proc/self/exe", path, 400);
	pthread_t t[THREADS];
	char *slash;
	void *h;

	CHECK(n > 0);
	path[n] = '\0';
	CHECK(slash = strrchr(path, '/'));
	strcpy(slash + 1, "lib/tls-ie.so");
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(nothing, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	h = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);
	if (!h) {
		printf("FAILED %s\n", dlerror());
		return 1;
	}
	value = (long *(*)(void))dlsym(h, "tls_ie_value");
	zero = (long *(*)(void))dlsym(h, "tls_ie_zero");
	CHECK(value && zero);
	uses((void *)1);
	for (int r = 0; r < ROUNDS; r++) {
		for (long i = 0; i < THREADS; i++)
			t[i] = spawn(uses, (void *)(100 + i));
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
	}
	passed("%d rounds of %d threads had initial values", ROUNDS, THREADS);
	CHECK_OK(dlclose(h));
	return 0;
}
