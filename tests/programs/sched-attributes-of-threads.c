/*
 * Scheduling calls that programs make: affinity (got, set, inherited by new threads, obeyed),
 * sched_getcpu within it, policy and priority values, nice, sched_yield's result.
 */
#include "check.h"
#include <sys/resource.h>
#include <sys/wait.h>

static cpu_set_t all;
static int first = -1;

static void *checks_inherited(void *arg)
{
	cpu_set_t now;

	CHECK_OK(pthread_getaffinity_np(pthread_self(), sizeof now, &now));
	CHECK_EQ(CPU_COUNT(&now), 1);
	CHECK(CPU_ISSET(first, &now));
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(sched_getcpu(), first);
		sched_yield();
	}
	return arg;
}

static void *pins_itself(void *arg)
{
	cpu_set_t one, now;

	CPU_ZERO(&one);
	CPU_SET(first, &one);
	CHECK_OK(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
	CHECK_SYS(sched_getaffinity(0, sizeof now, &now));
	CHECK(CPU_EQUAL(&now, &one));
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(sched_getcpu(), first);
		if (i % 5 == 0)
			CHECK_SYS(usleep(100));
		else
			sched_yield();
	}
	join(spawn(checks_inherited, NULL));
	CHECK_OK(pthread_setaffinity_np(pthread_self(), sizeof all, &all));
	CHECK_SYS(sched_getaffinity(0, sizeof now, &now));
	CHECK(CPU_EQUAL(&now, &all));
	return arg;
}

static void *free_one(void *arg)
{
	cpu_set_t now;
	struct sched_param sp;
	int policy;

	/* Nothing of the pinned threads' choices may show here. */
	CHECK_OK(pthread_getaffinity_np(pthread_self(), sizeof now, &now));
	CHECK(CPU_EQUAL(&now, &all));
	CHECK(CPU_ISSET(sched_getcpu(), &all));
	CHECK_OK(pthread_getschedparam(pthread_self(), &policy, &sp));
	CHECK_EQ(policy, SCHED_OTHER);
	CHECK_EQ(sp.sched_priority, 0);
	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &sp));
	sp.sched_priority = 5;
	CHECK_EQ(pthread_setschedparam(pthread_self(), SCHED_OTHER, &sp), EINVAL);
	CHECK_EQ(pthread_setschedparam(pthread_self(), 4711, &sp), EINVAL);
	CHECK_SYS(sched_yield());
	return arg;
}

static void *outside(void *arg)
{
	pthread_barrier_wait(arg);
	pthread_barrier_wait(arg);
	CHECK_EQ(sched_getcpu(), first);
	return arg;
}

/* The child of a fork goes on with what the thread had, and may sleep and make threads. */
static void *forks(void *arg)
{
	cpu_set_t one, now;
	int status;
	pid_t child;

	CPU_ZERO(&one);
	CPU_SET(first, &one);
	CHECK_OK(pthread_setaffinity_np(pthread_self(), sizeof one, &one));
	CHECK_SYS(child = fork());
	if (child == 0) {
		CHECK_SYS(usleep(1000));
		CHECK_SYS(sched_getaffinity(0, sizeof now, &now));
		CHECK(CPU_EQUAL(&now, &one));
		join(spawn(checks_inherited, NULL));
		_exit(0);
	}
	CHECK_SYS(waitpid(child, &status, 0));
	CHECK_EQ(status, 0);
	return arg;
}

int main(void)
{
	pthread_barrier_t bar;
	pthread_t t[20];
	cpu_set_t one, now;

	CHECK_SYS(sched_getaffinity(0, sizeof all, &all));
	for (int i = CPU_SETSIZE - 1; i >= 0; i--)
		if (CPU_ISSET(i, &all))
			first = i; /* the lowest that is allowed */
	for (int i = 0; i < 20; i++)
		t[i] = spawn(i % 4 == 0 ? pins_itself : free_one, NULL);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	passed("pinned and free threads side by side");

	CHECK_OK(pthread_barrier_init(&bar, NULL, 2));
	t[0] = spawn(outside, &bar);
	pthread_barrier_wait(&bar);
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	CHECK_OK(pthread_setaffinity_np(t[0], sizeof one, &one));
	CHECK_OK(pthread_getaffinity_np(t[0], sizeof now, &now));
	CHECK(CPU_EQUAL(&now, &one));
	pthread_barrier_wait(&bar);
	join(t[0]);
	passed("pinned from outside");

	join(spawn(forks, NULL));
	passed("a pinned thread forks");

	pthread_attr_t attr;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setaffinity_np(&attr, sizeof one, &one));
	CHECK_OK(pthread_create(&t[0], &attr, checks_inherited, NULL));
	join(t[0]);
	passed("pinned by attribute");
	CPU_ZERO(&one);
	CHECK_EQ(pthread_setaffinity_np(pthread_self(), sizeof one, &one), EINVAL);
	errno = 0;
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), 0);
	CHECK_EQ(errno, 0);
	passed("an empty set is refused");
	return 0;
}
