/*
 * Threads in a ring, each waiting for its turn in its own condition variable: 20,000 hand-overs,
 * strictly in order; and the same with one shared condition variable and broadcasts.
 */
#include "check.h"

enum { RING = 10, TURNS = 20000, CROWD_TURNS = 1000 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t own[RING], crowd = PTHREAD_COND_INITIALIZER;
static int turn;

static void *in_ring(void *arg)
{
	int me = (int)(long)arg;

	CHECK_OK(pthread_mutex_lock(&mu));
	for (int i = 0; i < TURNS / RING; i++) {
		while (turn % RING != me)
			CHECK_OK(pthread_cond_wait(&own[me], &mu));
		CHECK_EQ(turn, i * RING + me);
		turn++;
		CHECK_OK(pthread_cond_signal(&own[turn % RING]));
	}
	CHECK_OK(pthread_mutex_unlock(&mu));
	return NULL;
}

static void *in_crowd(void *arg)
{
	int me = (int)(long)arg;

	CHECK_OK(pthread_mutex_lock(&mu));
	for (int i = 0; i < CROWD_TURNS / RING; i++) {
		while (turn % RING != me)
			CHECK_OK(pthread_cond_wait(&crowd, &mu));
		CHECK_EQ(turn, i * RING + me);
		turn++;
		CHECK_OK(pthread_cond_broadcast(&crowd));
	}
	CHECK_OK(pthread_mutex_unlock(&mu));
	return NULL;
}

static void run(void *(*fn)(void *))
{
	pthread_t t[RING];

	turn = 0;
	for (long i = 0; i < RING; i++)
		t[i] = spawn(fn, (void *)i);
	for (int i = 0; i < RING; i++)
		join(t[i]);
}

int main(void)
{
	for (int i = 0; i < RING; i++)
		CHECK_OK(pthread_cond_init(&own[i], NULL));
	run(in_ring);
	CHECK_EQ(turn, TURNS);
	passed("%d turns in a ring", TURNS);
	run(in_crowd);
	CHECK_EQ(turn, CROWD_TURNS);
	passed("%d turns in a crowd", CROWD_TURNS);
	return 0;
}
