/* circleslate KIND N: circles that close late, are many, or are none because a thread is cancelled. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 64 };

static pthread_mutex_t m[2 * MOST];
static pthread_barrier_t all;
static pthread_t t[2 * MOST];

/* Closes its circle by one short run in a process that has been idle since. */
static void *wants_later(void *arg)
{
	pthread_mutex_lock(&m[0]);
	pthread_barrier_wait(&all);
	usleep(300000);
	pthread_mutex_lock(&m[1]);
	return arg;
}

/* Pairs, one after the other: of each the second closes it. */
static void *takes_two(void *arg)
{
	long i = (long)arg;

	pthread_mutex_lock(&m[i]);
	pthread_barrier_wait(&all);
	if (i % 2)
		usleep((unsigned)(MOST - i) * 5000);
	pthread_mutex_lock(&m[i ^ 1]);
	return NULL;
}

static void unlocks(void *arg)
{
	pthread_mutex_unlock(arg);
}

static void *holds_and_joins(void *arg)
{
	pthread_mutex_lock(&m[0]);
	pthread_cleanup_push(unlocks, &m[0]);
	pthread_barrier_wait(&all);
	pthread_join(*(pthread_t *)arg, NULL);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *wants(void *arg)
{
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&m[0]);
	pthread_mutex_unlock(&m[0]);
	return arg;
}

static void *cancelled_at_once(void *arg)
{
	long i = (long)arg;
	int old;

	pthread_mutex_lock(&m[i]);
	pthread_cleanup_push(unlocks, &m[i]);
	pthread_barrier_wait(&all);
	if (i == 0)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	pthread_mutex_lock(&m[i ^ 1]);
	if (i == 0)
		pthread_mutex_unlock(&m[i ^ 1]);
	else
		pthread_mutex_unlock(&m[0]);
	pthread_cleanup_pop(1);
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 2;

	for (int i = 0; i < 2 * MOST; i++)
		pthread_mutex_init(&m[i], NULL);
	if (!strcmp(argv[1], "late")) {
		pthread_barrier_init(&all, NULL, 2);
		pthread_mutex_lock(&m[1]);
		pthread_create(&t[0], NULL, wants_later, NULL);
		pthread_barrier_wait(&all);
		pthread_mutex_lock(&m[0]);
	} else if (!strcmp(argv[1], "many")) {
		pthread_barrier_init(&all, NULL, 2 * (unsigned)n);
		for (long i = 0; i < 2 * n; i++)
			pthread_create(&t[i], NULL, takes_two, (void *)i);
		pthread_join(t[0], NULL);
	} else {
		pthread_barrier_init(&all, NULL, 2);
		if (!strcmp(argv[1], "join")) {
			pthread_create(&t[1], NULL, holds_and_joins, &t[2]);
			pthread_create(&t[2], NULL, wants, NULL);
		} else {
			pthread_create(&t[1], NULL, cancelled_at_once, (void *)0);
			pthread_create(&t[2], NULL, cancelled_at_once, (void *)1);
		}
		usleep(900000);
		pthread_cancel(t[1]);
		pthread_join(t[1], NULL);
		pthread_join(t[2], NULL);
	}
	return 0;
}
