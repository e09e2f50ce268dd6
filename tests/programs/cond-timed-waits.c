/*
 * timedwait and clockwait with both clocks and the clock attribute: ETIMEDOUT not before the time
 * and with the mutex held, EINVAL for a time that is none, and success when the signal comes first.
 */
#include "check.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static int flag;

static void times_out(pthread_cond_t *cv, clockid_t own)
{
	struct timespec ts;
	long long began;

	CHECK_OK(pthread_mutex_lock(&mu));
	began = now_ns(own);
	ts = after_ms(own, 40);
	while (pthread_cond_timedwait(cv, &mu, &ts) == 0)
		;
	CHECK(now_ns(own) - began >= 40 * 1000000LL);
	CHECK_EQ(pthread_mutex_trylock(&mu), EBUSY);

	began = now_ns(CLOCK_MONOTONIC);
	ts = after_ms(CLOCK_MONOTONIC, 40);
	while (pthread_cond_clockwait(cv, &mu, CLOCK_MONOTONIC, &ts) == 0)
		;
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 40 * 1000000LL);
	began = now_ns(CLOCK_REALTIME);
	ts = after_ms(CLOCK_REALTIME, 40);
	while (pthread_cond_clockwait(cv, &mu, CLOCK_REALTIME, &ts) == 0)
		;
	CHECK(now_ns(CLOCK_REALTIME) - began >= 40 * 1000000LL);

	ts = after_ms(own, -1000);
	CHECK_EQ(pthread_cond_timedwait(cv, &mu, &ts), ETIMEDOUT);
	ts.tv_sec = -10;
	CHECK_EQ(pthread_cond_timedwait(cv, &mu, &ts), ETIMEDOUT);
	ts.tv_nsec = 1000000000;
	CHECK_EQ(pthread_cond_timedwait(cv, &mu, &ts), EINVAL);
	ts.tv_nsec = -1;
	CHECK_EQ(pthread_cond_timedwait(cv, &mu, &ts), EINVAL);
	CHECK_EQ(pthread_cond_clockwait(cv, &mu, CLOCK_MONOTONIC, &ts), EINVAL);
	ts.tv_nsec = 1;
	CHECK_EQ(pthread_cond_clockwait(cv, &mu, CLOCK_PROCESS_CPUTIME_ID, &ts), EINVAL);
	CHECK_EQ(pthread_mutex_trylock(&mu), EBUSY);
	CHECK_OK(pthread_mutex_unlock(&mu));
}

static void *set_flag(void *cv)
{
	let_others_block();
	CHECK_OK(pthread_mutex_lock(&mu));
	flag = 1;
	CHECK_OK(pthread_cond_signal(cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
	return NULL;
}

static void is_signalled(pthread_cond_t *cv, clockid_t own)
{
	struct timespec ts;
	pthread_t t;

	CHECK_OK(pthread_mutex_lock(&mu));
	for (int how = 0; how < 2; how++) {
		flag = 0;
		t = spawn(set_flag, cv);
		ts = after_ms(how ? CLOCK_MONOTONIC : own, 30000);
		while (!flag)
			CHECK_OK(how ? pthread_cond_clockwait(cv, &mu, CLOCK_MONOTONIC, &ts)
				     : pthread_cond_timedwait(cv, &mu, &ts));
		CHECK_OK(pthread_mutex_unlock(&mu));
		join(t);
		CHECK_OK(pthread_mutex_lock(&mu));
	}
	CHECK_OK(pthread_mutex_unlock(&mu));
}

static void try_clock(clockid_t clock, const char *name)
{
	pthread_condattr_t attr;
	pthread_cond_t cv;
	clockid_t got;

	CHECK_OK(pthread_condattr_init(&attr));
	CHECK_OK(pthread_condattr_setclock(&attr, clock));
	CHECK_OK(pthread_condattr_getclock(&attr, &got));
	CHECK_EQ(got, clock);
	CHECK_EQ(pthread_condattr_setclock(&attr, CLOCK_PROCESS_CPUTIME_ID), EINVAL);
	CHECK_OK(pthread_cond_init(&cv, &attr));
	times_out(&cv, clock);
	is_signalled(&cv, clock);
	CHECK_OK(pthread_cond_destroy(&cv));
	CHECK_OK(pthread_condattr_destroy(&attr));
	passed("%s", name);
}

int main(void)
{
	pthread_cond_t cv = PTHREAD_COND_INITIALIZER;

	times_out(&cv, CLOCK_REALTIME);
	is_signalled(&cv, CLOCK_REALTIME);
	passed("static initialiser");
	try_clock(CLOCK_REALTIME, "realtime attribute");
	try_clock(CLOCK_MONOTONIC, "monotonic attribute");
	return 0;
}
