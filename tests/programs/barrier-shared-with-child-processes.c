/*
 * A process-shared barrier: three processes with two threads each go through it 200 times together.
 */
#include "check.h"
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 3, THREADS = 2, ROUNDS = 200 };

struct shared {
	pthread_barrier_t bar;
	atomic_int arrived, serial;
};

static struct shared *sh;

static void *work(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		atomic_fetch_add(&sh->arrived, 1);

		int r = pthread_barrier_wait(&sh->bar);

		CHECK(sh->arrived >= i * PROCESSES * THREADS);
		if (r == PTHREAD_BARRIER_SERIAL_THREAD)
			atomic_fetch_add(&sh->serial, 1);
		else
			CHECK_EQ(r, 0);
	}
	return arg;
}

int main(void)
{
	pthread_barrierattr_t attr;
	int shared;

	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	CHECK_OK(pthread_barrierattr_init(&attr));
	CHECK_OK(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_barrierattr_getpshared(&attr, &shared));
	CHECK_EQ(shared, PTHREAD_PROCESS_SHARED);
	CHECK_OK(pthread_barrier_init(&sh->bar, &attr, PROCESSES * THREADS));
	for (int p = 0; p < PROCESSES; p++) {
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			pthread_t t = spawn(work, NULL);

			work(NULL);
			join(t);
			_exit(0);
		}
	}
	for (int p = 0; p < PROCESSES; p++) {
		int status;

		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	CHECK_EQ(sh->serial, ROUNDS);
	passed("%d rounds of %d processes", ROUNDS, PROCESSES);
	return 0;
}
