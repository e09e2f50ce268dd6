/*
 * A program with a malloc of its own, whose lock is a futex by syscall() and is held across fork, as
 * several allocators do it.  Each round is a process of its own: one thread waits for a descriptor, others
 * are ready to run, and the forking thread gives its CPU away while it holds the lock.  New kernel threads
 * need that lock too, so nothing may wait for one in order to let the holder go on.
 */
#include "check.h"
#include "ownmalloc.h"
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { ROUNDS = 12, FORKS = 6, YIELDERS = 3, TOUCHED = 32 << 20 };

static atomic_bool over;
static int quiet[2];

/* The lock is given back after others had a turn, which each of these may take. */
static void pause_a_little(void)
{
	struct timespec us200 = { 0, 200000 };

	sched_yield();
	nanosleep(&us200, NULL);
	sched_yield();
}

static void prepare(void)
{
	heap_lock();
	pause_a_little();
}

static void parent(void)
{
	pause_a_little();
	heap_unlock();
}

static void *polls(void *arg)
{
	struct pollfd p = { .fd = quiet[0], .events = POLLIN };

	CHECK_EQ(poll(&p, 1, -1), 1);
	return arg;
}

static void *yields(void *arg)
{
	while (!over)
		sched_yield();
	return arg;
}

static void round_of_forks(void)
{
	pthread_t t[YIELDERS + 1];
	int status;

	CHECK_SYS(pipe(quiet));
	t[YIELDERS] = spawn(polls, NULL);
	for (int i = 0; i < YIELDERS; i++)
		t[i] = spawn(yields, NULL);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			_exit(i);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i);
	}
	over = true;
	CHECK_EQ(write(quiet[1], "x", 1), 1);
	for (int i = 0; i <= YIELDERS; i++)
		join(t[i]);
	_exit(0);
}

int main(void)
{
	char *big = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;

	CHECK(big != MAP_FAILED);
	memset(big, 1, TOUCHED); /* what makes a fork last */
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			CHECK_OK(pthread_atfork(prepare, parent, heap_unlock));
			round_of_forks();
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	passed("%d processes forked %d times each with the lock of malloc held", ROUNDS, FORKS);
	return 0;
}
