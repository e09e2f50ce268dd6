/*
 * The serial thread may destroy the barrier and overwrite its memory as soon as its own wait
 * returns: destroy waits for those still on their way out.
 */
#include "check.h"

enum { ROUNDS = 1000, THREADS = 5 };

static void *work(void *arg)
{
	pthread_barrier_t *bar = arg;

	if (pthread_barrier_wait(bar) == PTHREAD_BARRIER_SERIAL_THREAD) {
		CHECK_OK(pthread_barrier_destroy(bar));
		memset(bar, 0xff, sizeof *bar);
		free(bar);
		return arg;
	}
	return NULL;
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_t *bar = malloc(sizeof *bar);
		pthread_t t[THREADS];
		int serial = 0;

		CHECK_OK(pthread_barrier_init(bar, NULL, THREADS));
		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(work, bar);
		for (int i = 0; i < THREADS; i++)
			serial += join(t[i]) != NULL;
		CHECK_EQ(serial, 1);
	}
	passed("%d barriers destroyed by their serial thread", ROUNDS);
	return 0;
}
