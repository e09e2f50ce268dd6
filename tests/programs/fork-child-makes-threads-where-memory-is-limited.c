/*
 * At a limit of the address space a child of a fork makes as many threads as its parent did, less the
 * one that forked, and so does that child's child: what the parent's other threads had is free.  The fork
 * comes from one of many threads while they run, and while some of them come and go.
 */
#include "check.h"

#include <semaphore.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { MOST = 40, DEPTH = 3, EACH = 8 << 20, ROUNDS = 10 };

static sem_t go;
static volatile int over;
static __thread char values[4000]; /* zeroes, whichever thread had the memory before */

static void *waits(void *arg)
{
	for (size_t i = 0; i < sizeof values; i++)
		CHECK_EQ(values[i], 0);
	memset(values, 1, sizeof values);
	while (sem_wait(&go))
		;
	return arg;
}

static void *ends(void *arg)
{
	memset(values, 1, sizeof values);
	return arg;
}

static void *comes_and_goes(void *arg)
{
	pthread_t t;

	while (!over)
		if (!pthread_create(&t, NULL, ends, NULL))
			CHECK_OK(pthread_join(t, NULL));
	return arg;
}

/* As many threads as can be had, and then a child that has to make at least so many, less one, in turn. */
static void *parent(void *depth)
{
	long left = (long)depth, least = 0;
	pthread_t t[MOST];
	int n = 0, status;
	pid_t pid;

	while (n < MOST && !pthread_create(&t[n], NULL, waits, NULL))
		n++;
	CHECK(n > 0);
	least = n - 2; /* the thread that forks, and the one that comes and goes */
	pid = left ? fork() : -1;
	if (pid == 0) {
		pthread_t child[MOST];
		int m = 0;

		CHECK_OK(sem_init(&go, 0, 0));
		while (m < n && !pthread_create(&child[m], NULL, waits, NULL))
			m++;
		if (m < least)
			CHECK_EQ(m, least);
		for (int i = 0; i < m; i++)
			sem_post(&go);
		for (int i = 0; i < m; i++)
			CHECK_OK(pthread_join(child[i], NULL));
		parent((void *)(left - 1));
		_exit(0);
	}
	for (int i = 0; i < n; i++)
		sem_post(&go);
	for (int i = 0; i < n; i++)
		CHECK_OK(pthread_join(t[i], NULL));
	if (left) {
		CHECK_SYS(pid);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	return NULL;
}

static size_t mapped(void)
{
	unsigned long pages;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f);
	CHECK_EQ(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(void)
{
	struct rlimit stack = { EACH, EACH }, space;
	pthread_attr_t a;
	pthread_t other;

	CHECK_SYS(setrlimit(RLIMIT_STACK, &stack));
	CHECK_OK(pthread_attr_init(&a));
	CHECK_OK(pthread_attr_setstacksize(&a, EACH));
	CHECK_OK(pthread_setattr_default_np(&a));
	CHECK_OK(sem_init(&go, 0, 0));
	space.rlim_cur = space.rlim_max = mapped() + 12 * (size_t)EACH;
	CHECK_SYS(setrlimit(RLIMIT_AS, &space));

	for (int i = 0; i < ROUNDS; i++)
		join(spawn(parent, (void *)(long)DEPTH));
	passed("children of a fork make as many threads as their parents");

	other = spawn(comes_and_goes, NULL);
	for (int i = 0; i < ROUNDS; i++)
		parent((void *)(long)DEPTH);
	over = 1;
	join(other);
	passed("and so they do when one of the parent's threads came and went");
	return 0;
}
