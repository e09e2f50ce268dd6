/*
 * Real-time policies and nice values belong to one thread: set by itself, by another through its
 * pthread_t or its id, inherited, taken from an attribute, refused when they are no values, and
 * gone with the thread. Needs the right to use SCHED_FIFO.
 */
#include "check.h"
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static sem_t ready, go;

static void expect(pthread_t t, int policy, int priority)
{
	struct sched_param sp;
	int now;

	CHECK_OK(pthread_getschedparam(t, &now, &sp));
	CHECK_EQ(now, policy);
	CHECK_EQ(sp.sched_priority, priority);
}

/* The thread's own view and the kernel's agree, over switches too. */
static void expect_own(int policy, int priority, int nice_value)
{
	struct sched_param sp;

	for (int i = 0; i < 5; i++) {
		expect(pthread_self(), policy, priority);
		CHECK_EQ(sched_getscheduler(0), policy);
		CHECK_EQ(syscall(SYS_sched_getscheduler, gettid()), policy);
		CHECK_SYS(sched_getparam(gettid(), &sp));
		CHECK_EQ(sp.sched_priority, priority);
		CHECK_EQ(getpriority(PRIO_PROCESS, 0), nice_value);
		CHECK_EQ(syscall(SYS_getpriority, PRIO_PROCESS, gettid()), 20 - nice_value);
		CHECK_SYS(usleep(100));
	}
}

static void *is_rr_9(void *arg)
{
	expect_own(SCHED_RR, 9, 0);
	return arg;
}

static void *is_fifo_3(void *arg)
{
	expect_own(SCHED_FIFO, 3, 0);
	return arg;
}

static void *is_nice_5(void *arg)
{
	expect_own(SCHED_OTHER, 0, 5);
	return arg;
}

static void *is_plain(void *arg)
{
	expect_own(SCHED_OTHER, 0, 0);
	return arg;
}

static void *changes_itself(void *arg)
{
	struct sched_param sp = { .sched_priority = 7 };
	pthread_attr_t attr;
	pthread_t t;

	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_RR, &sp));
	expect_own(SCHED_RR, 7, 0);
	CHECK_EQ(pthread_setschedprio(pthread_self(), 200), EINVAL);
	CHECK_OK(pthread_setschedprio(pthread_self(), 9));
	expect_own(SCHED_RR, 9, 0);
	join(spawn(is_rr_9, NULL));

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	CHECK_OK(pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
	sp.sched_priority = 3;
	CHECK_OK(pthread_attr_setschedparam(&attr, &sp));
	CHECK_OK(pthread_create(&t, &attr, is_fifo_3, NULL));
	join(t);

	sp.sched_priority = 0;
	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &sp));
	expect_own(SCHED_OTHER, 0, 0);
	CHECK_EQ(nice(5), 5);
	expect_own(SCHED_OTHER, 0, 5);
	join(spawn(is_nice_5, NULL));
	CHECK_SYS(setpriority(PRIO_PROCESS, gettid(), 0));
	expect_own(SCHED_OTHER, 0, 0);
	CHECK_EQ(nice(3), 3); /* and ends so */
	return arg;
}

static void *changed_by_others(void *arg)
{
	*(pid_t *)arg = gettid();
	CHECK_SYS(sem_post(&ready));
	CHECK_SYS(sem_wait(&go));
	expect_own(SCHED_FIFO, 4, 0);
	CHECK_SYS(sem_post(&ready));
	CHECK_SYS(sem_wait(&go));
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), 6);
	CHECK_EQ(sched_getscheduler(0), SCHED_BATCH);
	return NULL;
}

int main(void)
{
	struct sched_param sp = { .sched_priority = 1 };
	pthread_t t;
	pid_t id;

	if (sched_setscheduler(0, SCHED_FIFO, &sp)) {
		printf("SCHED_FIFO is not permitted\n");
		return 77;
	}
	sp.sched_priority = 0;
	CHECK_SYS(sched_setscheduler(0, SCHED_OTHER, &sp));
	if (getpriority(PRIO_PROCESS, 0)) {
		printf("started with a nice value\n");
		return 77;
	}
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sem_init(&go, 0, 0));
	join(spawn(changes_itself, NULL));
	for (int i = 0; i < 5; i++)
		join(spawn(is_plain, NULL));
	expect_own(SCHED_OTHER, 0, 0);
	passed("a thread changes itself, its children follow, others do not");

	t = spawn(changed_by_others, &id);
	CHECK_SYS(sem_wait(&ready));
	sp.sched_priority = 4;
	CHECK_EQ(pthread_setschedparam(t, SCHED_OTHER, &sp), EINVAL);
	CHECK_EQ(pthread_setschedparam(t, 4711, &sp), EINVAL);
	CHECK_OK(pthread_setschedparam(t, SCHED_FIFO, &sp));
	expect(t, SCHED_FIFO, 4);
	CHECK_EQ(sched_getscheduler(id), SCHED_FIFO);
	CHECK_SYS(sem_post(&go));
	CHECK_SYS(sem_wait(&ready));
	CHECK_SYS(setpriority(PRIO_PROCESS, id, 6));
	CHECK_EQ(getpriority(PRIO_PROCESS, id), 6);
	sp.sched_priority = 0;
	CHECK_SYS(sched_setscheduler(id, SCHED_BATCH, &sp));
	CHECK_EQ(sched_getscheduler(id), SCHED_BATCH);
	CHECK_SYS(sem_post(&go));
	join(t);
	expect_own(SCHED_OTHER, 0, 0);
	passed("a thread is changed by others");
	return 0;
}
