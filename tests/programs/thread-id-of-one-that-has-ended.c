/*
 * pthread_gettid_np(), since 2.42: the id that gettid() gives, also of another thread; and -1 of one that has ended and
 * is not joined yet.
 */
#include "check.h"
#include <dlfcn.h>
#include <semaphore.h>

static pid_t (*id_of)(pthread_t);
static sem_t told, asked;
static pid_t told_id;

static void *tells(void *arg)
{
	told_id = gettid();
	CHECK_EQ(id_of(pthread_self()), told_id);
	CHECK_SYS(sem_post(&told));
	while (sem_wait(&asked) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

int main(void)
{
	pthread_t t;

	*(void **)&id_of = dlsym(RTLD_DEFAULT, "pthread_gettid_np");
	if (!id_of || libc_minor() < 42) {
		puts("libc has no pthread_gettid_np before 2.42");
		return 77;
	}
	CHECK_SYS(sem_init(&told, 0, 0));
	CHECK_SYS(sem_init(&asked, 0, 0));
	CHECK_EQ(id_of(pthread_self()), getpid());
	t = spawn(tells, NULL);
	while (sem_wait(&told) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(id_of(t), told_id);
	passed("of the caller, and of another");
	CHECK_SYS(sem_post(&asked));
	while (id_of(t) != -1)
		sched_yield();
	join(t);
	passed("none of one that has ended");
	return 0;
}
