/*
 * child.h: what a forked child does to find out that it may use threads, and what others do
 * meanwhile in the parent.
 */
#ifndef CHILD_H
#define CHILD_H

#include "check.h"
#include <stdatomic.h>
#include <sys/wait.h>

enum { IN_CHILD = 6, TURNS = 20, OTHERS = 12, RESTS = 16 };

/* Of the parent's. */
static atomic_int stop;
static pthread_mutex_t others_mu = PTHREAD_MUTEX_INITIALIZER;

/* Of a child's threads: each finds the initial value, and no value. */
static _Thread_local long child_local = 5;
static pthread_key_t child_key;

/* The program's: something short that one in three of the others does again and again. */
static void something_short(void);

static UNUSED void *other(void *arg)
{
	for (int i = 1; !stop; i++) {
		/*
		 * Natively those that yield all the time keep a child's new threads off the CPUs, for a minute
		 * at times.
		 */
		if (i % RESTS == 0)
			usleep(100);
		switch ((long)arg % 3) {
		case 0:
			pthread_mutex_lock(&others_mu);
			sched_yield();
			pthread_mutex_unlock(&others_mu);
			break;
		case 1:
			usleep(500);
			break;
		case 2:
			something_short();
			sched_yield();
			break;
		}
	}
	return arg;
}

static UNUSED void start_others(pthread_t t[OTHERS])
{
	stop = 0;
	for (long i = 0; i < OTHERS; i++)
		t[i] = spawn(other, (void *)i);
}

static UNUSED void stop_others(pthread_t t[OTHERS])
{
	stop = 1;
	for (int i = 0; i < OTHERS; i++)
		join(t[i]);
}

static UNUSED int status_of(pid_t pid)
{
	int status;
	pid_t r;

	while ((r = waitpid(pid, &status, __WALL)) < 0 && errno == EINTR)
		;
	CHECK_EQ(r, pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* ---- in a child with memory of its own ---- */

struct room {
	pthread_mutex_t mu;
	pthread_cond_t cv;
	int turn;
	int fd[2];
};

static void *takes_turns(void *arg)
{
	static atomic_int next;
	struct room *r = arg;
	int me = next++ % IN_CHILD;

	CHECK_EQ(child_local, 5);
	CHECK(pthread_getspecific(child_key) == NULL);
	CHECK_OK(pthread_setspecific(child_key, arg));
	for (int i = 0; i < TURNS; i++) {
		char c;

		CHECK_OK(pthread_mutex_lock(&r->mu));
		while (r->turn % IN_CHILD != me)
			CHECK_OK(pthread_cond_wait(&r->cv, &r->mu));
		r->turn++;
		CHECK_OK(pthread_cond_broadcast(&r->cv));
		CHECK_OK(pthread_mutex_unlock(&r->mu));
		CHECK_EQ(read(r->fd[0], &c, 1), 1);
		CHECK_EQ(write(r->fd[1], &c, 1), 1);
	}
	usleep(100);
	return arg;
}

static UNUSED void run_threads(void)
{
	struct room r = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, {0, 0}};
	pthread_t t[IN_CHILD];

	CHECK_EQ(gettid(), getpid());
	CHECK_SYS(pipe(r.fd));
	CHECK_EQ(write(r.fd[1], "x", 1), 1);
	for (int i = 0; i < IN_CHILD; i++)
		t[i] = spawn(takes_turns, &r);
	for (int i = 0; i < IN_CHILD; i++)
		CHECK(join(t[i]) == &r);
	CHECK_EQ(r.turn, IN_CHILD * TURNS);
	CHECK_SYS(close(r.fd[0]));
	CHECK_SYS(close(r.fd[1]));
}

#endif
