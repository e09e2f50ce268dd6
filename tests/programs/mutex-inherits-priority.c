/*
 * A thread that holds a mutex with PTHREAD_PRIO_INHERIT runs at the highest priority of those that wait for
 * it, and loses that when they are served, give up or are called away by a signal; over a chain of such
 * mutexes; private, robust and process-shared; by locks with and without a time-out and by a condition
 * variable's.  On one CPU a thread of a priority between does not run before it.  What the thread is told of
 * its policy stays its own.  (Where real-time policies are refused the same lines are printed.)
 */
#include "check.h"
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

enum { LOW = 0, MIDDLE = 10, HIGH = 20, HIGHEST = 30 };

struct kind {
	const char *name;
	int robust, shared, type;
};
static const struct kind kinds[] = {
	{ "private", PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_NORMAL },
	{ "recursive", PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_RECURSIVE },
	{ "robust", PTHREAD_MUTEX_ROBUST, PTHREAD_PROCESS_PRIVATE, PTHREAD_MUTEX_NORMAL },
	{ "shared", PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_SHARED, PTHREAD_MUTEX_NORMAL },
};

static pthread_mutex_t a, b;
static pthread_cond_t cond;
static sem_t holds, may_go;
static volatile int got, may, stop;

static void make(pthread_mutex_t *mu, const struct kind *k)
{
	pthread_mutexattr_t at;

	CHECK_OK(pthread_mutexattr_init(&at));
	CHECK_OK(pthread_mutexattr_setprotocol(&at, PTHREAD_PRIO_INHERIT));
	CHECK_OK(pthread_mutexattr_setrobust(&at, k->robust));
	CHECK_OK(pthread_mutexattr_setpshared(&at, k->shared));
	CHECK_OK(pthread_mutexattr_settype(&at, k->type));
	CHECK_OK(pthread_mutex_init(mu, &at));
	CHECK_OK(pthread_mutexattr_destroy(&at));
}

/* As the kernel sees the caller: its real-time priority, inherited or not; 0: it has none. */
static int runs_at(void)
{
	char text[1024], *p;
	FILE *f = fopen("/proc/thread-self/stat", "r");
	int n = 0;

	CHECK(f && fgets(text, sizeof text, f));
	fclose(f);
	p = strrchr(text, ')');
	for (int field = 2; field < 18; field++)
		CHECK(p = strchr(p + 1, ' '));
	n = atoi(p + 1);
	return n < 0 ? -1 - n : 0;
}

/* Until the caller runs at the priority. */
static void await_priority(int priority)
{
	struct timespec ts = { .tv_nsec = 200000 };

	while (may && runs_at() != priority)
		CHECK_SYS(nanosleep(&ts, NULL));
}

static pthread_t fifo(int priority, void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (!may || !priority)
		return spawn(fn, arg);
	CHECK_OK(spawn_fifo(&t, priority, fn, arg));
	return t;
}

static void own_policy_is_told(void)
{
	struct sched_param sp = { .sched_priority = 99 };
	int policy = -1;

	CHECK_EQ(sched_getscheduler(0), SCHED_OTHER);
	CHECK_SYS(sched_getparam(0, &sp));
	CHECK_EQ(sp.sched_priority, 0);
	CHECK_OK(pthread_getschedparam(pthread_self(), &policy, &sp));
	CHECK_EQ(policy, SCHED_OTHER);
	CHECK_EQ(sp.sched_priority, 0);
}

static void *locks(void *mu)
{
	CHECK_OK(pthread_mutex_lock(mu));
	got++;
	CHECK_OK(pthread_mutex_unlock(mu));
	return mu;
}

static void *gives_up(void *mu)
{
	struct timespec at = after_ms(CLOCK_REALTIME, 50);

	CHECK_EQ(pthread_mutex_timedlock(mu, &at), ETIMEDOUT);
	return mu;
}

static sigjmp_buf out;

static void handler(int sig)
{
	siglongjmp(out, sig);
}

/* A handler leaves the wait. */
static void *is_called_away(void *mu)
{
	if (!sigsetjmp(out, 1)) {
		CHECK_OK(pthread_mutex_lock(mu));
		CHECK(0);
	}
	return mu;
}

static void *holds_b_locks_a(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&b));
	CHECK_SYS(sem_post(&holds));
	locks(&a);
	await_priority(HIGH);
	CHECK_OK(pthread_mutex_unlock(&b));
	await_priority(LOW);
	return arg;
}

/* ---- what the holder has --------------------------------------------------------------------- */

/* leaves: a waiter leaves by a handler, too. */
static void *low(void *leaves)
{
	struct timespec ts = { .tv_nsec = 2000000 };
	pthread_t t, u;

	CHECK_OK(pthread_mutex_lock(&a));
	CHECK_EQ(runs_at(), LOW);
	/* One after the other; each finds the holder somewhere else. */
	t = fifo(MIDDLE, locks, &a);
	await_priority(MIDDLE);
	u = fifo(HIGH, locks, &a);
	await_priority(HIGH);
	own_policy_is_told();
	CHECK_SYS(nanosleep(&ts, NULL));
	await_priority(HIGH);
	CHECK_OK(pthread_mutex_unlock(&a));
	await_priority(LOW);
	join(t);
	join(u);
	CHECK_EQ(got, 2);

	CHECK_OK(pthread_mutex_lock(&a));
	t = fifo(HIGH, gives_up, &a);
	await_priority(HIGH);
	await_priority(LOW);
	join(t);
	if (leaves) {
		t = fifo(HIGH, is_called_away, &a);
		await_priority(HIGH);
		CHECK_OK(pthread_kill(t, SIGUSR1));
		await_priority(LOW);
		join(t);
	}
	/* Two of them, unlocked in the order of locking. */
	CHECK_OK(pthread_mutex_lock(&b));
	t = fifo(MIDDLE, locks, &b);
	u = fifo(HIGH, locks, &a);
	await_priority(HIGH);
	CHECK_OK(pthread_mutex_unlock(&a));
	await_priority(MIDDLE);
	CHECK_OK(pthread_mutex_unlock(&b));
	await_priority(LOW);
	join(t);
	join(u);
	return leaves;
}

