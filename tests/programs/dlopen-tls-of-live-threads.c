/*
 * Libraries with thread-locals loaded while 50 threads are alive (some were created, some are
 * parked): each of them, and each later one, finds initial values of its own in every TLS model;
 * and so again after unload and reload.
 */
#include "check.h"
#include <dlfcn.h>

enum { THREADS = 50, ROUNDS = 3 };

static pthread_barrier_t bar;
static long *(*gd)(void), *(*ie)(void), *(*ie_zero)(void);
static char *(*gd_text)(void);
static long (*ld)(long);

static void use_all(long me, int first)
{
	if (first) {
		CHECK_EQ(*gd(), 0x6d);
		CHECK_EQ(strcmp(gd_text(), "big"), 0);
		CHECK_EQ(*ie(), 0x1e);
		CHECK_EQ(*ie_zero(), 0);
		CHECK_EQ(ld(0), 3);
		*gd() = *ie() = *ie_zero() = me;
		gd_text()[99999] = (char)me;
		CHECK_EQ(ld(me), 3 + 6 * me);
	}
	for (int i = 0; i < 5; i++) {
		long *address = gd();

		sched_yield();
		CHECK(address == gd());
		CHECK_EQ(*gd(), me);
		CHECK_EQ(gd_text()[99999], (char)me);
		CHECK_EQ(*ie(), me);
		CHECK_EQ(*ie_zero(), me);
		CHECK_EQ(ld(0), 3 + 6 * me);
	}
}

static void *lives_through(void *arg)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&bar); /* main loads now */
		pthread_barrier_wait(&bar);
		/* The initial-exec library stays loaded after the first round. */
		if (round > 0)
			*ie() = 0x1e, *ie_zero() = 0;
		use_all((long)arg, 1);
		pthread_barrier_wait(&bar);
		use_all((long)arg, 0);
		pthread_barrier_wait(&bar); /* main unloads now */
	}
	return NULL;
}

static void *late(void *arg)
{
	use_all((long)arg, 1);
	return NULL;
}

static void *load(const char *name)
{
	void *h = dlopen(name, RTLD_NOW);

	if (!h) {
		printf("FAILED: %s\n", dlerror());
		exit(1);
	}
	return h;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK_OK(pthread_barrier_init(&bar, NULL, THREADS + 1));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(lives_through, (void *)(i + 1));
	for (int round = 0; round < ROUNDS; round++) {
		void *hgd, *hld;

		pthread_barrier_wait(&bar);
		hgd = load("$ORIGIN/lib/tls-gd.so");
		hld = load("$ORIGIN/lib/tls-ld.so");
		if (round == 0) {
			void *hie = load("$ORIGIN/lib/tls-ie.so");

			ie = (long *(*)(void))dlsym(hie, "tls_ie_value");
			ie_zero = (long *(*)(void))dlsym(hie, "tls_ie_zero");
		}
		gd = (long *(*)(void))dlsym(hgd, "tls_gd");
		gd_text = (char *(*)(void))dlsym(hgd, "tls_gd_text");
		ld = (long (*)(long))dlsym(hld, "tls_ld_sum");
		CHECK(gd && gd_text && ld && ie && ie_zero);
		CHECK_EQ(*(int *)dlsym(hgd, "tls_gd_loaded"), 1);
		/* The constructor set the value of the thread that loaded it, no other. */
		CHECK_EQ(*gd(), 0x6c);
		pthread_barrier_wait(&bar);
		pthread_barrier_wait(&bar);
		for (long i = 0; i < 10; i++)
			join(spawn(late, (void *)(i + 100)));
		pthread_barrier_wait(&bar);
		CHECK_OK(dlclose(hgd));
		CHECK_OK(dlclose(hld));
		CHECK(dlopen("$ORIGIN/lib/tls-gd.so", RTLD_NOW | RTLD_NOLOAD) == NULL);
		passed("round %d: %d live threads and 10 late ones", round + 1, THREADS);
	}
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	return 0;
}
