/*
 * Spin locks: exclude among more threads than CPUs even when the holder gives the CPU away, trylock
 * is EBUSY, and a lock in shared memory works between processes.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 30, STEPS = 200 };

struct shared {
	pthread_spinlock_t lock;
	long count;
};

static void *work(void *arg)
{
	struct shared *sh = arg;

	for (int i = 0; i < STEPS; i++) {
		if (i % 3)
			CHECK_OK(pthread_spin_lock(&sh->lock));
		else
			while (pthread_spin_trylock(&sh->lock) == EBUSY)
				sched_yield();
		long seen = sh->count;

		/* The holder goes away now and then: those that spin must not keep it away. */
		if (i % 50 == 0)
			sched_yield();
		sh->count = seen + 1;
		CHECK_OK(pthread_spin_unlock(&sh->lock));
	}
	return NULL;
}

static void *try_it(void *arg)
{
	CHECK_EQ(pthread_spin_trylock(&((struct shared *)arg)->lock), EBUSY);
	return NULL;
}

int main(void)
{
	static struct shared own;
	pthread_t t[THREADS];
	struct shared *sh;

	CHECK_OK(pthread_spin_init(&own.lock, PTHREAD_PROCESS_PRIVATE));
	CHECK_OK(pthread_spin_lock(&own.lock));
	CHECK_EQ(pthread_spin_trylock(&own.lock), EBUSY);
	join(spawn(try_it, &own));
	CHECK_OK(pthread_spin_unlock(&own.lock));
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(work, &own);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(own.count, THREADS * STEPS);
	CHECK_OK(pthread_spin_destroy(&own.lock));
	passed("%ld steps of %d threads", own.count, THREADS);

	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	CHECK_OK(pthread_spin_init(&sh->lock, PTHREAD_PROCESS_SHARED));
	for (int p = 0; p < 3; p++) {
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			pthread_t other = spawn(work, sh);

			work(sh);
			join(other);
			_exit(0);
		}
	}
	for (int p = 0; p < 3; p++) {
		int status;

		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	CHECK_EQ(sh->count, 3 * 2 * STEPS);
	passed("%ld steps of three processes", sh->count);
	return 0;
}
