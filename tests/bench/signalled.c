/*
 * signalled.c: how soon a thread runs that another has woken, which goes on computing.
 *
 * In each way that a thread is woken.  Before each round both have slept: with two processors there is one for each.
 * A scheduler in user space that leaves the woken thread to the processor of its waker shows here; natively the kernel
 * wakes another.
 */
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct woken {
	const struct way *way;
	long rounds;
	sem_t come, go; /* to what it waits at; a semaphore's own way */
	pthread_mutex_t m;
	pthread_cond_t c;
	pthread_barrier_t b;
	pthread_rwlock_t rw;
	int fd[2];
	long called; /* under m */
	pthread_t made;
	_Atomic uint64_t ran; /* when; 0: not yet */
};

/* prepare: the waker's, before both sleep.  wait: the other's, in its round.  NULL: nothing. */
struct way {
	const char *name;
	void (*prepare)(struct woken *w);
	void (*wait)(struct woken *w, long round);
	void (*wake)(struct woken *w);
	void (*after)(struct woken *w);
};

static void sem_waits(struct woken *w, long round)
{
	(void)round;
	must_sys(sem_wait(&w->go));
}

static void sem_wakes(struct woken *w)
{
	must_sys(sem_post(&w->go));
}

static void mutex_held(struct woken *w)
{
	must(pthread_mutex_lock(&w->m));
}

static void mutex_waits(struct woken *w, long round)
{
	(void)round;
	must(pthread_mutex_lock(&w->m));
	must(pthread_mutex_unlock(&w->m));
}

static void mutex_wakes(struct woken *w)
{
	must(pthread_mutex_unlock(&w->m));
}

static void cond_waits(struct woken *w, long round)
{
	must(pthread_mutex_lock(&w->m));
	while (w->called <= round)
		must(pthread_cond_wait(&w->c, &w->m));
	must(pthread_mutex_unlock(&w->m));
}

static void cond_wakes(struct woken *w)
{
	must(pthread_mutex_lock(&w->m));
	w->called++;
	must(pthread_cond_broadcast(&w->c));
	must(pthread_mutex_unlock(&w->m));
}

static void barrier_comes(struct woken *w)
{
	int r = pthread_barrier_wait(&w->b);

	if (r != PTHREAD_BARRIER_SERIAL_THREAD)
		must(r);
}

static void barrier_waits(struct woken *w, long round)
{
	(void)round;
	barrier_comes(w);
}

static void rwlock_held(struct woken *w)
{
	must(pthread_rwlock_wrlock(&w->rw));
}

static void rwlock_waits(struct woken *w, long round)
{
	(void)round;
	must(pthread_rwlock_rdlock(&w->rw));
	must(pthread_rwlock_unlock(&w->rw));
}

static void rwlock_wakes(struct woken *w)
{
	must(pthread_rwlock_unlock(&w->rw));
}

static void pipe_waits(struct woken *w, long round)
{
	char byte;

	(void)round;
	must_sys(read(w->fd[0], &byte, 1));
}

static void pipe_wakes(struct woken *w)
{
	must_sys(write(w->fd[1], "", 1));
}

static void *made_main(void *arg)
{
	struct woken *w = arg;

	atomic_store(&w->ran, now_ns());
	return NULL;
}

static void create_wakes(struct woken *w)
{
	must(pthread_create(&w->made, NULL, made_main, w));
}

static void create_joins(struct woken *w)
{
	must(pthread_join(w->made, NULL));
}

/* The first has no name: it is the row that Go has, too. */
static const struct way ways[] = {
	{ "", NULL, sem_waits, sem_wakes, NULL },
	{ "-mutex", mutex_held, mutex_waits, mutex_wakes, NULL },
	{ "-cond", NULL, cond_waits, cond_wakes, NULL },
	{ "-barrier", NULL, barrier_waits, barrier_comes, NULL },
	{ "-rwlock", rwlock_held, rwlock_waits, rwlock_wakes, NULL },
	{ "-pipe", NULL, pipe_waits, pipe_wakes, NULL },
	{ "-create", NULL, NULL, create_wakes, create_joins },
};

static void *woken_main(void *arg)
{
	struct woken *w = arg;

	for (long i = 0; i < w->rounds; i++) {
		must_sys(sem_wait(&w->come));
		w->way->wait(w, i);
		atomic_store(&w->ran, now_ns());
	}
	return NULL;
}

static void rounds(struct woken *w, const struct bench *b, uint64_t *late)
{
	for (long i = 0; i < w->rounds; i++) {
		uint64_t start;

		if (w->way->prepare)
			w->way->prepare(w);
		must_sys(sem_post(&w->come));
		must_sys(nanosleep(&(struct timespec){.tv_nsec = b->b * 1000000}, NULL));
		atomic_store(&w->ran, 0);
		start = now_ns();
		w->way->wake(w);
		while (!atomic_load(&w->ran))
			;
		late[i] = atomic_load(&w->ran) - start;
		if (w->way->after)
			w->way->after(w);
	}
}

static void one_way(const struct way *way, const struct bench *b, uint64_t *late)
{
	struct woken w = {
		.way = way,
		.rounds = b->a,
		.m = PTHREAD_MUTEX_INITIALIZER,
		.c = PTHREAD_COND_INITIALIZER,
		.rw = PTHREAD_RWLOCK_INITIALIZER,
	};
	struct bench row = *b;
	char name[64];
	pthread_t id;

	snprintf(name, sizeof(name), "%s%s", b->name, way->name);
	row.name = name;
	must_sys(sem_init(&w.come, 0, 0));
	must_sys(sem_init(&w.go, 0, 0));
	must(pthread_barrier_init(&w.b, NULL, 2));
	must_sys(pipe(w.fd));
	if (way->wait)
		must(pthread_create(&id, NULL, woken_main, &w));
	rounds(&w, b, late);
	if (way->wait)
		must(pthread_join(id, NULL));
	must_sys(close(w.fd[0]));
	must_sys(close(w.fd[1]));
	print_quantiles(&row, late, b->a);
}

/* a rounds of each way, each after a rest of b ms. */
void bench_signalled(const struct bench *b)
{
	uint64_t *late = calloc((size_t)b->a, sizeof(*late));

	if (!late)
		die("no room", errno);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		one_way(&ways[i], b, late);
	free(late);
}
