/*
 * A second libc, in a namespace of its own, makes and joins threads for many at once: it shares the
 * loader's lock of the list of stacks with the first.
 */
#include "check.h"
#include <dlfcn.h>

enum { THREADS = 32, ROUNDS = 20 };

static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static int (*wait_for)(pthread_t, void **);

static void *same(void *arg)
{
	return arg;
}

static void *makes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t;
		void *got = NULL;

		CHECK_EQ(create(&t, NULL, same, (void *)5), 0);
		CHECK_EQ(wait_for(t, &got), 0);
		CHECK_EQ(got, 5);
		usleep(300);
	}
	return arg;
}

int main(void)
{
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	pthread_t t[THREADS];

	CHECK(libc);
	*(void **)&create = dlsym(libc, "pthread_create");
	*(void **)&wait_for = dlsym(libc, "pthread_join");
	CHECK(create && wait_for);
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(makes, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads had %d made each", THREADS, ROUNDS);
	return 0;
}
