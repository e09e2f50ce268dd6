/*
 * Process-shared mutex and condition variables: a ball goes round four processes, each with two
 * threads that wait; then all are freed by one broadcast.
 */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 4, PASSES = 400 };

struct court {
	pthread_mutex_t mu;
	pthread_cond_t turn, start;
	int holder, passes, ready, started;
};

static struct court *co;

static void *bystander(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&co->mu));
	co->ready++;
	CHECK_OK(pthread_cond_broadcast(&co->turn));
	while (!co->started)
		CHECK_OK(pthread_cond_wait(&co->start, &co->mu));
	CHECK_OK(pthread_mutex_unlock(&co->mu));
	return arg;
}

static void player(int me)
{
	pthread_t a = spawn(bystander, NULL), b = spawn(bystander, NULL);

	join(a);
	join(b);
	CHECK_OK(pthread_mutex_lock(&co->mu));
	while (co->passes < PASSES) {
		if (co->holder != me) {
			CHECK_OK(pthread_cond_wait(&co->turn, &co->mu));
			continue;
		}
		co->passes++;
		co->holder = (me + 1) % PROCESSES;
		CHECK_OK(pthread_cond_broadcast(&co->turn));
	}
	CHECK_OK(pthread_mutex_unlock(&co->mu));
	_exit(0);
}

int main(void)
{
	pthread_mutexattr_t ma;
	pthread_condattr_t ca;
	int shared;

	co = mmap(NULL, sizeof *co, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(co != MAP_FAILED);
	CHECK_OK(pthread_mutexattr_init(&ma));
	CHECK_OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_mutex_init(&co->mu, &ma));
	CHECK_OK(pthread_condattr_init(&ca));
	CHECK_OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_condattr_getpshared(&ca, &shared));
	CHECK_EQ(shared, PTHREAD_PROCESS_SHARED);
	CHECK_OK(pthread_cond_init(&co->turn, &ca));
	CHECK_OK(pthread_cond_init(&co->start, &ca));

	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0)
			player(i);
	}
	CHECK_OK(pthread_mutex_lock(&co->mu));
	while (co->ready < 2 * PROCESSES)
		CHECK_OK(pthread_cond_wait(&co->turn, &co->mu));
	co->started = 1;
	CHECK_OK(pthread_cond_broadcast(&co->start));
	CHECK_OK(pthread_mutex_unlock(&co->mu));
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	CHECK_EQ(co->passes, PASSES);
	passed("%d passes between %d processes", PASSES, PROCESSES);
	return 0;
}
