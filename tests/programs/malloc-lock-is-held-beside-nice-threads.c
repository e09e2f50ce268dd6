/*
 * A program with a malloc of its own, whose lock is a futex by syscall().  Some of its threads have a niceness
 * of their own; the others hold the lock for a while and give their CPU away meanwhile.  More threads begin
 * all the time.  Each round is a process of its own.
 */
#include "check.h"
#include "ownmalloc.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ROUNDS = 20, PAIRS = 8 };

static atomic_bool over;

static void *nice_one(void *arg)
{
	struct timespec ms1 = { 0, 1000000 };

	CHECK_SYS(setpriority(PRIO_PROCESS, (id_t)gettid(), 5));
	while (!over)
		nanosleep(&ms1, NULL);
	return arg;
}

static void *holds(void *arg)
{
	while (!over) {
		heap_lock();
		sched_yield();
		heap_unlock();
		sched_yield();
	}
	return arg;
}

static void one_round(void)
{
	pthread_t t[2 * PAIRS];
	struct timespec ms5 = { 0, 5000000 };

	for (int i = 0; i < 2 * PAIRS; i++)
		t[i] = spawn(i % 2 ? nice_one : holds, NULL);
	nanosleep(&ms5, NULL);
	over = true;
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	_exit(0);
}

int main(void)
{
	in_children(ROUNDS, one_round);
	passed("%d processes with %d nice threads and %d that hold the lock of malloc", ROUNDS, PAIRS, PAIRS);
	return 0;
}