static void *chain(void *unused)
{
	pthread_t t, u;

	CHECK_OK(pthread_mutex_lock(&a));
	t = fifo(LOW, holds_b_locks_a, NULL);
	while (sem_wait(&holds) == -1)
		;
	CHECK_EQ(runs_at(), LOW);
	u = fifo(HIGH, locks, &b);
	await_priority(HIGH);
	CHECK_OK(pthread_mutex_unlock(&a));
	await_priority(LOW);
	join(t);
	join(u);
	return unused;
}

/* The lock that a wait on a condition variable takes again. */
static void *waits(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&a));
	CHECK_SYS(sem_post(&holds));
	while (!got)
		CHECK_OK(pthread_cond_wait(&cond, &a));
	CHECK_OK(pthread_mutex_unlock(&a));
	return arg;
}

static void *by_cond(void *arg)
{
	pthread_t t = fifo(HIGH, waits, NULL), u = fifo(MIDDLE, waits, NULL);
	int everybody = arg != NULL;

	for (int i = 0; i < 2; i++)
		while (sem_wait(&holds) == -1)
			;
	CHECK_OK(pthread_mutex_lock(&a));
	got = 1;
	CHECK_OK(everybody ? pthread_cond_broadcast(&cond) : pthread_cond_signal(&cond));
	await_priority(HIGH);
	CHECK_OK(pthread_mutex_unlock(&a));
	await_priority(LOW);
	CHECK_OK(pthread_cond_broadcast(&cond));
	join(t);
	join(u);
	return arg;
}

/* Its owner is gone, and with it what it inherited: the next has it. */
static void *ends_as_owner(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&a));
	CHECK_SYS(sem_post(&holds));
	await_priority(HIGH);
	return arg;
}

static void *takes_over(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&a), EOWNERDEAD);
	CHECK_OK(pthread_mutex_consistent(&a));
	CHECK_OK(pthread_mutex_unlock(&a));
	return arg;
}

/* ---- one CPU --------------------------------------------------------------------------------- */

static double used(clockid_t clock)
{
	return (double)now_ns(clock) / 1e9;
}

/* A third of a second of work under the mutex: more than is left to it beside a thread of the real-time classes. */
static void *works(void *arg)
{
	double till;

	CHECK_OK(pthread_mutex_lock(&a));
	CHECK_SYS(sem_post(&holds));
	while (sem_wait(&may_go) == -1)
		;
	till = used(CLOCK_THREAD_CPUTIME_ID) + 0.3;
	while (used(CLOCK_THREAD_CPUTIME_ID) < till)
		sched_yield();
	CHECK_OK(pthread_mutex_unlock(&a));
	return arg;
}

static void *starts_and_locks(void *mu)
{
	CHECK_SYS(sem_post(&holds));
	return locks(mu);
}

static void *between(void *arg)
{
	double till = used(CLOCK_THREAD_CPUTIME_ID) + 3;

	CHECK_SYS(sem_post(&may_go));
	while (!got && used(CLOCK_THREAD_CPUTIME_ID) < till)
		;
	CHECK(got);
	return arg;
}

static void one_cpu(void)
{
	struct sched_param sp = { .sched_priority = HIGHEST };
	pthread_t t = spawn(works, NULL), u, v;

	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_FIFO, &sp));
	got = 0;
	while (sem_wait(&holds) == -1)
		;
	u = fifo(HIGH, starts_and_locks, &a);
	while (sem_wait(&holds) == -1)
		;
	v = fifo(MIDDLE, between, NULL);
	join(v);
	join(u);
	join(t);
	sp.sched_priority = 0;
	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &sp));
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	pthread_t t;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	(void)sched_setaffinity(0, sizeof one, &one);
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK_SYS(sem_init(&holds, 0, 0));
	CHECK_SYS(sem_init(&may_go, 0, 0));
	CHECK_OK(pthread_cond_init(&cond, NULL));
	may = spawn_fifo(&t, 1, nothing, NULL) == 0;
	if (may)
		join(t);
	for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		make(&a, &kinds[i]);
		make(&b, &kinds[i]);
		got = 0;
		if (may) {
			join(spawn(low, kinds[i].shared ? NULL : &a));
			join(spawn(chain, NULL));
		}
		passed("%s: the holder inherits, over chains, and gives back", kinds[i].name);
		got = 0;
		if (may && !kinds[i].shared) {
			join(spawn(by_cond, NULL));
			got = 0;
			join(spawn(by_cond, &a));
		}
		passed("%s: from waits on a condition variable", kinds[i].name);
		if (may)
			one_cpu();
		passed("%s: a thread of a priority between waits", kinds[i].name);
		if (may && kinds[i].robust == PTHREAD_MUTEX_ROBUST) {
			t = spawn(ends_as_owner, NULL);
			while (sem_wait(&holds) == -1)
				;
			join(fifo(HIGH, takes_over, NULL));
			join(t);
		}
		CHECK_OK(pthread_mutex_destroy(&a));
		CHECK_OK(pthread_mutex_destroy(&b));
	}
	passed("a robust one whose owner ends");
	return 0;
}
