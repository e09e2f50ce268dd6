/*
 * A program that looks its thread functions up by name (RTLD_DEFAULT, RTLD_NEXT, the handle of the
 * program, with a version) and one that calls them as everybody does use the same objects: one
 * thread locks by one, waits by another and is woken by a third.
 */
#include "check.h"
#include <dlfcn.h>

enum { WAYS = 3, THREADS = 12, TURNS = 50 };

struct functions {
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*join)(pthread_t, void **);
	int (*lock)(pthread_mutex_t *);
	int (*unlock)(pthread_mutex_t *);
	int (*wait)(pthread_cond_t *, pthread_mutex_t *);
	int (*broadcast)(pthread_cond_t *);
	int (*yield)(void);
};

static struct functions ways[WAYS + 1];
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static int turn;

static void find(struct functions *f, void *where)
{
	CHECK(*(void **)&f->create = dlsym(where, "pthread_create"));
	CHECK(*(void **)&f->join = dlsym(where, "pthread_join"));
	CHECK(*(void **)&f->lock = dlsym(where, "pthread_mutex_lock"));
	CHECK(*(void **)&f->unlock = dlsym(where, "pthread_mutex_unlock"));
	CHECK(*(void **)&f->wait = dlsym(where, "pthread_cond_wait"));
	CHECK(*(void **)&f->broadcast = dlsym(where, "pthread_cond_broadcast"));
	CHECK(*(void **)&f->yield = dlsym(where, "sched_yield"));
}

static void *takes_turns(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < TURNS; i++) {
		struct functions *a = &ways[(me + i) % (WAYS + 1)], *b = &ways[(me + i + 1) % (WAYS + 1)];

		CHECK_OK(a->lock(&mu));
		while (turn % THREADS != me)
			CHECK_OK(b->wait(&cv, &mu));
		turn++;
		CHECK_OK(a->broadcast(&cv));
		b->yield();
		CHECK_OK(b->unlock(&mu));
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	void *value;

	find(&ways[0], RTLD_DEFAULT);
	find(&ways[1], RTLD_NEXT);
	find(&ways[2], dlopen(NULL, RTLD_NOW));
	ways[3] = (struct functions){pthread_create, pthread_join, pthread_mutex_lock, pthread_mutex_unlock,
				     pthread_cond_wait, pthread_cond_broadcast, sched_yield};
	for (long i = 0; i < THREADS; i++)
		CHECK_OK(ways[i % 4].create(&t[i], NULL, takes_turns, (void *)i));
	for (long i = 0; i < THREADS; i++) {
		CHECK_OK(ways[(i + 1) % 4].join(t[i], &value));
		CHECK(value == (void *)i);
	}
	CHECK_EQ(turn, THREADS * TURNS);
	passed("found by name in three ways, and called directly");
	CHECK(dlsym(RTLD_DEFAULT, "pthread_of_nobody") == NULL);
	CHECK(dlvsym(RTLD_DEFAULT, "pthread_create", "GLIBC_9.9") == NULL);
	CHECK(dlvsym(RTLD_DEFAULT, "pthread_cond_wait", "GLIBC_2.3.2") != NULL);
	passed("versions that are and are not");
	return 0;
}
