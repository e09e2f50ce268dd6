/* queue.c: many threads through one bounded queue, and many threads through one barrier. */
#include "bench.h"

#include <pthread.h>

#define SLOTS 64

struct queue {
	pthread_mutex_t mu;
	pthread_cond_t not_full, not_empty;
	long slot[SLOTS];
	unsigned head, tail;
	long sum; /* of what consumers took; under mu */
	long n, producers, consumers;
};

static void put(struct queue *q, long item)
{
	must(pthread_mutex_lock(&q->mu));
	while (q->tail - q->head == SLOTS)
		must(pthread_cond_wait(&q->not_full, &q->mu));
	q->slot[q->tail++ % SLOTS] = item;
	must(pthread_cond_signal(&q->not_empty));
	must(pthread_mutex_unlock(&q->mu));
}

static void take(struct queue *q)
{
	must(pthread_mutex_lock(&q->mu));
	while (q->tail == q->head)
		must(pthread_cond_wait(&q->not_empty, &q->mu));
	q->sum += q->slot[q->head++ % SLOTS];
	must(pthread_cond_signal(&q->not_full));
	must(pthread_mutex_unlock(&q->mu));
}

static void queue_body(long i, void *arg)
{
	struct queue *q = arg;

	if (i < q->producers)
		for (long k = share(q->n, q->producers, i); k > 0; k--)
			put(q, k);
	else
		for (long k = share(q->n, q->consumers, i - q->producers); k > 0; k--)
			take(q);
}

static double queue_items(long n, const struct bench *b)
{
	struct queue q = {
		.mu = PTHREAD_MUTEX_INITIALIZER,
		.not_full = PTHREAD_COND_INITIALIZER,
		.not_empty = PTHREAD_COND_INITIALIZER,
		.n = n,
		.producers = b->a,
		.consumers = b->b,
	};
	double ns = team_run(b->a + b->b, queue_body, &q);
	long want = 0;

	for (long i = 0; i < b->a; i++) {
		long k = share(n, b->a, i);

		want += k * (k + 1) / 2;
	}
	if (q.sum != want)
		die("the sum of the items taken", 0);
	return ns;
}

void bench_queue(const struct bench *b)
{
	measure(b, queue_items, 10 * b->a);
}

struct gather {
	pthread_barrier_t barrier;
	long rounds;
	long serials; /* threads told they were the serial one; relaxed counter */
};

static void barrier_body(long i, void *arg)
{
	struct gather *g = arg;

	(void)i;
	for (long k = 0; k < g->rounds; k++) {
		int err = pthread_barrier_wait(&g->barrier);

		if (err == PTHREAD_BARRIER_SERIAL_THREAD)
			__atomic_fetch_add(&g->serials, 1, __ATOMIC_RELAXED);
		else if (err)
			die("pthread_barrier_wait", err);
	}
}

/* n arrivals, rounded up to whole rounds of all threads. */
static double arrivals(long n, const struct bench *b)
{
	struct gather g = {.rounds = (n + b->a - 1) / b->a};
	double ns;

	must(pthread_barrier_init(&g.barrier, NULL, (unsigned)b->a));
	ns = team_run(b->a, barrier_body, &g);
	if (g.serials != g.rounds)
		die("the number of serial threads", 0);
	must(pthread_barrier_destroy(&g.barrier));
	return ns * (double)n / (double)(g.rounds * b->a);
}

void bench_barrier(const struct bench *b)
{
	measure(b, arrivals, b->a);
}
