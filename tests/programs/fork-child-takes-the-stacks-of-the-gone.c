/*
 * The stacks of threads that a fork left behind are memory that the child may use: where the limit of
 * address space has no room for another, the child makes threads all the same, and so does its own
 * child, while the stack on which the fork was called stays as it is.
 */
#include "check.h"
#include <sys/resource.h>
#include <sys/wait.h>

enum { THREADS = 8, CHILDS = 4, ROOM = 5 << 20 }; /* ROOM: less than a stack */

static pthread_barrier_t all_there;

static size_t address_space(void)
{
	unsigned long pages;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void *uses_its_stack(void *arg)
{
	volatile char deep[256 << 10];

	memset((char *)deep, (int)(long)arg, sizeof deep);
	sched_yield();
	for (size_t i = 0; i < sizeof deep; i += 4096)
		CHECK_EQ(deep[i], (char)(long)arg);
	return arg;
}

static void make_threads(void)
{
	pthread_t t[CHILDS];

	for (long i = 0; i < CHILDS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, uses_its_stack, (void *)(i + 1)), 0);
	for (int i = 0; i < CHILDS; i++)
		join(t[i]);
}

static void wait_for(pid_t child)
{
	int status;

	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void in_child(void)
{
	volatile char mine[64 << 10];
	pid_t child;

	memset((char *)mine, 77, sizeof mine);
	make_threads();
	child = fork();
	CHECK_SYS(child);
	make_threads();
	for (size_t i = 0; i < sizeof mine; i++)
		CHECK_EQ(mine[i], 77);
	if (!child)
		_exit(0);
	wait_for(child);
	_exit(0);
}

static void *forks(void *arg)
{
	struct rlimit room;
	pid_t child;

	pthread_barrier_wait(&all_there);
	if ((long)arg == THREADS / 2) {
		CHECK_SYS(getrlimit(RLIMIT_AS, &room));
		room.rlim_cur = address_space() + ROOM;
		CHECK_SYS(setrlimit(RLIMIT_AS, &room));
		child = fork();
		CHECK_SYS(child);
		if (!child)
			in_child();
		wait_for(child);
	}
	pthread_barrier_wait(&all_there);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK_EQ(pthread_barrier_init(&all_there, NULL, THREADS), 0);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(forks, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("children made threads on the stacks of those that a fork left behind");
	return 0;
}
