/*
 * A barrier over many rounds: nobody is let through before all have come, exactly one thread a
 * round is the serial one, and the barrier is ready for the next round at once; for 2 to 500
 * threads.
 */
#include "check.h"
#include <stdatomic.h>

static pthread_barrier_t bar;
static atomic_int arrived, serial;
static int threads, rounds;

static void *work(void *arg)
{
	for (int i = 1; i <= rounds; i++) {
		atomic_fetch_add(&arrived, 1);

		int r = pthread_barrier_wait(&bar);

		CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
		/* All of this round have come; the fast ones may be one round further, no more. */
		CHECK(arrived >= i * threads && arrived < (i + 1) * threads + 1);
		if (r)
			atomic_fetch_add(&serial, 1);
		if (i % 7 == 0)
			sched_yield();
	}
	return arg;
}

static void run(int n, int r)
{
	static pthread_t t[500];

	threads = n;
	rounds = r;
	arrived = serial = 0;
	CHECK_OK(pthread_barrier_init(&bar, NULL, n));
	for (int i = 0; i < n; i++)
		t[i] = spawn(work, NULL);
	for (int i = 0; i < n; i++)
		join(t[i]);
	CHECK_EQ(serial, rounds);
	CHECK_OK(pthread_barrier_destroy(&bar));
	passed("%d threads, %d rounds, one serial thread each", n, r);
}

int main(void)
{
	CHECK_EQ(pthread_barrier_init(&bar, NULL, 0), EINVAL);
	run(1, 1000);
	run(2, 5000);
	run(10, 1000);
	run(100, 100);
	run(500, 20);
	return 0;
}
