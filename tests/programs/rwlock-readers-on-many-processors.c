/*
 * Many threads that read a lock at once, and writers in between: a reader sees what writers left, and no
 * reader is inside with a writer, however a reader came in (try, timed, recursive) and wherever it ran when it
 * left.  Memory of a destroyed lock is a new lock, also in a place where readers were.  A child of fork
 * leaves the lock that the forking thread held, and its writers get it.
 */
#include "check.h"

enum { THREADS = 8, ROUNDS = 10000, LOCKS = 3 };

static struct guarded {
	pthread_rwlock_t rw;
	volatile long a, b; /* equal but to a writer */
	volatile int writing;
} things[LOCKS];

static int recursive = 1;

static int kind_of(unsigned r)
{
	return r % 500;
}

static void look(struct guarded *t, int linger)
{
	long a = t->a;

	CHECK_EQ(t->writing, 0);
	if (linger)
		sched_yield();
	CHECK_EQ(t->b, a);
	CHECK_EQ(t->writing, 0);
}

static struct timespec in_an_hour(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 3600;
	return ts;
}

static void change(struct guarded *t, int linger)
{
	CHECK_EQ(t->writing, 0);
	t->writing = 1;
	t->a++;
	if (linger)
		sched_yield();
	t->b++;
	t->writing = 0;
}

static long round_of(struct guarded *t, unsigned r)
{
	struct timespec ts = in_an_hour();
	int k = kind_of(r), linger = (r / 500) % 16 == 0;
	long writes = 0;

	if (k == 0 || k == 1) {
		CHECK_OK(k ? pthread_rwlock_wrlock(&t->rw) : pthread_rwlock_timedwrlock(&t->rw, &ts));
		change(t, linger);
		writes = 1;
	} else if (k == 2) {
		if (pthread_rwlock_trywrlock(&t->rw))
			return 0;
		change(t, linger);
		writes = 1;
	} else if (k < 20) {
		if (pthread_rwlock_tryrdlock(&t->rw))
			return 0;
		look(t, linger);
	} else {
		CHECK_OK(k < 50 ? pthread_rwlock_timedrdlock(&t->rw, &ts) : pthread_rwlock_rdlock(&t->rw));
		look(t, linger);
		if (k < 100 && recursive) {
			CHECK_OK(pthread_rwlock_rdlock(&t->rw));
			look(t, linger);
			CHECK_OK(pthread_rwlock_unlock(&t->rw));
			look(t, 0);
		}
	}
	CHECK_OK(pthread_rwlock_unlock(&t->rw));
	return writes;
}

/* Many readers that do nothing else: what a lock may learn about its readers it learns here. */
static void meet(struct guarded *t)
{
	for (int i = 0; i < 20000; i++) {
		CHECK_OK(pthread_rwlock_rdlock(&t->rw));
		CHECK_EQ(t->writing, 0);
		CHECK_OK(pthread_rwlock_unlock(&t->rw));
	}
}

static void *worker(void *arg)
{
	unsigned r = (unsigned)(size_t)arg * 7919u + 1;
	long *writes = calloc(LOCKS, sizeof *writes);

	CHECK(writes != NULL);
	for (int i = 0; i < LOCKS * ROUNDS; i++) {
		if (i % 4000 == 0)
			meet(&things[i / 4000 % LOCKS]);
		r = r * 1664525u + 1013904223u;
		writes[i % LOCKS] += round_of(&things[i % LOCKS], r >> 8);
	}
	return writes;
}

static void storm(const char *name, int kind)
{
	pthread_t ids[THREADS];
	long sum[LOCKS] = {0};
	pthread_rwlockattr_t attr;

	CHECK_OK(pthread_rwlockattr_init(&attr));
	CHECK_OK(pthread_rwlockattr_setkind_np(&attr, kind));
	for (int i = 0; i < LOCKS; i++) {
		things[i].a = things[i].b = 0;
		CHECK_OK(pthread_rwlock_init(&things[i].rw, &attr));
	}
	for (size_t i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&ids[i], NULL, worker, (void *)i));
	for (size_t i = 0; i < THREADS; i++) {
		void *writes;

		CHECK_OK(pthread_join(ids[i], &writes));
		for (int k = 0; k < LOCKS; k++)
			sum[k] += ((long *)writes)[k];
		free(writes);
	}
	for (int i = 0; i < LOCKS; i++) {
		CHECK_EQ(things[i].a, sum[i]);
		CHECK_EQ(things[i].b, sum[i]);
		CHECK_OK(pthread_rwlock_trywrlock(&things[i].rw));
		CHECK_EQ(pthread_rwlock_tryrdlock(&things[i].rw), EBUSY);
		CHECK_EQ(pthread_rwlock_rdlock(&things[i].rw), EDEADLK);
		CHECK_OK(pthread_rwlock_unlock(&things[i].rw));
		CHECK_OK(pthread_rwlock_destroy(&things[i].rw));
	}
	passed("%s: readers and writers keep each other out", name);
}

