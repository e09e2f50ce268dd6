/*
 * A program with a malloc of its own, whose lock is a futex by syscall().  One thread holds the lock and sleeps;
 * meanwhile others set a niceness of their own, and wait; main and one more have done so before.  Each round is
 * a process of its own.
 */
#include "check.h"
#include "ownmalloc.h"
#include <semaphore.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { ROUNDS = 3, NICE = 12 };

static sem_t go, became, hold, over;

static void *nice_one(void *arg)
{
	CHECK_SYS(sem_wait(&go));
	CHECK_SYS(setpriority(PRIO_PROCESS, (id_t)gettid(), 5));
	CHECK_SYS(sem_post(&became));
	CHECK_SYS(sem_wait(&over));
	return arg;
}

static void *holds(void *arg)
{
	struct timespec ms600 = { 0, 600000000 };

	CHECK_SYS(sem_wait(&hold));
	heap_lock();
	for (int i = 0; i < NICE; i++)
		CHECK_SYS(sem_post(&go));
	nanosleep(&ms600, NULL);
	heap_unlock();
	return arg;
}

static void one_round(void)
{
	pthread_t t[NICE], h;

	CHECK_SYS(sem_init(&go, 0, 0));
	CHECK_SYS(sem_init(&became, 0, 0));
	CHECK_SYS(sem_init(&hold, 0, 0));
	CHECK_SYS(sem_init(&over, 0, 0));
	for (int i = 0; i < NICE; i++)
		t[i] = spawn(nice_one, NULL);
	CHECK_SYS(sem_post(&go));
	CHECK_SYS(sem_wait(&became));
	h = spawn(holds, NULL);
	CHECK_SYS(setpriority(PRIO_PROCESS, (id_t)gettid(), 5));
	CHECK_SYS(sem_post(&hold));
	CHECK(!join(h));
	for (int i = 0; i < NICE; i++)
		CHECK_SYS(sem_post(&over));
	for (int i = 0; i < NICE; i++)
		CHECK(!join(t[i]));
	_exit(0);
}

int main(void)
{
	in_children(ROUNDS, one_round);
	passed("threads become nice while another holds the lock of malloc");
	return 0;
}
