/*
 * A real-time thread that holds a mutex with a priority ceiling has the ceiling's place among those that
 * wait, whatever it waits for, and its own again when it has unlocked.  (Where the policy is refused the
 * same lines are printed.)
 */
#include "check.h"
#include <semaphore.h>

enum { LOW = 10, MIDDLE = 30, CEILING = 50 };

static pthread_mutex_t held, mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem, ready;
static int how, n, order[2];

enum { SEM, COND, MUTEX, WAYS };
static const char *const names[WAYS] = { "semaphore", "condition variable", "mutex" };

struct who {
	int priority, raised, unlocks;
};

static void note(int priority)
{
	order[__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST)] = priority;
}

static void waits(int priority)
{
	CHECK_SYS(sem_post(&ready));
	if (how == SEM) {
		while (sem_wait(&sem) == -1)
			CHECK_EQ(errno, EINTR);
		note(priority);
		return;
	}
	CHECK_OK(pthread_mutex_lock(&mutex));
	if (how == COND)
		CHECK_OK(pthread_cond_wait(&cond, &mutex));
	note(priority);
	CHECK_OK(pthread_mutex_unlock(&mutex));
}

static void *thread(void *arg)
{
	struct who *w = arg;

	if (w->raised)
		CHECK_OK(pthread_mutex_lock(&held));
	if (w->unlocks)
		CHECK_OK(pthread_mutex_unlock(&held));
	waits(w->priority);
	if (w->raised && !w->unlocks)
		CHECK_OK(pthread_mutex_unlock(&held));
	return NULL;
}

static int start(pthread_t *t, struct who *w)
{
	return spawn_fifo(t, w->priority, thread, w);
}

static void wake(void)
{
	if (how == SEM) {
		CHECK_SYS(sem_post(&sem));
	} else if (how == COND) {
		CHECK_OK(pthread_mutex_lock(&mutex));
		CHECK_OK(pthread_cond_signal(&cond));
		CHECK_OK(pthread_mutex_unlock(&mutex));
	} else {
		CHECK_OK(pthread_mutex_unlock(&mutex));
	}
}

/* Who comes first of a thread of MIDDLE and one that is raised, and perhaps lowered again; 0: refused. */
static int first(int unlocks)
{
	struct who who[2] = { { MIDDLE, 0, 0 }, { LOW, 1, unlocks } };
	pthread_t t[2];

	n = 0;
	if (how == MUTEX)
		CHECK_OK(pthread_mutex_lock(&mutex));
	for (int i = 0; i < 2; i++) {
		/* The one that is to come second waits first. */
		if (start(&t[i], &who[unlocks ? !i : i]))
			return 0;
		while (sem_wait(&ready) == -1)
			CHECK_EQ(errno, EINTR);
		let_others_block();
	}
	wake();
	while (__atomic_load_n(&n, __ATOMIC_SEQ_CST) == 0)
		usleep(1000);
	if (how != MUTEX)
		wake();
	join(t[0]);
	join(t[1]);
	return order[0];
}

int main(void)
{
	pthread_mutexattr_t a;

	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
	CHECK_OK(pthread_mutexattr_setprioceiling(&a, CEILING));
	CHECK_OK(pthread_mutex_init(&held, &a));
	CHECK_SYS(sem_init(&sem, 0, 0));
	CHECK_SYS(sem_init(&ready, 0, 0));
	for (how = 0; how < WAYS; how++) {
		int up = first(0), down = up ? first(1) : 0;

		if (up) {
			CHECK_EQ(up, LOW);
			CHECK_EQ(down, MIDDLE);
		}
		passed("%s", names[how]);
	}
	return 0;
}
