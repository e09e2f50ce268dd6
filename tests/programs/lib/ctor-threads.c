/*
 * A library whose constructor creates and joins a thread, and which leaves one behind that runs
 * until the destructor: programs do this, and it happens under the loader's lock.
 */
#include <pthread.h>
#include <semaphore.h>

static pthread_t left;
static sem_t stop;
static int made, ended;

static void *short_one(void *arg)
{
	++*(int *)arg;
	return arg;
}

static void *long_one(void *arg)
{
	while (sem_wait(&stop) != 0)
		;
	ended++;
	return arg;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t t;

	sem_init(&stop, 0, 0);
	if (pthread_create(&t, 0, short_one, &made) == 0)
		pthread_join(t, 0);
	if (pthread_create(&left, 0, long_one, 0) == 0)
		made++;
}

__attribute__((destructor)) static void end(void)
{
	sem_post(&stop);
	pthread_join(left, 0);
}

int ctor_threads_made(void)
{
	return made;
}
