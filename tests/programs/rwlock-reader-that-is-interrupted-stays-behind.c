/*
 * Where writers are preferred a reader stands behind a writer that waits.  A handler that runs in the reader meanwhile,
 * or a cancellation, which a read lock is no point for, does not let it pass.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>

static pthread_rwlock_t rw;
static pthread_barrier_t ready;
static atomic_int handled, order, writer_at, reader_at;

static void handler(int sig)
{
	(void)sig;
	atomic_fetch_add(&handled, 1);
}

static void *writer(void *arg)
{
	CHECK_OK(pthread_rwlock_wrlock(&rw));
	writer_at = ++order;
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

static void *reader(void *arg)
{
	pthread_barrier_wait(&ready);
	CHECK_OK(pthread_rwlock_rdlock(&rw));
	reader_at = ++order;
	CHECK_OK(pthread_rwlock_unlock(&rw));
	return arg;
}

static void a_reader_is_interrupted(const char *by, int flags, int cancelled)
{
	const struct timespec moment = { 0, 20000000 };
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };
	pthread_t w, r;

	order = writer_at = reader_at = handled = 0;
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(pthread_rwlock_rdlock(&rw));
	CHECK_OK(pthread_create(&w, NULL, writer, NULL));
	/* Until the writer waits. */
	while (pthread_rwlock_tryrdlock(&rw) == 0) {
		CHECK_OK(pthread_rwlock_unlock(&rw));
		nanosleep(&moment, NULL);
	}
	CHECK_OK(pthread_create(&r, NULL, reader, NULL));
	pthread_barrier_wait(&ready);
	nanosleep(&moment, NULL);
	if (cancelled)
		CHECK_OK(pthread_cancel(r));
	for (int i = 0; !cancelled && i < 3; i++) {
		CHECK_OK(pthread_kill(r, SIGUSR1));
		while (atomic_load(&handled) <= i && !atomic_load(&reader_at))
			nanosleep(&moment, NULL);
	}
	nanosleep(&moment, NULL);
	CHECK_EQ(reader_at, 0);
	CHECK_OK(pthread_rwlock_unlock(&rw));
	CHECK_OK(pthread_join(w, NULL));
	CHECK_OK(pthread_join(r, NULL));
	printf("%s: the %s first\n", by, writer_at < reader_at ? "writer" : "reader");
}

int main(void)
{
	pthread_rwlockattr_t attr;

	CHECK_OK(pthread_rwlockattr_init(&attr));
	CHECK_OK(pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
	CHECK_OK(pthread_rwlock_init(&rw, &attr));
	CHECK_OK(pthread_barrier_init(&ready, NULL, 2));
	a_reader_is_interrupted("a handler", 0, 0);
	a_reader_is_interrupted("a handler that lets the call go on", SA_RESTART, 0);
	a_reader_is_interrupted("a cancellation", 0, 1);
	return 0;
}
