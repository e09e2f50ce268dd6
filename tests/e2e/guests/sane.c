/* Threads that share what a mutex guards, allocate and wait for each other: nothing in it is wrong, without RACE. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 500 };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static sem_t ended;
static long count, next;

static void *run(void *arg)
{
	pthread_setspecific(key, strdup("ends with the thread"));
	for (int i = 0; i < ROUNDS; i++) {
#ifdef RACE
		count++;
#else
		pthread_mutex_lock(&m);
		count++;
		free(malloc((size_t)i + 1));
		pthread_mutex_unlock(&m);
#endif
	}
	pthread_mutex_lock(&m);
	while (next != (long)arg)
		pthread_cond_wait(&turn, &m);
	next++;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&m);
	sem_post(&ended);
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	pthread_key_create(&key, free);
	sem_init(&ended, 0, 0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		sem_wait(&ended);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%ld %ld\n", count, next);
	return 0;
}
