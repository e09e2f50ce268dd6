/*
 * A thread with SCHED_FIFO, which is bound to one CPU, forks; in the child threads that ask for SCHED_OTHER and for all
 * CPUs have both, and those that ask for nothing have what the forking thread has.
 */
#include "check.h"
#include <sched.h>
#include <sys/syscall.h>

static cpu_set_t all;

/* As the kernel sees it, not as libc remembers it. */
static void *ordinary(void *arg)
{
	cpu_set_t now;

	CHECK_EQ(syscall(SYS_sched_getscheduler, 0), SCHED_OTHER);
	CPU_ZERO(&now);
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(now), &now) > 0);
	CHECK_EQ(CPU_COUNT(&now), CPU_COUNT(&all));
	return arg;
}

static void *inherits(void *arg)
{
	cpu_set_t now;

	CHECK_EQ(syscall(SYS_sched_getscheduler, 0), SCHED_FIFO);
	CPU_ZERO(&now);
	CHECK(syscall(SYS_sched_getaffinity, 0, sizeof(now), &now) > 0);
	CHECK_EQ(CPU_COUNT(&now), 1);
	return arg;
}

static void child(void)
{
	struct sched_param none = { 0 };
	pthread_attr_t a;
	pthread_t t[3];

	CHECK_OK(pthread_attr_init(&a));
	CHECK_OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
	CHECK_OK(pthread_attr_setschedpolicy(&a, SCHED_OTHER));
	CHECK_OK(pthread_attr_setschedparam(&a, &none));
	CHECK_OK(pthread_attr_setaffinity_np(&a, sizeof(all), &all));
	for (int i = 0; i < 2; i++)
		CHECK_OK(pthread_create(&t[i], &a, ordinary, NULL));
	t[2] = spawn(inherits, NULL);
	for (int i = 0; i < 3; i++)
		join(t[i]);
	_exit(0);
}

static void *forks(void *arg)
{
	cpu_set_t one;
	pid_t pid;
	int status;

	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	CHECK_SYS(sched_setaffinity(0, sizeof(one), &one));
	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0)
		child();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return arg;
}

int main(void)
{
	pthread_t t;
	int err;

	CPU_ZERO(&all);
	CHECK_SYS(sched_getaffinity(0, sizeof(all), &all));
	err = spawn_fifo(&t, 10, forks, NULL);
	if (err == EPERM)
		return 0;
	CHECK_OK(err);
	join(t);
	return 0;
}
