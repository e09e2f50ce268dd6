/*
 * mix: threads that do everything at once, by dice, and check after each step what is theirs.
 *
 *	mix [SEED [THREADS [STEPS]]]
 *
 * Shared objects carry an invariant that only their lock protects: two counters that are equal
 * whenever nobody is inside, a ring of tokens whose sum is known, a pool of permits that never goes
 * below zero.  Each thread checks its thread-locals, errno and key after every step.  At the end
 * the sums must come out.  Prints one line, the same whatever the dice said.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

enum { PAIRS = 4, RING = 8, PERMITS = 3, PIPES = 3 };

static struct pair {
	pthread_mutex_t mu;
	unsigned long a, b;
} pairs[PAIRS];

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned long wa, wb;

/* A bounded queue: put blocks while full, get while empty. */
static pthread_mutex_t qmu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t notfull = PTHREAD_COND_INITIALIZER, notempty = PTHREAD_COND_INITIALIZER;
static unsigned ring[RING], nring, rhead;
static atomic_ulong putsum, getsum;

static sem_t permits;
static atomic_int inside;
static int pipes[PIPES][2];
static pthread_key_t key;
static atomic_ulong destroyed, children;
static __thread uint64_t mine;
static unsigned nsteps = 4000, nthreads = 24;
static uint64_t seed0 = 1;

static struct timespec in(clockid_t clock, long ns)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_nsec += ns;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

static void pair(uint64_t *s)
{
	struct pair *p = &pairs[dice(s) % PAIRS];
	struct timespec ts;
	int err;

	switch (dice(s) % 3) {
	case 0:
		err = pthread_mutex_lock(&p->mu);
		break;
	case 1:
		err = pthread_mutex_trylock(&p->mu);
		CHECK(err == 0 || err == EBUSY);
		break;
	default:
		ts = in(CLOCK_REALTIME, (long)(dice(s) % 300000));
		err = pthread_mutex_timedlock(&p->mu, &ts);
		CHECK(err == 0 || err == ETIMEDOUT);
	}
	if (err)
		return;
	CHECK(p->a == p->b);
	p->a++;
	if (dice(s) % 4 == 0)
		sched_yield();
	p->b++;
	CHECK(pthread_mutex_unlock(&p->mu) == 0);
}

static void readwrite(uint64_t *s)
{
	if (dice(s) % 3) {
		CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
		CHECK(wa == wb);
		if (dice(s) % 4 == 0)
			sched_yield();
		CHECK(wa == wb);
	} else {
		CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
		wa++;
		if (dice(s) % 4 == 0)
			sched_yield();
		wb++;
		CHECK(wa == wb);
	}
	CHECK(pthread_rwlock_unlock(&rwlock) == 0);
}

static void put(unsigned v)
{
	CHECK(pthread_mutex_lock(&qmu) == 0);
	while (nring == RING)
		CHECK(pthread_cond_wait(&notfull, &qmu) == 0);
	ring[(rhead + nring++) % RING] = v;
	CHECK(pthread_cond_signal(&notempty) == 0);
	CHECK(pthread_mutex_unlock(&qmu) == 0);
	putsum += v;
}

static void get(void)
{
	unsigned v;

	CHECK(pthread_mutex_lock(&qmu) == 0);
	while (nring == 0) {
		struct timespec ts = in(CLOCK_REALTIME, 200000);
		int err = pthread_cond_timedwait(&notempty, &qmu, &ts);

		CHECK(err == 0 || err == ETIMEDOUT);
	}
	v = ring[rhead++ % RING];
	nring--;
	rhead %= RING;
	CHECK(pthread_cond_broadcast(&notfull) == 0);
	CHECK(pthread_mutex_unlock(&qmu) == 0);
	getsum += v;
}

static void permit(uint64_t *s)
{
	if (dice(s) % 2) {
		struct timespec ts = in(CLOCK_REALTIME, (long)(dice(s) % 300000));

		if (sem_timedwait(&permits, &ts)) {
			CHECK(errno == ETIMEDOUT || errno == EINTR);
			return;
		}
	} else {
		while (sem_wait(&permits))
			CHECK(errno == EINTR);
	}
	CHECK(++inside <= PERMITS);
	if (dice(s) % 3 == 0)
		sched_yield();
	inside--;
	CHECK(sem_post(&permits) == 0);
}

