/*
 * The errors of join: oneself (EDEADLK), a detached thread (EINVAL), ended or not; and what a third
 * party sees while somebody is joining.  (A second joiner and two threads that join each other are not tried:
 * glibc's own check for them compares the wrong way round since 2.34 and both wait for ever.)
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>

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

	CHECK(err == EINVAL || err == EDEADLK); /* EDEADLK: since 2.43 */
	CHECK_SYS(sem_post((sem_t *)arg));
	return NULL;
}

static void *returns(void *arg)
{
	return arg;
}

/*
 * Nobody else makes a thread, so the id is nobody else's yet: libc says EINVAL then.  Since 2.43 it takes one that
 * has ended for one to be joined.
 */
static void ended_detached(void)
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	CHECK_OK(pthread_create(&t, &attr, returns, NULL));
	let_others_block();
	CHECK_EQ(pthread_join(t, NULL), EINVAL);
	CHECK_EQ(pthread_detach(t), EINVAL);
	CHECK_OK(pthread_attr_destroy(&attr));

	t = spawn(returns, NULL);
	let_others_block();
	CHECK_OK(pthread_detach(t));
	CHECK_EQ(pthread_join(t, NULL), EINVAL);
	CHECK_EQ(pthread_detach(t), EINVAL);

	t = spawn(returns, NULL);
	join(t);
	CHECK_EQ(pthread_join(t, NULL), ESRCH);
	CHECK_EQ(pthread_detach(t), ESRCH);
}

/* Not joined yet: what libc says of it. */
static void asked_when_ended(void)
{
	pthread_t t = spawn(returns, NULL);
	char name[16];

	while (pthread_getname_np(t, name, sizeof(name)) == 0)
		sched_yield();
	CHECK_EQ(pthread_getname_np(t, name, sizeof(name)), ENOENT);
	CHECK_EQ(pthread_setname_np(t, "x"), ENOENT);
	while (pthread_sigqueue(t, 0, (union sigval){ 0 }) == 0)
		sched_yield();
	CHECK_EQ(pthread_sigqueue(t, SIGTERM, (union sigval){ 0 }), ESRCH);
	CHECK_OK(pthread_kill(t, SIGTERM));
	join(t);
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

	asked_when_ended();
	passed("one that has ended has no name, and no signal is queued for it");

	spawn(detached_joins_self, &done);
	CHECK_SYS(sem_wait(&done));
	passed("a detached thread cannot be joined, by itself neither");

	if (libc_minor() < 43)
		ended_detached();
	passed("one that has ended detached, neither");

	pthread_t t = spawn(held, "value");
	pthread_t joiner = spawn(join_it, &t);

	let_others_block();
	CHECK_EQ(pthread_tryjoin_np(t, NULL), EBUSY);
	CHECK_SYS(sem_post(&hold));
	CHECK_EQ(strcmp((char *)join(joiner), "value"), 0);
	passed("tryjoin beside a waiting joiner is EBUSY, and the joiner gets the value");
	return 0;
}
