/*
 * signalled.c: how soon a thread runs that another has woken, which goes on computing.
 *
 * Before each round both have slept: with two processors there is one for each.  A scheduler in user space that
 * leaves who was woken to the processor of his waker shows here; natively the kernel wakes another.
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct woken {
	sem_t go;
	long rounds;
	_Atomic uint64_t ran; /* when; 0: not yet */
};

static void *woken_main(void *arg)
{
	struct woken *w = arg;

	for (long i = 0; i < w->rounds; i++) {
		must_sys(sem_wait(&w->go));
		atomic_store(&w->ran, now_ns());
	}
	return NULL;
}

/* a rounds, each after a rest of b ms. */
void bench_signalled(const struct bench *b)
{
	uint64_t *late = calloc((size_t)b->a, sizeof(*late));
	struct woken w = {.rounds = b->a};
	pthread_t id;

	if (!late)
		die("no room", errno);
	must_sys(sem_init(&w.go, 0, 0));
	must(pthread_create(&id, NULL, woken_main, &w));
	for (long i = 0; i < b->a; i++) {
		uint64_t start;

		must_sys(nanosleep(&(struct timespec){.tv_nsec = b->b * 1000000}, NULL));
		atomic_store(&w.ran, 0);
		start = now_ns();
		must_sys(sem_post(&w.go));
		while (!atomic_load(&w.ran))
			;
		late[i] = atomic_load(&w.ran) - start;
	}
	must(pthread_join(id, NULL));
	print_quantiles(b, late, b->a);
	free(late);
}
