/*
 * POSIX lets a condition variable be destroyed, and its memory reused, as soon as the broadcast
 * that frees the last waiters has returned, though they have not run yet.  The memory is
 * overwritten at once.
 */
#include "check.h"

struct object {
	pthread_cond_t cv;
	char junk[64];
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int waiting, generation;

static void *waiter(void *arg)
{
	struct object *o = arg;
	int mine;

	CHECK_OK(pthread_mutex_lock(&mu));
	mine = generation;
	waiting++;
	CHECK_OK(pthread_cond_signal(&arrived));
	/* One wait only when it is not spurious: the object may be gone after the broadcast. */
	do {
		CHECK_OK(pthread_cond_wait(&o->cv, &mu));
	} while (mine == generation);
	CHECK_OK(pthread_mutex_unlock(&mu));
	return NULL;
}

int main(void)
{
	enum { ROUNDS = 300, WAITERS = 8 };

	for (int round = 0; round < ROUNDS; round++) {
		struct object *o = malloc(sizeof *o);
		pthread_t t[WAITERS];

		CHECK(o != NULL);
		CHECK_OK(pthread_cond_init(&o->cv, NULL));
		waiting = 0;
		for (int i = 0; i < WAITERS; i++)
			t[i] = spawn(waiter, o);
		CHECK_OK(pthread_mutex_lock(&mu));
		while (waiting < WAITERS)
			CHECK_OK(pthread_cond_wait(&arrived, &mu));
		generation++;
		CHECK_OK(pthread_cond_broadcast(&o->cv));
		/* With and without the mutex: either way the waiters are still on their way out. */
		if (round % 2)
			CHECK_OK(pthread_mutex_unlock(&mu));
		CHECK_OK(pthread_cond_destroy(&o->cv));
		memset(o, 0x5a, sizeof *o);
		free(o);
		if (round % 2 == 0)
			CHECK_OK(pthread_mutex_unlock(&mu));
		for (int i = 0; i < WAITERS; i++)
			join(t[i]);
	}
	passed("%d condition variables destroyed right after their broadcast", ROUNDS);
	return 0;
}
