/*
 * Mutex, condition, barrier, rwlock, join and once waits never return EINTR: handlers run on the
 * waiting threads, again and again, and the waits go on.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

enum { KINDS = 5 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t bar;
static pthread_t joined;
static sem_t hold, ready;
static atomic_int handled[KINDS];
static _Thread_local int kind;
static int flag;

static void handler(int sig)
{
	(void)sig;
	handled[kind]++;
}

static void *lives(void *arg)
{
	kind = KINDS - 1;
	while (sem_wait(&hold) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

static void *waits(void *arg)
{
	kind = (int)(long)arg;
	CHECK_SYS(sem_post(&ready));
	switch (kind) {
	case 0:
		CHECK_OK(pthread_mutex_lock(&held));
		CHECK_OK(pthread_mutex_unlock(&held));
		break;
	case 1:
		CHECK_OK(pthread_mutex_lock(&mu));
		while (!flag)
			CHECK_OK(pthread_cond_wait(&cv, &mu));
		CHECK_OK(pthread_mutex_unlock(&mu));
		break;
	case 2:
		CHECK_OK(pthread_rwlock_wrlock(&rw));
		CHECK_OK(pthread_rwlock_unlock(&rw));
		break;
	case 3:
		CHECK(pthread_barrier_wait(&bar) <= 0);
		break;
	case 4:
		CHECK_OK(pthread_join(joined, NULL));
		break;
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t t[KINDS];

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sem_init(&hold, 0, 0));
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_OK(pthread_barrier_init(&bar, NULL, 2));
	CHECK_OK(pthread_mutex_lock(&held));
	CHECK_OK(pthread_rwlock_rdlock(&rw));
	joined = spawn(lives, NULL);
	for (long i = 0; i < KINDS; i++)
		t[i] = spawn(waits, (void *)i);
	for (int i = 0; i < KINDS; i++)
		CHECK_SYS(sem_wait(&ready));
	let_others_block();
	for (int n = 1; n <= 20; n++)
		for (int i = 0; i < KINDS; i++) {
			CHECK_OK(pthread_kill(t[i], SIGUSR1));
			while (handled[i] < n)
				sched_yield();
		}
	for (int i = 0; i < KINDS; i++)
		CHECK_EQ(pthread_tryjoin_np(t[i], NULL), EBUSY);
	passed("20 signals each, nobody stopped waiting");

	CHECK_OK(pthread_mutex_unlock(&held));
	CHECK_OK(pthread_mutex_lock(&mu));
	flag = 1;
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_OK(pthread_rwlock_unlock(&rw));
	CHECK(pthread_barrier_wait(&bar) <= 0);
	CHECK_SYS(sem_post(&hold));
	for (int i = 0; i < KINDS; i++)
		join(t[i]);
	passed("mutex, condition, rwlock, barrier and join then went through");
	return 0;
}
