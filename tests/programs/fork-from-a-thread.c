/*
 * fork from a thread while 30 others are alive: in the child only the caller lives on, with its own
 * thread-locals, keys, errno and id; it can create and join threads, use every lock that was free,
 * and leaves by exit, by return from its start function, or by exec.
 */
#include "check.h"
#include <semaphore.h>
#include <sys/wait.h>

static _Thread_local long mark;
static pthread_key_t key;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static sem_t never;
static int ready, left;

static void *background(void *arg)
{
	if ((long)arg % 3 == 0)
		for (;;)
			sem_wait(&never);
	if ((long)arg % 3 == 1)
		for (;;)
			sleep(1000);
	for (;;) {
		void *volatile p = malloc(100);

		sched_yield();
		free(p);
	}
	return arg;
}

static void *grandchild(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	if (++ready == 10)
		CHECK_OK(pthread_cond_broadcast(&cv));
	while (ready < 10)
		CHECK_OK(pthread_cond_wait(&cv, &mu));
	left++;
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_EQ(mark, 0);
	CHECK(pthread_getspecific(key) == NULL);
	CHECK_SYS(usleep(100));
	return arg;
}

static void in_child(pthread_t self, long n, int how)
{
	pthread_t t[10];

	CHECK(pthread_equal(self, pthread_self()));
	CHECK_EQ(mark, n);
	CHECK(pthread_getspecific(key) == (void *)n);
	for (int round = 0; round < 3; round++) {
		ready = left = 0;
		for (long i = 0; i < 10; i++)
			t[i] = spawn(grandchild, (void *)i);
		for (long i = 0; i < 10; i++)
			CHECK_EQ((long)join(t[i]), i);
		CHECK_EQ(left, 10);
	}
	switch (how) {
	case 0:
		exit(3);
	case 1:
		_exit(4);
	case 2:
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(99);
	}
	/* The caller returns from its start function: it was the last thread, the status is 0. */
}

static void *forks(void *arg)
{
	long n = (long)arg;

	mark = n;
	CHECK_OK(pthread_setspecific(key, arg));
	for (int how = 0; how < 4; how++) {
		pthread_t self = pthread_self();
		int status;
		pid_t pid;

		fflush(stdout);
		CHECK_SYS(pid = fork());
		if (pid == 0) {
			in_child(self, n, how);
			return NULL;
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), how == 3 ? 0 : how + 3);
		CHECK_EQ(mark, n);
	}
	return arg;
}

int main(void)
{
	pthread_t t[5];

	CHECK_SYS(sem_init(&never, 0, 0));
	CHECK_OK(pthread_key_create(&key, NULL));
	for (long i = 0; i < 30; i++)
		spawn(background, (void *)i);
	for (long i = 1; i <= 3; i++)
		CHECK_EQ((long)join(spawn(forks, (void *)i)), i);
	passed("one after another from three threads");
	for (long i = 0; i < 5; i++)
		t[i] = spawn(forks, (void *)(i + 1));
	for (long i = 0; i < 5; i++)
		CHECK_EQ((long)join(t[i]), i + 1);
	passed("from five threads at once");

	forks((void *)9L);
	passed("from main");
	return 0;
}
