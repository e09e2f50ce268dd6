/*
 * A process-shared mutex in shared memory, contended by four processes with several threads each;
 * and a robust one whose owner process dies.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 4, THREADS = 4, STEPS = 500 };

struct shared {
	pthread_mutex_t mu, robust;
	long count;
};

static struct shared *sh;

static void *work(void *arg)
{
	for (int i = 0; i < STEPS; i++) {
		CHECK_OK(pthread_mutex_lock(&sh->mu));
		long seen = sh->count;

		if (i % 32 == 0)
			sched_yield();
		sh->count = seen + 1;
		CHECK_OK(pthread_mutex_unlock(&sh->mu));
	}
	return arg;
}

static void child_process(int n)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(work, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	_exit(n);
}

static void *lock_and_exit(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&sh->robust));
	_exit((int)(long)arg);
}

static void reap(pid_t pid, int want)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), want);
}

int main(void)
{
	pthread_mutexattr_t attr;
	pid_t pid[PROCESSES];

	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	CHECK_OK(pthread_mutexattr_init(&attr));
	CHECK_OK(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_mutex_init(&sh->mu, &attr));
	CHECK_OK(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	CHECK_OK(pthread_mutex_init(&sh->robust, &attr));

	for (int i = 0; i < PROCESSES; i++) {
		CHECK_SYS(pid[i] = fork());
		if (pid[i] == 0)
			child_process(i);
	}
	for (int i = 0; i < PROCESSES; i++)
		reap(pid[i], i);
	CHECK_EQ(sh->count, PROCESSES * THREADS * STEPS);
	passed("%ld steps of %d processes", sh->count, PROCESSES);

	for (int how = 0; how < 2; how++) {
		CHECK_SYS(pid[0] = fork());
		if (pid[0] == 0) {
			if (how)
				lock_and_exit((void *)5L);
			spawn(lock_and_exit, (void *)5L);
			for (;;)
				pause();
		}
		reap(pid[0], 5);
		CHECK_EQ(pthread_mutex_lock(&sh->robust), EOWNERDEAD);
		CHECK_OK(pthread_mutex_consistent(&sh->robust));
		CHECK_OK(pthread_mutex_unlock(&sh->robust));
	}
	passed("a process died holding: its parent was told");
	return 0;
}
