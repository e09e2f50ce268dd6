/*
 * A thread wakes another and spins until that one has run, where the kernel grants no more threads: RLIMIT_NPROC, with
 * a user of its own.  (With three Ps or more the other waited for ever, beside an idle P for which no M could be made.)
 */
#include "check.h"
#include <stdatomic.h>
#include <sys/resource.h>

enum { ROUNDS = 20, NOBODY_ELSE = 43210, LONG_S = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;
static _Atomic int seen;

static void *follow(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&lock));
	while (atomic_load(&seen) < ROUNDS) {
		while (atomic_load(&seen) == turn)
			CHECK_OK(pthread_cond_wait(&cond, &lock));
		atomic_store(&seen, turn);
	}
	CHECK_OK(pthread_mutex_unlock(&lock));
	return arg;
}

int main(void)
{
	struct rlimit none = { 1, 1 };
	pthread_t t;

	if (geteuid() == 0)
		CHECK_EQ(setresuid(NOBODY_ELSE, NOBODY_ELSE, NOBODY_ELSE), 0);
	t = spawn(follow, NULL);
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &none), 0);
	for (int i = 1; i <= ROUNDS; i++) {
		time_t until = time(NULL) + LONG_S;

		CHECK_OK(pthread_mutex_lock(&lock));
		turn = i;
		CHECK_OK(pthread_cond_signal(&cond));
		CHECK_OK(pthread_mutex_unlock(&lock));
		while (atomic_load(&seen) != i)
			CHECK(time(NULL) < until);
	}
	CHECK_OK(pthread_join(t, NULL));
	printf("done\n");
	return 0;
}
