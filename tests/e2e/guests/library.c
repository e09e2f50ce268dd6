/*
 * Calls a Go library from threads that were there before it, from main and from threads made after it.  With LINKED
 * the program is linked with it, otherwise it is loaded when the first threads wait already.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { EARLY = 4, LATE = 8 };

#ifdef LINKED
int Work(int);
#endif
static int (*work)(int);
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loaded = PTHREAD_COND_INITIALIZER;

static void *late(void *arg)
{
	long sum = 0;

	for (int i = 0; i < 20; i++)
		sum += work(50 + (int)(long)arg);
	return (void *)sum;
}

static void *early(void *arg)
{
	pthread_mutex_lock(&m);
	while (!work)
		pthread_cond_wait(&loaded, &m);
	pthread_mutex_unlock(&m);
	return late(arg);
}

int main(void)
{
	pthread_t t[EARLY + LATE];
	void *sum;

	for (long i = 0; i < EARLY; i++)
		pthread_create(&t[i], NULL, early, (void *)i);
	pthread_mutex_lock(&m);
#ifdef LINKED
	work = Work;
#else
	void *lib = dlopen("./libwork.so", RTLD_NOW);

	if (!lib) {
		puts(dlerror());
		return 1;
	}
	work = (int (*)(int))dlsym(lib, "Work");
#endif
	pthread_cond_broadcast(&loaded);
	pthread_mutex_unlock(&m);
	printf("main %d\n", work(100));
	for (long i = EARLY; i < EARLY + LATE; i++)
		pthread_create(&t[i], NULL, late, (void *)i);
	for (int i = 0; i < EARLY + LATE; i++) {
		pthread_join(t[i], &sum);
		printf("%d %ld\n", i, (long)sum);
	}
	return 0;
}