static pthread_barrier_t inside;

/* Leaves the lock held: nobody may, but memory that is filled anew knows nothing of it. */
static void *stays_inside(void *arg)
{
	for (int i = 0; i < 5; i++)
		meet(&things[0]);
	CHECK_OK(pthread_rwlock_rdlock(arg));
	pthread_barrier_wait(&inside);
	return NULL;
}

static void new_lock_at_the_same_place(void)
{
	pthread_rwlock_t *rw = &things[0].rw, fresh = PTHREAD_RWLOCK_INITIALIZER;

	for (int round = 0; round < 3; round++) {
		pthread_t ids[THREADS];
		long writes = 0;

		*rw = fresh;
		CHECK_OK(pthread_barrier_init(&inside, NULL, THREADS + 1));
		for (int i = 0; i < THREADS; i++)
			CHECK_OK(pthread_create(&ids[i], NULL, stays_inside, rw));
		pthread_barrier_wait(&inside);
		CHECK_EQ(pthread_rwlock_trywrlock(rw), EBUSY);
		for (int i = 0; i < THREADS; i++)
			CHECK_OK(pthread_join(ids[i], NULL));
		*rw = fresh;
		things[0].a = things[0].b = 0;
		for (size_t i = 0; i < THREADS; i++)
			CHECK_OK(pthread_create(&ids[i], NULL, worker, (void *)i));
		for (int i = 0; i < THREADS; i++) {
			void *w;

			CHECK_OK(pthread_join(ids[i], &w));
			writes += ((long *)w)[0];
			free(w);
		}
		CHECK_EQ(things[0].a, writes);
		CHECK_OK(pthread_rwlock_trywrlock(rw));
		CHECK_OK(pthread_rwlock_unlock(rw));
		CHECK_OK(pthread_barrier_destroy(&inside));
	}
	passed("a lock at a place where readers never left one is free");
}

static int forked;

static void *forks(void *arg)
{
	pthread_t id;
	void *w;
	int status;
	pid_t pid;

	(void)arg;
	for (int i = 0; i < 10; i++) {
		CHECK_OK(pthread_create(&id, NULL, worker, (void *)(size_t)i));
		CHECK_OK(pthread_join(id, &w));
		free(w);
		CHECK_OK(pthread_rwlock_rdlock(&things[1].rw));
		pid = fork();
		CHECK_SYS(pid);
		if (!pid) {
			CHECK_EQ(pthread_rwlock_trywrlock(&things[1].rw), EBUSY);
			CHECK_OK(pthread_rwlock_unlock(&things[1].rw));
			CHECK_OK(pthread_rwlock_trywrlock(&things[1].rw));
			CHECK_OK(pthread_rwlock_unlock(&things[1].rw));
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		CHECK_OK(pthread_rwlock_unlock(&things[1].rw));
		forked++;
	}
	return NULL;
}

int main(void)
{
	pthread_t id;

	storm("default", PTHREAD_RWLOCK_DEFAULT_NP);
	storm("prefer writer", PTHREAD_RWLOCK_PREFER_WRITER_NP);
	recursive = 0;
	storm("prefer writer nonrecursive", PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	recursive = 1;
	for (int i = 0; i < LOCKS; i++)
		things[i].rw = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
	new_lock_at_the_same_place();
	storm("where locks were", PTHREAD_RWLOCK_DEFAULT_NP);
	for (int i = 0; i < LOCKS; i++) {
		things[i].rw = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
		things[i].a = things[i].b = 0;
	}
	CHECK_OK(pthread_create(&id, NULL, forks, NULL));
	CHECK_OK(pthread_join(id, NULL));
	CHECK_EQ(forked, 10);
	passed("a child of fork leaves what its thread held");
	return 0;
}
