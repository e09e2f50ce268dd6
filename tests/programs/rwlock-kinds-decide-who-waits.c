/*
 * With a reader inside and a writer waiting, a new reader is let in by the default kind and by
 * PREFER_WRITER (which glibc treats alike, so that recursive readers cannot deadlock), and is kept
 * out by PREFER_WRITER_NONRECURSIVE until the writer has had its turn.
 */
#include "check.h"

static pthread_rwlock_t rw;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static char order[8];
static int events;

static void event(char c)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	order[events++] = c;
	CHECK_OK(pthread_mutex_unlock(&mu));
}

static void *writer(void *arg)
{
	CHECK_OK(pthread_rwlock_wrlock(&rw));
	event('W');
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

static void *late_reader(void *arg)
{
	CHECK_OK(pthread_rwlock_rdlock(&rw));
	event('R');
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

static void try_kind(int kind, const char *name, int reader_gets_in)
{
	pthread_rwlockattr_t attr;
	pthread_t w, r;
	int err;

	events = 0;
	memset(order, 0, sizeof order);
	CHECK_OK(pthread_rwlockattr_init(&attr));
	CHECK_OK(pthread_rwlockattr_setkind_np(&attr, kind));
	CHECK_OK(pthread_rwlock_init(&rw, &attr));
	CHECK_OK(pthread_rwlock_rdlock(&rw));
	w = spawn(writer, NULL);
	if (reader_gets_in) {
		let_others_block();
		join(spawn(late_reader, NULL));
		CHECK_OK(pthread_rwlock_tryrdlock(&rw));
		CHECK_OK(pthread_rwlock_unlock(&rw));
	} else {
		/* The writer is known to wait when it keeps a reader out. */
		while ((err = pthread_rwlock_tryrdlock(&rw)) == 0) {
			CHECK_OK(pthread_rwlock_unlock(&rw));
			sched_yield();
		}
		CHECK_EQ(err, EBUSY);
		r = spawn(late_reader, NULL);
		let_others_block();
		CHECK_EQ(events, 0);
	}
	CHECK_OK(pthread_rwlock_unlock(&rw));
	join(w);
	if (!reader_gets_in)
		join(r);
	CHECK_EQ(strcmp(order, reader_gets_in ? "RW" : "WR"), 0);
	CHECK_OK(pthread_rwlock_destroy(&rw));
	passed("%s: %s", name, order);
}

int main(void)
{
	try_kind(PTHREAD_RWLOCK_DEFAULT_NP, "default", 1);
	try_kind(PTHREAD_RWLOCK_PREFER_WRITER_NP, "prefer writer", 1);
	try_kind(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, "prefer writer nonrecursive", 0);
	return 0;
}
