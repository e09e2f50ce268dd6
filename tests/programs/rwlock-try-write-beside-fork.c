/*
 * A thread forks while it reads locks, and another one tries to write them.  The one that tries changes nothing, so
 * in the child the locks are free once the reader has left them.
 */
#include "check.h"

#include <stdatomic.h>

enum { FORKS = 300, LOCKS = 12, MEETS = 100000, READERS = 8 };

static pthread_rwlock_t locks[LOCKS];
static pthread_barrier_t together;
static atomic_int trying, over;

/* Many readers at once: what a lock may learn about its readers it learns here. */
static void *meets(void *arg)
{
	(void)arg;
	for (int i = 0; i < MEETS * LOCKS; i++) {
		pthread_rwlock_t *rw = &locks[i / MEETS];

		if (i % MEETS == 0)
			pthread_barrier_wait(&together);
		CHECK_OK(pthread_rwlock_rdlock(rw));
		CHECK_OK(pthread_rwlock_unlock(rw));
	}
	return NULL;
}

static void *tries(void *arg)
{
	unsigned r = 1;

	(void)arg;
	while (!over) {
		if (!trying) {
			sched_yield();
			continue;
		}
		for (int i = 0; i < LOCKS; i++) {
			r = r * 1664525u + 1013904223u;
			for (volatile unsigned k = 0; k < (r >> 8) % 40000; k++)
				;
			CHECK_EQ(pthread_rwlock_trywrlock(&locks[i]), EBUSY);
		}
		trying = 0;
	}
	return NULL;
}

static int leaves_and_writes(void)
{
	for (int i = 0; i < LOCKS; i++)
		CHECK_OK(pthread_rwlock_unlock(&locks[i]));
	for (int i = 0; i < LOCKS; i++)
		if (pthread_rwlock_trywrlock(&locks[i]))
			return 1;
	return 0;
}

int main(void)
{
	pthread_t ids[READERS], id;
	int wrong = 0, status;

	for (int i = 0; i < LOCKS; i++)
		CHECK_OK(pthread_rwlock_init(&locks[i], NULL));
	CHECK_OK(pthread_barrier_init(&together, NULL, READERS));
	for (int i = 0; i < READERS; i++)
		CHECK_OK(pthread_create(&ids[i], NULL, meets, NULL));
	for (int i = 0; i < READERS; i++)
		CHECK_OK(pthread_join(ids[i], NULL));
	CHECK_OK(pthread_create(&id, NULL, tries, NULL));
	for (int n = 0; n < FORKS; n++) {
		pid_t pid;

		for (int i = 0; i < LOCKS; i++)
			CHECK_OK(pthread_rwlock_rdlock(&locks[i]));
		trying = 1;
		pid = fork();
		CHECK_SYS(pid);
		if (!pid)
			_exit(leaves_and_writes());
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		wrong += status != 0;
		while (trying)
			sched_yield();
		for (int i = 0; i < LOCKS; i++)
			CHECK_OK(pthread_rwlock_unlock(&locks[i]));
	}
	over = 1;
	CHECK_OK(pthread_join(id, NULL));
	CHECK_EQ(wrong, 0);
	passed("a child's locks are free when its thread has left them");
	return 0;
}
