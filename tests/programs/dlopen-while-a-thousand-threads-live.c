/*
 * Libraries with thread-locals of every model are loaded and unloaded, by several threads at once,
 * while a thousand other threads are parked and more come and go: each finds initial values of its
 * own, whether it was there before the library or came after.  In a name space of its own a library
 * has another copy.
 */
#include "check.h"
#include <dlfcn.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { PARKED = 1000, ROUNDS = 5, LOADERS = 4 };

static pthread_barrier_t bar;
static sem_t go[ROUNDS + 1], seen;
static long *(*gd)(void), *(*ie)(void);
static atomic_int stop;

static void *library(const char *name)
{
	char path[600];
	ssize_t n = readlink("/proc/self/exe", path, 400);
	char *slash;
	void *h;

	CHECK(n > 0);
	path[n] = '\0';
	CHECK(slash = strrchr(path, '/'));
	snprintf(slash + 1, 100, "lib/%s.so", name);
	h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!h) {
		printf("FAILED %s\n", dlerror());
		exit(1);
	}
	return h;
}

static void down(sem_t *s)
{
	while (sem_wait(s))
		CHECK_EQ(errno, EINTR);
}

static void *parked(void *arg)
{
	long me = (long)arg;

	for (int r = 0; r < ROUNDS; r++) {
		down(&go[r]);
		CHECK_EQ(*gd(), 0x6d);
		CHECK_EQ(*ie(), 0x1e);
		*gd() = me;
		*ie() = -me;
		sched_yield();
		CHECK_EQ(*gd(), me);
		CHECK_EQ(*ie(), -me);
		CHECK_SYS(sem_post(&seen));
	}
	return arg;
}

static void *later(void *arg)
{
	CHECK_EQ(*gd(), 0x6d);
	CHECK_EQ(*ie(), 0x1e);
	*gd() = *ie() = 7;
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void *come_and_go(void *arg)
{
	while (!stop) {
		join(spawn(nothing, NULL));
		sched_yield();
	}
	return arg;
}

static void *loads(void *arg)
{
	while (!stop) {
		void *h = library("tls-ld"), *z = dlopen("libresolv.so.2", RTLD_NOW);
		long (*ld)(long) = (long (*)(long))dlsym(h, "tls_ld_sum");

		if (ld)
			ld(1);
		CHECK_OK(dlclose(h));
		if (z)
			CHECK_OK(dlclose(z));
		sched_yield();
	}
	return arg;
}

int main(void)
{
	static pthread_t t[PARKED];
	pthread_t l[LOADERS + 1];
	void *h[2], *m;

	CHECK_OK(pthread_barrier_init(&bar, NULL, 2));
	for (int i = 0; i <= ROUNDS; i++)
		CHECK_SYS(sem_init(&go[i], 0, 0));
	CHECK_SYS(sem_init(&seen, 0, 0));
	for (long i = 0; i < PARKED; i++)
		t[i] = spawn(parked, (void *)(i + 1));
	for (int i = 0; i < LOADERS; i++)
		l[i] = spawn(loads, NULL);
	l[LOADERS] = spawn(come_and_go, NULL);
	for (int r = 0; r < ROUNDS; r++) {
		h[0] = library("tls-gd");
		h[1] = library("tls-ie");
		gd = (long *(*)(void))dlsym(h[0], "tls_gd");
		ie = (long *(*)(void))dlsym(h[1], "tls_ie_value");
		CHECK(gd && ie);
		CHECK_EQ(*gd(), 0x6c); /* by the constructor, which ran here */
		for (int i = 0; i < PARKED; i++)
			CHECK_SYS(sem_post(&go[r]));
		for (int i = 0; i < PARKED; i++)
			down(&seen);
		for (int i = 0; i < 20; i++)
			join(spawn(later, NULL));
		CHECK_OK(dlclose(h[1]));
		CHECK_OK(dlclose(h[0]));
		passed("round %d: %d threads had their own", r, PARKED);
	}
	stop = 1;
	for (int i = 0; i <= LOADERS; i++)
		join(l[i]);
	for (int i = 0; i < PARKED; i++)
		CHECK_EQ((long)join(t[i]), i + 1);
	passed("everybody came to an end");

	m = dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
	CHECK(m);
	CHECK(dlsym(m, "cos") && dlsym(m, "cos") != dlsym(RTLD_DEFAULT, "cos"));
	CHECK_OK(dlclose(m));
	passed("a name space of its own");
	return 0;
}