/* One byte out of a pipe and back into it: it never runs dry for ever, nor full. */
static void byte(uint64_t *s)
{
	int *p = pipes[dice(s) % PIPES];
	char c;

	CHECK(read(p[0], &c, 1) == 1);
	CHECK(c >= 'a' && c <= 'd');
	CHECK(write(p[1], &c, 1) == 1);
}

static void *child(void *arg)
{
	uint64_t s = (uintptr_t)arg * 2654435761u + 1;

	mine = s;
	CHECK(pthread_setspecific(key, &children) == 0);
	for (int i = 0; i < 3; i++)
		pair(&s);
	CHECK(mine == (uintptr_t)arg * 2654435761u + 1);
	children++;
	return arg;
}

static void spawn(uint64_t *s)
{
	uintptr_t id = (uintptr_t)(dice(s) % 100000);
	void *result;
	pthread_t t;

	CHECK(pthread_create(&t, NULL, child, (void *)id) == 0);
	if (dice(s) % 4 == 0)
		sched_yield();
	CHECK(pthread_join(t, &result) == 0);
	CHECK(result == (void *)id);
}

static void nap(uint64_t *s)
{
	struct timespec ts = { 0, (long)(dice(s) % 100000) };

	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL) == 0);
}

static void *worker(void *arg)
{
	uint64_t me = (uintptr_t)arg, s = (seed0 + me) * 0x9e3779b97f4a7c15u | 1;

	mine = me;
	CHECK(pthread_setspecific(key, &mine) == 0);
	for (unsigned i = 0; i < nsteps; i++) {
		int e = (int)(dice(&s) % 1000) + 1;

		switch (dice(&s) % 8) {
		case 0:
			pair(&s);
			break;
		case 1:
			readwrite(&s);
			break;
		case 2:
			put((unsigned)dice(&s) % 1000);
			get();
			break;
		case 3:
			permit(&s);
			break;
		case 4:
			byte(&s);
			break;
		case 5:
			if (dice(&s) % 4 == 0)
				spawn(&s);
			break;
		case 6:
			nap(&s);
			break;
		case 7:
			errno = e;
			sched_yield();
			CHECK(errno == e);
			break;
		}
		CHECK(mine == me);
		CHECK(pthread_getspecific(key) == &mine);
	}
	return arg;
}

static void count_destroyed(void *value)
{
	destroyed++;
}

int main(int argc, char **argv)
{
	pthread_t *t;

	if (argc > 1)
		seed0 = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		nthreads = (unsigned)atoi(argv[2]);
	if (argc > 3)
		nsteps = (unsigned)atoi(argv[3]);
	for (int i = 0; i < PAIRS; i++)
		CHECK(pthread_mutex_init(&pairs[i].mu, NULL) == 0);
	CHECK(sem_init(&permits, 0, PERMITS) == 0);
	CHECK(pthread_key_create(&key, count_destroyed) == 0);
	for (int i = 0; i < PIPES; i++) {
		CHECK(pipe(pipes[i]) == 0);
		CHECK(write(pipes[i][1], "abcd", 4) == 4);
	}
	t = calloc(nthreads, sizeof(*t));
	for (uintptr_t i = 0; i < nthreads; i++)
		CHECK(pthread_create(&t[i], NULL, worker, (void *)(i + 1)) == 0);
	for (uintptr_t i = 0; i < nthreads; i++) {
		void *r;

		CHECK(pthread_join(t[i], &r) == 0);
		CHECK(r == (void *)(i + 1));
	}
	for (int i = 0; i < PAIRS; i++)
		CHECK(pairs[i].a == pairs[i].b);
	CHECK(wa == wb);
	CHECK(nring == 0 && putsum == getsum);
	CHECK(inside == 0);
	CHECK(destroyed == nthreads + children);
	free(t);
	printf("ok %u threads, %u steps each: every invariant held\n", nthreads, nsteps);
	return 0;
}
