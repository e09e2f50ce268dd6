/*
 * The errors of join: oneself (EDEADLK), a detached thread (EINVAL); and what a third party sees
 * while somebody is joining.  (A second joiner and two threads that join each other are not tried:
 * glibc's own check for them compares the wrong way round since 2.34 and both wait for ever.)
 */
#include "check.h"
#include <semaphore.h>

static sem_t hold;

static void *held(void *arg)
{
	while (sem_wait(&hold) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

static void *join_self(void *arg)
{
	return (void *)(long)pthread_join(pthread_self(), arg);
}

static void *detached_joins_self(void *arg)
{
	CHECK_OK(pthread_detach(pthread_self()));

	int err = pthread_join(pthread_self(), NULL);

	CHECK_EQ(err, EINVAL);
	CHECK_SYS(sem_post((sem_t *)arg));
	return NULL;
}

static void *join_it(void *arg)
{
	return join(*(pthread_t *)arg);
}

int main(void)
{
	sem_t done;

	CHECK_SYS(sem_init(&hold, 0, 0));
	CHECK_SYS(sem_init(&done, 0, 0));
	CHECK_EQ(pthread_join(pthread_self(), NULL), EDEADLK);
	CHECK_EQ((long)join(spawn(join_self, NULL)), EDEADLK);
	passed("a thread cannot join itself");

	spawn(detached_joins_self, &done);
	CHECK_SYS(sem_wait(&done));
	passed("a detached thread cannot be joined, by itself neither");

	pthread_t t = spawn(held, "value");
	pthread_t joiner = spawn(join_it, &t);

	let_others_block();
	CHECK_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
	CHECK_SYS(sem_post(&hold));
	CHECK_EQ(strcmp((char *)join(joiner), "value"), 0);
	passed("tryjoin beside a waiting joiner is EBUSY, and the joiner gets the value");
	return 0;
}
