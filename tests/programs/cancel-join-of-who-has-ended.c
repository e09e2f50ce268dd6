/*
 * A join that need not wait takes the result, also when the caller is to be cancelled, or is cancelled, as
 * this libc (since 2.43): natively and under weft alike.  One that must wait is cancelled, and the thread
 * can be joined by another.
 */
#include "check.h"
#include <semaphore.h>

static sem_t hold;
static pthread_t target;

static void *ends(void *arg)
{
	return arg;
}

static void *held(void *arg)
{
	while (sem_wait(&hold) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

enum how { TRY, PLAIN, TIMED };

static void *joins(void *arg)
{
	struct timespec late = after_ms(CLOCK_REALTIME, 20000);
	enum how how = *(enum how *)arg;
	void *value = NULL;

	int err;

	CHECK_OK(pthread_cancel(pthread_self()));
	err = how == TRY     ? pthread_tryjoin_np(target, &value)
	      : how == PLAIN ? pthread_join(target, &value)
			     : pthread_timedjoin_np(target, &value, &late);
	if (err == EBUSY)
		return PTHREAD_CANCELED; /* too early, too */
	CHECK_OK(err);
	return value;
}

/* That the thread has ended before the join begins nobody can see, so it is given time. */
static int joined(enum how how)
{
	int joined = 0;

	for (int i = 0; i < 100 && !joined; i++) {
		void *value;

		target = spawn(ends, "a");
		let_others_block();
		value = join(spawn(joins, &how));
		joined = value != PTHREAD_CANCELED;
		CHECK_EQ(strcmp(joined ? value : join(target), "a"), 0);
	}
	return joined;
}

int main(void)
{
	CHECK(joined(TRY));
	passed("a join that does not wait is none where a thread is cancelled");
	for (enum how how = PLAIN; how <= TIMED; how++)
		passed("one that need not wait is%s", joined(how) ? " none" : "");
	CHECK_SYS(sem_init(&hold, 0, 0));
	for (enum how how = PLAIN; how <= TIMED; how++) {
		target = spawn(held, "b");
		CHECK(join(spawn(joins, &how)) == PTHREAD_CANCELED);
		CHECK_SYS(sem_post(&hold));
		CHECK_EQ(strcmp(join(target), "b"), 0);
	}
	passed("one that must wait is");
	return 0;
}
