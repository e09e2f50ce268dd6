/*
 * exit() and return from main end the process at once, however many threads are blocked in whatever
 * call; handlers run, stdio is flushed, the status is the one given.  Each case runs in a child.
 */
#include "check.h"
#include <poll.h>
#include <semaphore.h>
#include <sys/wait.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t ready;
static sem_t sem;
static int fds[2];

static void *block(void *arg)
{
	char c;

	pthread_barrier_wait(&ready);
	switch ((long)arg % 6) {
	case 0:
		pthread_mutex_lock(&mu);
		for (;;)
			pthread_cond_wait(&never, &mu);
	case 1:
		for (;;)
			sem_wait(&sem);
	case 2:
		CHECK_EQ(read(fds[0], &c, 1), 1);
		break;
	case 3:
		sleep(1000);
		break;
	case 4:
		poll(NULL, 0, -1);
		break;
	case 5:
		for (;;)
			pause();
	}
	return NULL;
}

static void *exit_here(void *arg)
{
	printf("exit from a thread\n");
	exit((int)(long)arg);
}

static void handler(void)
{
	printf("handler\n");
}

static void start_blocked(void)
{
	CHECK_OK(pthread_barrier_init(&ready, NULL, 61));
	CHECK_SYS(sem_init(&sem, 0, 0));
	CHECK_SYS(pipe(fds));
	CHECK_SYS(atexit(handler));
	for (long i = 0; i < 60; i++)
		spawn(block, (void *)i);
	pthread_barrier_wait(&ready);
	let_others_block();
}

static void child(int how)
{
	start_blocked();
	switch (how) {
	case 0:
		printf("exit from main\n");
		exit(3);
	case 1:
		spawn(exit_here, (void *)4);
		for (;;)
			pause();
	case 2:
		printf("_exit: not flushed, no handler");
		_exit(5);
	case 3:
		quick_exit(6);
	}
}

int main(void)
{
	for (int how = 0; how < 4; how++) {
		int status;
		pid_t pid;

		fflush(stdout);
		CHECK_SYS(pid = fork());
		if (pid == 0)
			child(how);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 3 + how);
		passed("status %d", 3 + how);
	}
	return 0;
}
