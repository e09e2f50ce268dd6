/*
 * knots SEED: threads that wait for each other as a random number says, and what is to be told of them.
 *
 * Each of 2 to 9 threads takes some locks, of a random kind each, while nobody else runs; then all wait for one thing:
 * a lock of another's or its own, the end of another thread, with or without a time-out, a semaphore, time.  So who
 * waits for whom is known before.  On standard output: a line "circle NAME..." for each circle that nothing can end,
 * in the order of names, a line "waits NAME HOLDER" for each that waits for a lock, then "ready".  A line "over NAME"
 * is a mistake of this program's.  It waits until it is killed.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 9, LOCKS = 18 };
enum kind { NORMAL, RECURSIVE, ERRORCHECK, INHERIT, ROBUST, RWLOCK, KINDS };
enum wish { LOCK, LOCK_TIMED, JOIN, SEM, TIME };

struct lock {
	enum kind kind;
	pthread_mutex_t mu;
	pthread_rwlock_t rw;
	int holder;                  /* -1: nobody */
};

static struct lock lock[LOCKS];
static struct member {
	pthread_t t;
	enum wish wish;
	int want;                    /* a lock, or a thread */
	int to;                      /* whom it waits for, if nothing can end that; -1: nobody */
	int joined;
} member[MOST];
static sem_t never, go[MOST], taken;
static int n;
static unsigned long long rng;

static int any(int below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (int)((rng >> 20) % (unsigned)below);
}

static struct timespec late(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 3600;
	return ts;
}

static void make(struct lock *l)
{
	pthread_mutexattr_t a;

	l->kind = (enum kind)any(KINDS);
	l->holder = -1;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, l->kind == RECURSIVE ? PTHREAD_MUTEX_RECURSIVE :
				      l->kind == ERRORCHECK ? PTHREAD_MUTEX_ERRORCHECK : PTHREAD_MUTEX_NORMAL);
	if (l->kind == INHERIT)
		pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	if (l->kind == ROBUST)
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	if (l->kind == RWLOCK)
		pthread_rwlock_init(&l->rw, NULL);
	else
		pthread_mutex_init(&l->mu, &a);
}

static int take(struct lock *l, bool timed)
{
	struct timespec ts = late();

	if (l->kind == RWLOCK && timed)
		return pthread_rwlock_timedwrlock(&l->rw, &ts);
	if (l->kind == RWLOCK)
		return pthread_rwlock_wrlock(&l->rw);
	return timed ? pthread_mutex_timedlock(&l->mu, &ts) : pthread_mutex_lock(&l->mu);
}

/* What its holder may want of it without an answer at once. */
static bool blocks_self(const struct lock *l)
{
	return l->kind == NORMAL || l->kind == INHERIT || l->kind == ROBUST;
}

static void *runs(void *arg)
{
	int i = (int)(long)arg;
	struct member *m = &member[i];
	struct timespec ts = late();
	char name[16];

	snprintf(name, sizeof(name), "t%d", i);
	pthread_setname_np(pthread_self(), name);
	/* Else a thread that is left could end a pthread_join() by pthread_cancel(). */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	sem_wait(&go[i]);
	for (int k = 0; k < LOCKS; k++)
		if (lock[k].holder == i)
			take(&lock[k], false);
	sem_post(&taken);
	sem_wait(&go[i]);
	switch (m->wish) {
	case LOCK:
		take(&lock[m->want], false);
		break;
	case LOCK_TIMED:
		take(&lock[m->want], true);
		break;
	case JOIN:
		pthread_join(member[m->want].t, NULL);
		break;
	case SEM:
		sem_wait(&never);
		break;
	case TIME:
		clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
	}
	/* It was to wait for good. */
	printf("over t%d\n", i);
	fflush(stdout);
	for (;;)
		pause();
	return NULL;
}

/* A wish that waits, whatever the others do. */
static void wish(int i)
{
	struct member *m = &member[i];
	int r = any(8);

	m->to = -1;
	m->wish = r < 5 ? LOCK : r == 5 ? JOIN : r == 6 ? LOCK_TIMED : any(2) ? SEM : TIME;
	if (m->wish == JOIN) {
		m->want = any(n);
		if (m->want == i || member[m->want].joined)
			m->wish = SEM;
		else
			member[m->want].joined = 1;
	} else if (m->wish == LOCK || m->wish == LOCK_TIMED) {
		m->want = any(LOCKS);
		if (lock[m->want].holder < 0 ||
		    (lock[m->want].holder == i && !blocks_self(&lock[m->want])))
			m->wish = SEM;
	}
	if (m->wish == LOCK)
		m->to = lock[m->want].holder;
	else if (m->wish == JOIN)
		m->to = m->want;
}

/* Each once: from its member with the least number. */
static void tell_circles(void)
{
	for (int i = 0; i < n; i++) {
		int at = i, steps = 0, in[MOST] = { 0 };

		do {
			in[at] = 1;
			at = member[at].to;
		} while (at > i && ++steps < n);
		if (at != i)
			continue;
		printf("circle");
		for (int k = 0; k < n; k++)
			if (in[k])
				printf(" t%d", k);
		printf("\n");
	}
}

/* Two that join each other: EDEADLK, natively. */
static bool joins_back(int i)
{
	return member[i].wish == JOIN && member[member[i].want].wish == JOIN && member[member[i].want].want == i;
}

int main(int argc, char **argv)
{
	rng = 0x9e3779b97f4a7c15ULL * (unsigned long long)(atoi(argc > 1 ? argv[1] : "1") + 1);
	for (int i = 0; i < 10; i++)
		any(2);
	n = 2 + any(MOST - 1);
	sem_init(&never, 0, 0);
	sem_init(&taken, 0, 0);
	for (int k = 0; k < LOCKS; k++) {
		make(&lock[k]);
		if (any(4))
			lock[k].holder = any(n);
	}
	for (int i = 0; i < n; i++)
		wish(i);
	for (int i = 0; i < n; i++)
		if (joins_back(i)) {
			member[i].wish = SEM;
			member[i].to = -1;
		}
	for (int i = 0; i < n; i++) {
		sem_init(&go[i], 0, 0);
		pthread_create(&member[i].t, NULL, runs, (void *)(long)i);
	}
	tell_circles();
	for (int i = 0; i < n; i++)
		if (member[i].wish == LOCK || member[i].wish == LOCK_TIMED)
			printf("waits t%d t%d\n", i, lock[member[i].want].holder);
	for (int i = 0; i < n; i++) {
		sem_post(&go[i]);
		sem_wait(&taken);
	}
	for (int i = 0; i < n; i++)
		sem_post(&go[i]);
	printf("ready\n");
	fflush(stdout);
	for (;;)
		sleep(1);
}
