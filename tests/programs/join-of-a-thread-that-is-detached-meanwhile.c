/*
 * A thread that somebody joins already may be detached all the same: that changes nothing.  The joiner gets
 * its value; one whose time ran out has not joined, and the thread is still to be joined or detached (from
 * glibc 2.43 on it is detached).
 */
#include "check.h"
#include <semaphore.h>

static sem_t go;

static void await(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

static void *detaches_itself(void *arg)
{
	await(&go);
	let_others_block();
	CHECK_OK(pthread_detach(pthread_self()));
	return arg;
}

static void *posts(void *arg)
{
	let_others_block();
	CHECK_OK(pthread_detach(*(pthread_t *)arg));
	CHECK_SYS(sem_post(&go));
	return NULL;
}

static void *waits(void *arg)
{
	await(&go);
	return arg;
}

static void by_itself(void)
{
	pthread_t t = spawn(detaches_itself, &go);

	CHECK_SYS(sem_post(&go));
	CHECK(join(t) == &go);
	passed("a thread that detaches itself while it is joined is joined");
}

static void by_another(void)
{
	pthread_t t = spawn(waits, &go), other = spawn(posts, &t);

	CHECK(join(t) == &go);
	join(other);
	passed("a thread that a third one detaches while it is joined is joined");
}

struct timed {
	pthread_t t;
	int detached;
};

static void *detaches_when_told(void *arg)
{
	struct timed *d = arg;

	let_others_block();
	d->detached = pthread_detach(d->t);
	return NULL;
}

static void in_time(void)
{
	struct timed d = { .t = spawn(waits, &go), .detached = -1 };
	pthread_t other = spawn(detaches_when_told, &d);
	struct timespec at = after_ms(CLOCK_REALTIME, 200);
	int err = pthread_timedjoin_np(d.t, NULL, &at);

	CHECK_EQ(err, ETIMEDOUT);
	join(other);
	CHECK_OK(d.detached);
	if (libc_minor() >= 43) { /* since then it is detached for good */
		CHECK_EQ(pthread_join(d.t, NULL), EINVAL);
		CHECK_EQ(pthread_detach(d.t), EINVAL);
	}
	CHECK_SYS(sem_post(&go));
	if (libc_minor() < 43)
		CHECK(join(d.t) == &go);
	passed("a timed join that was detached under its hands leaves the thread");
}

static void *ends(void *arg)
{
	return arg;
}

static void strange_times(void)
{
	struct timespec bad = { .tv_sec = time(NULL) + 100, .tv_nsec = 1000000000 };
	pthread_t t = spawn(ends, &go);
	void *value;
	int err;

	let_others_block();
	let_others_block();
	CHECK_EQ(pthread_clockjoin_np(t, &value, CLOCK_PROCESS_CPUTIME_ID, &bad), EINVAL);
	CHECK_EQ(pthread_clockjoin_np(t, &value, CLOCK_PROCESS_CPUTIME_ID, NULL), EINVAL);
	while (pthread_tryjoin_np(t, NULL) == EBUSY)
		sched_yield();
	t = spawn(ends, &go);
	let_others_block();
	/* glibc looks at them first since some release after 2.36. */
	err = pthread_clockjoin_np(t, &value, CLOCK_REALTIME, &bad);
	CHECK(err == 0 || err == EINVAL);
	CHECK(err || value == &go); /* else it counts as joined for some */
	passed("nanoseconds that are none may matter where nothing is waited for; a clock that is none does");
}

int main(void)
{
	CHECK_SYS(sem_init(&go, 0, 0));
	by_itself();
	by_another();
	in_time();
	strange_times();
	return 0;
}
