/*
 * A profiler of memory: the program's malloc keeps its books under a lock, and makes its thread at the
 * first allocation, with the lock held.  Other threads' allocations wait meanwhile.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static __thread int inside;
static atomic_int ticks;
static int began;

static void *ticker(void *arg)
{
	(void)arg;
	for (;;) {
		atomic_fetch_add(&ticks, 1);
		usleep(1000);
	}
	return NULL;
}

static void note(void)
{
	pthread_t t;

	if (inside)
		return;
	inside = 1;
	pthread_mutex_lock(&books);
	if (!began) {
		began = 1;
		if (pthread_create(&t, NULL, ticker, NULL))
			_exit(3);
	}
	pthread_mutex_unlock(&books);
	inside = 0;
}

void *malloc(size_t n)
{
	note();
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
	note();
	return __libc_calloc(n, each);
}

static void *allocates(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(malloc(i + 1));
	return arg;
}

int main(void)
{
	pthread_t t[8];

	free(malloc(1));
	for (int i = 0; i < 8; i++)
		if (pthread_create(&t[i], NULL, allocates, NULL))
			return 1;
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	while (!atomic_load(&ticks))
		usleep(1000);
	puts("8 threads allocated beside the thread that malloc made");
	return 0;
}
