/*
 * A process-shared read-write lock: three processes with four threads each read and write two
 * counters that must always be equal.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 3, THREADS = 4, STEPS = 300 };

struct shared {
	pthread_rwlock_t rw;
	long a, b;
};

static struct shared *sh;

static void *work(void *arg)
{
	for (int i = 0; i < STEPS; i++) {
		if (i % 5 == 0) {
			CHECK_OK(pthread_rwlock_wrlock(&sh->rw));
			sh->a++;
			if (i % 25 == 0)
				sched_yield();
			sh->b++;
		} else {
			CHECK_OK(pthread_rwlock_rdlock(&sh->rw));
			CHECK_EQ(sh->a, sh->b);
		}
		CHECK_OK(pthread_rwlock_unlock(&sh->rw));
	}
	return arg;
}

int main(void)
{
	pthread_rwlockattr_t attr;

	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	CHECK_OK(pthread_rwlockattr_init(&attr));
	CHECK_OK(pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_rwlock_init(&sh->rw, &attr));
	for (int p = 0; p < PROCESSES; p++) {
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			pthread_t t[THREADS];

			for (int i = 0; i < THREADS; i++)
				t[i] = spawn(work, NULL);
			for (int i = 0; i < THREADS; i++)
				join(t[i]);
			_exit(0);
		}
	}
	for (int p = 0; p < PROCESSES; p++) {
		int status;

		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	CHECK_EQ(sh->a, PROCESSES * THREADS * STEPS / 5);
	passed("%ld writes of %d processes", sh->a, PROCESSES);
	return 0;
}
