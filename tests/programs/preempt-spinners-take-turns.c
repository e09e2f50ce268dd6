/*
 * Threads that compute without calling anything share the processors, however few there are: each
 * waits for what another one, that never blocks, has to do first.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 8 };

static atomic_int turn;

static void *take_turns(void *arg)
{
	int me = (int)(long)arg;

	for (int r = 0; r < ROUNDS; r++) {
		while (atomic_load_explicit(&turn, memory_order_relaxed) % THREADS != me)
			;
		atomic_fetch_add(&turn, 1);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%d turns\n", atomic_load(&turn));
	return 0;
}
