/*
 * Names: inherited, set by oneself or by another, read back by both, at most 15 characters, and
 * prctl's view agrees.
 */
#include "check.h"
#include <semaphore.h>
#include <sys/prctl.h>

static sem_t hold, named;

static void *with_name(void *arg)
{
	char name[16], again[16];

	CHECK_OK(pthread_getname_np(pthread_self(), name, sizeof name));
	CHECK_EQ(strcmp(name, "parent"), 0);
	CHECK_OK(pthread_setname_np(pthread_self(), arg));
	CHECK_OK(pthread_getname_np(pthread_self(), name, sizeof name));
	CHECK_EQ(strcmp(name, arg), 0);
	for (int i = 0; i < 20; i++)
		sched_yield();
	CHECK_SYS(prctl(PR_GET_NAME, again));
	CHECK_EQ(strcmp(again, arg), 0);
	CHECK_SYS(sem_post(&named));
	CHECK_SYS(sem_wait(&hold));
	/* The main thread has renamed this one meanwhile. */
	CHECK_SYS(prctl(PR_GET_NAME, again));
	CHECK_EQ(strcmp(again, "from outside"), 0);
	CHECK_SYS(prctl(PR_SET_NAME, "by prctl"));
	CHECK_OK(pthread_getname_np(pthread_self(), name, sizeof name));
	CHECK_EQ(strcmp(name, "by prctl"), 0);
	return arg;
}

int main(void)
{
	static char names[10][16];
	pthread_t t[10];
	char name[16];

	CHECK_SYS(sem_init(&hold, 0, 0));
	CHECK_SYS(sem_init(&named, 0, 0));
	CHECK_OK(pthread_setname_np(pthread_self(), "parent"));
	for (int i = 0; i < 10; i++) {
		snprintf(names[i], sizeof names[i], "thread %d", i);
		t[i] = spawn(with_name, names[i]);
	}
	for (int i = 0; i < 10; i++)
		CHECK_SYS(sem_wait(&named));
	for (int i = 0; i < 10; i++) {
		CHECK_OK(pthread_getname_np(t[i], name, sizeof name));
		CHECK_EQ(strcmp(name, names[i]), 0);
		CHECK_OK(pthread_setname_np(t[i], "from outside"));
	}
	passed("names set inside, seen outside");
	CHECK_EQ(pthread_setname_np(t[0], "sixteen letters!"), ERANGE);
	CHECK_EQ(pthread_getname_np(t[0], name, 15), ERANGE);
	passed("sixteen characters and a short buffer are ERANGE");
	for (int i = 0; i < 10; i++)
		CHECK_SYS(sem_post(&hold));
	for (int i = 0; i < 10; i++)
		join(t[i]);
	CHECK_OK(pthread_getname_np(pthread_self(), name, sizeof name));
	CHECK_EQ(strcmp(name, "parent"), 0);
	passed("names set outside, seen inside; main kept its own");
	return 0;
}
