/*
 * setpriority(PRIO_PGRP) sets the nice value of all threads of the processes in the group: asked for by id, asked for
 * by the thread itself, of one that had set its own, and of one that is made afterwards.
 */
#include "check.h"
#include <sys/resource.h>
#include <sys/syscall.h>

enum { OTHERS = 3, FIRST = 7, SECOND = 9, OWN = 11 };

static _Atomic pid_t ids[OTHERS];
static _Atomic int turn;

static void *waits(void *arg)
{
	long i = (long)arg;

	if (i == 1)
		CHECK_SYS(setpriority(PRIO_PROCESS, 0, 2));
	ids[i] = gettid();
	while (turn < 1)
		usleep(1000);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), FIRST);
	if (i == 2)
		CHECK_SYS(setpriority(PRIO_PROCESS, 0, OWN));
	ids[i] = 0;
	while (turn < 2)
		usleep(1000);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), i == 2 ? OWN : FIRST);
	ids[i] = gettid();
	while (turn < 3)
		usleep(1000);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), SECOND);
	return NULL;
}

static void *asks(void *arg)
{
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), *(int *)arg);
	return NULL;
}

static void all_have(int value)
{
	for (int i = 0; i < OTHERS; i++)
		CHECK_EQ(getpriority(PRIO_PROCESS, (id_t)ids[i]), value);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), value);
	CHECK_EQ(getpriority(PRIO_PROCESS, (id_t)getpid()), value);
	join(spawn(asks, &value));
}

static void await_ids(int there)
{
	for (int i = 0; i < OTHERS; i++)
		while (!ids[i] == there)
			usleep(1000);
}

int main(void)
{
	pthread_t t[OTHERS];

	CHECK_SYS(setpgid(0, 0));
	for (long i = 0; i < OTHERS; i++)
		t[i] = spawn(waits, (void *)i);
	await_ids(1);
	CHECK_SYS(setpriority(PRIO_PGRP, 0, FIRST));
	all_have(FIRST);
	passed("by the function");
	turn = 1;
	await_ids(0);
	turn = 2;
	await_ids(1);
	CHECK_EQ(getpriority(PRIO_PROCESS, (id_t)ids[2]), OWN);
	CHECK_EQ(getpriority(PRIO_PROCESS, (id_t)ids[0]), FIRST);
	passed("one may differ again");
	CHECK_SYS(setpriority(PRIO_PROCESS, (id_t)ids[2], SECOND));
	CHECK_SYS(syscall(SYS_setpriority, PRIO_PGRP, getpid(), SECOND));
	all_have(SECOND);
	passed("by number");
	turn = 3;
	for (int i = 0; i < OTHERS; i++)
		join(t[i]);
	return 0;
}
