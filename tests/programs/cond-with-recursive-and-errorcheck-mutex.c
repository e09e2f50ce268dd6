/*
 * Waiting with the other kinds of mutex: an errorcheck mutex that is not held is EPERM and nothing
 * waits; with a recursive one held once, it is wholly released while waiting and owned again
 * afterwards.
 */
#include "check.h"

static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
		       recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
		       adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static int flag;

static void *waiter(void *arg)
{
	pthread_mutex_t *mu = arg;

	CHECK_OK(pthread_mutex_lock(mu));
	while (!flag)
		CHECK_OK(pthread_cond_wait(&cv, mu));
	flag--;
	if (mu == &errorcheck)
		CHECK_EQ(pthread_mutex_lock(mu), EDEADLK);
	if (mu == &recursive) {
		CHECK_OK(pthread_mutex_lock(mu));
		CHECK_OK(pthread_mutex_unlock(mu));
	}
	CHECK_OK(pthread_mutex_unlock(mu));
	if (mu != &adaptive)
		CHECK_EQ(pthread_mutex_unlock(mu), EPERM);
	return NULL;
}

static void with(pthread_mutex_t *mu, const char *name)
{
	pthread_t t[20];

	flag = 0;
	for (int i = 0; i < 20; i++)
		t[i] = spawn(waiter, mu);
	let_others_block();
	for (int i = 0; i < 20; i++) {
		CHECK_OK(pthread_mutex_lock(mu));
		flag++;
		CHECK_OK(i % 2 ? pthread_cond_signal(&cv) : pthread_cond_broadcast(&cv));
		CHECK_OK(pthread_mutex_unlock(mu));
	}
	for (int i = 0; i < 20; i++)
		join(t[i]);
	CHECK_EQ(flag, 0);
	passed("%s", name);
}

int main(void)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 30000);

	CHECK_EQ(pthread_cond_wait(&cv, &errorcheck), EPERM);
	CHECK_EQ(pthread_cond_timedwait(&cv, &errorcheck, &ts), EPERM);
	passed("a wait without the mutex is EPERM");
	with(&errorcheck, "errorcheck");
	with(&recursive, "recursive");
	with(&adaptive, "adaptive");
	return 0;
}
