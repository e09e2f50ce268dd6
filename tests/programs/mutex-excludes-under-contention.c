/*
 * A counter that is not atomic, raised by 100 threads under each kind of mutex by lock, trylock
 * loops, timedlock and clocklock, with yields inside the critical section: not one step may be
 * lost, and never may two threads be inside.
 */
#include "check.h"

enum { THREADS = 100, STEPS = 300 };

struct shared {
	pthread_mutex_t mu;
	long count;
	int inside;
};

static void take(pthread_mutex_t *mu, int how)
{
	struct timespec ts;

	switch (how % 4) {
	case 0:
		CHECK_OK(pthread_mutex_lock(mu));
		break;
	case 1:
		while (pthread_mutex_trylock(mu) == EBUSY)
			sched_yield();
		break;
	case 2:
		ts = after_ms(CLOCK_REALTIME, 50000);
		CHECK_OK(pthread_mutex_timedlock(mu, &ts));
		break;
	case 3:
		ts = after_ms(CLOCK_MONOTONIC, 50000);
		CHECK_OK(pthread_mutex_clocklock(mu, CLOCK_MONOTONIC, &ts));
		break;
	}
}

static void *work(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < STEPS; i++) {
		take(&s->mu, i);
		CHECK_EQ(s->inside++, 0);
		long seen = s->count;

		if (i % 16 == 0)
			sched_yield();
		s->count = seen + 1;
		CHECK_EQ(--s->inside, 0);
		CHECK_OK(pthread_mutex_unlock(&s->mu));
	}
	return NULL;
}

static void contend(int kind, const char *name)
{
	struct shared s = { .count = 0, .inside = 0 };
	pthread_mutexattr_t attr;
	pthread_t t[THREADS];

	CHECK_OK(pthread_mutexattr_init(&attr));
	CHECK_OK(pthread_mutexattr_settype(&attr, kind));
	CHECK_OK(pthread_mutex_init(&s.mu, &attr));
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(work, &s);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(s.count, THREADS * STEPS);
	CHECK_OK(pthread_mutex_destroy(&s.mu));
	passed("%s: %ld steps, none lost", name, s.count);
}

int main(void)
{
	contend(PTHREAD_MUTEX_NORMAL, "normal");
	contend(PTHREAD_MUTEX_RECURSIVE, "recursive");
	contend(PTHREAD_MUTEX_ERRORCHECK, "errorcheck");
	contend(PTHREAD_MUTEX_ADAPTIVE_NP, "adaptive");
	return 0;
}
