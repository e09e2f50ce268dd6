/*
 * Process-shared objects remember their owner. The owner in another process must never be taken for
 * oneself, though it may have the same place in its process: a recursive mutex must not be entered
 * by the other process, an errorcheck mutex must not say EDEADLK to it nor be unlocked by it, a
 * write lock must be waited for.  Both sides are tried in main threads and in the n-th thread of
 * each process.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
	pthread_mutex_t mu[3];
	pthread_rwlock_t rw;
	pthread_barrier_t bar;
	int inside;
};

static struct shared *sh;

static void *owner(void *arg)
{
	for (int i = 0; i < 3; i++)
		CHECK_OK(pthread_mutex_lock(&sh->mu[i]));
	CHECK_OK(pthread_rwlock_wrlock(&sh->rw));
	sh->inside = 1;
	pthread_barrier_wait(&sh->bar); /* held: the other tries now */
	pthread_barrier_wait(&sh->bar); /* it has tried */
	let_others_block();
	sh->inside = 0;
	CHECK_OK(pthread_rwlock_unlock(&sh->rw));
	for (int i = 2; i >= 0; i--)
		CHECK_OK(pthread_mutex_unlock(&sh->mu[i]));
	return arg;
}

static void *other(void *arg)
{
	pthread_barrier_wait(&sh->bar);
	for (int i = 0; i < 3; i++) {
		struct timespec ts = after_ms(CLOCK_REALTIME, 10);

		CHECK_EQ(pthread_mutex_trylock(&sh->mu[i]), EBUSY);
		CHECK_EQ(pthread_mutex_timedlock(&sh->mu[i], &ts), ETIMEDOUT);
	}
	CHECK_EQ(pthread_mutex_unlock(&sh->mu[1]), EPERM);
	CHECK_EQ(pthread_mutex_unlock(&sh->mu[2]), EPERM);

	struct timespec ts = after_ms(CLOCK_REALTIME, 10);

	CHECK_EQ(pthread_rwlock_tryrdlock(&sh->rw), EBUSY);
	CHECK_EQ(pthread_rwlock_timedwrlock(&sh->rw, &ts), ETIMEDOUT);
	ts = after_ms(CLOCK_REALTIME, 10);
	CHECK_EQ(pthread_rwlock_timedrdlock(&sh->rw, &ts), ETIMEDOUT);
	pthread_barrier_wait(&sh->bar);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(pthread_mutex_lock(&sh->mu[i]));
		CHECK_EQ(sh->inside, 0);
		CHECK_OK(pthread_mutex_unlock(&sh->mu[i]));
	}
	CHECK_OK(pthread_rwlock_wrlock(&sh->rw));
	CHECK_EQ(sh->inside, 0);
	CHECK_OK(pthread_rwlock_unlock(&sh->rw));
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

/* In the n-th thread of the process, or in main for 0. */
static void run_in(int n, void *(*fn)(void *))
{
	if (n == 0) {
		fn(NULL);
		return;
	}
	for (int i = 1; i < n; i++)
		join(spawn(nothing, NULL));
	join(spawn(fn, NULL));
}

int main(void)
{
	static const int kinds[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
				     PTHREAD_MUTEX_ERRORCHECK };
	pthread_mutexattr_t ma;
	pthread_rwlockattr_t ra;
	pthread_barrierattr_t ba;

	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	CHECK_OK(pthread_mutexattr_init(&ma));
	CHECK_OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
	for (int i = 0; i < 3; i++) {
		CHECK_OK(pthread_mutexattr_settype(&ma, kinds[i]));
		CHECK_OK(pthread_mutex_init(&sh->mu[i], &ma));
	}
	CHECK_OK(pthread_rwlockattr_init(&ra));
	CHECK_OK(pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_rwlock_init(&sh->rw, &ra));
	CHECK_OK(pthread_barrierattr_init(&ba));
	CHECK_OK(pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_barrier_init(&sh->bar, &ba, 2));

	for (int n = 0; n < 4; n++) {
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			run_in(n, other);
			_exit(0);
		}
		/* The children are siblings of each other too: the owner side is a child as well.
		 */
		pid_t holder;

		CHECK_SYS(holder = fork());
		if (holder == 0) {
			run_in(n, owner);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		CHECK_EQ(waitpid(holder, &status, 0), holder);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		passed("thread %d of two processes", n);
	}
	return 0;
}
