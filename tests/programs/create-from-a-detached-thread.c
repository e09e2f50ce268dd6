/*
 * Detached threads: by attribute, by pthread_detach from outside and from inside; chains of
 * detached threads that create each other; and what the functions say about a thread that cannot be
 * joined.
 */
#include "check.h"
#include <semaphore.h>

static sem_t done, hold;

static void *post(void *arg)
{
	if (arg)
		CHECK_OK(pthread_detach(pthread_self()));
	CHECK_SYS(sem_post(&done));
	return NULL;
}

static void *wait_then_post(void *arg)
{
	while (sem_wait(&hold) == -1)
		CHECK_EQ(errno, EINTR);
	return post(arg);
}

static void *chain(void *arg)
{
	long left = (long)arg;

	CHECK_OK(pthread_detach(pthread_self()));
	if (left > 0)
		spawn(chain, (void *)(left - 1));
	else
		CHECK_SYS(sem_post(&done));
	return NULL;
}

static void await(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_SYS(sem_init(&done, 0, 0));
	CHECK_SYS(sem_init(&hold, 0, 0));

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	for (int i = 0; i < 500; i++)
		CHECK_OK(pthread_create(&t, &attr, post, NULL));
	for (int i = 0; i < 500; i++)
		await(&done);
	passed("500 created detached");

	for (int i = 0; i < 500; i++)
		spawn(post, "self");
	for (int i = 0; i < 500; i++)
		await(&done);
	passed("500 detached themselves");

	t = spawn(wait_then_post, NULL);
	CHECK_OK(pthread_detach(t));
	CHECK_EQ(pthread_detach(t), EINVAL);
	CHECK_EQ(pthread_join(t, NULL), EINVAL);
	CHECK_SYS(sem_post(&hold));
	await(&done);
	passed("a live detached thread can be neither joined nor detached again");

	spawn(chain, (void *)300L);
	await(&done);
	passed("a chain of 300 detached threads, each started by the one before");
	return 0;
}
