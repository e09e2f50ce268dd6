/*
 * Threads with a real-time policy on one CPU are woken in the order of their priorities, whatever they wait
 * for, while ordinary threads compute; and they sleep, wait with a time-out, wait for a pipe, are
 * signalled, make threads and end as all do.  (Where the policy is refused the same lines are printed.)
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>

enum { N = 3 };
static const int priorities[N] = { 5, 10, 20 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem, ready;
static int how, go, order[N], n;
static volatile int stop;

enum { SEM, COND, BROADCAST, MUTEX, RWLOCK, WAYS };
static const char *const names[WAYS] = { "semaphore", "condition variable", "broadcast", "mutex", "rwlock" };

static void note(int priority)
{
	order[__atomic_fetch_add(&n, 1, __ATOMIC_SEQ_CST)] = priority;
}

static void *waits(void *arg)
{
	int priority = (int)(long)arg;

	CHECK_SYS(sem_post(&ready));
	switch (how) {
	case SEM:
		while (sem_wait(&sem) == -1)
			CHECK_EQ(errno, EINTR);
		note(priority);
		break;
	case COND:
	case BROADCAST:
		CHECK_OK(pthread_mutex_lock(&mutex));
		CHECK_OK(pthread_cond_wait(&cond, &mutex));
		note(priority);
		CHECK_OK(pthread_mutex_unlock(&mutex));
		break;
	case MUTEX:
		CHECK_OK(pthread_mutex_lock(&mutex));
		note(priority);
		CHECK_OK(pthread_mutex_unlock(&mutex));
		break;
	case RWLOCK:
		CHECK_OK(pthread_rwlock_wrlock(&rwlock));
		note(priority);
		CHECK_OK(pthread_rwlock_unlock(&rwlock));
	}
	return NULL;
}

static void wake(void)
{
	switch (how) {
	case SEM:
		for (int i = 0; i < N; i++)
			CHECK_SYS(sem_post(&sem));
		break;
	case COND:
		for (int i = 0; i < N; i++) {
			CHECK_OK(pthread_mutex_lock(&mutex));
			CHECK_OK(pthread_cond_signal(&cond));
			CHECK_OK(pthread_mutex_unlock(&mutex));
		}
		break;
	case BROADCAST:
		CHECK_OK(pthread_mutex_lock(&mutex));
		CHECK_OK(pthread_cond_broadcast(&cond));
		CHECK_OK(pthread_mutex_unlock(&mutex));
		break;
	case MUTEX:
		CHECK_OK(pthread_mutex_unlock(&mutex));
		break;
	case RWLOCK:
		CHECK_OK(pthread_rwlock_unlock(&rwlock));
	}
}

/* False: the policy is refused. */
static int ordered(void)
{
	pthread_t t[N];

	n = go = 0;
	if (how == MUTEX)
		CHECK_OK(pthread_mutex_lock(&mutex));
	if (how == RWLOCK)
		CHECK_OK(pthread_rwlock_wrlock(&rwlock));
	for (int i = 0; i < N; i++) {
		if (spawn_fifo(&t[i], priorities[i], waits, (void *)(long)priorities[i]))
			return 0;
		while (sem_wait(&ready) == -1)
			CHECK_EQ(errno, EINTR);
		let_others_block();
	}
	wake();
	for (int i = 0; i < N; i++)
		join(t[i]);
	/* libc wakes all that were broadcast to at once, or one by one, as it likes. */
	for (int i = 0; i < N && how != BROADCAST; i++)
		CHECK_EQ(order[i], priorities[N - 1 - i]);
	return 1;
}

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	handled = sig;
}

static void *made(void *arg)
{
	return arg;
}

/* One after the other what real-time threads do. */
static void *does_all(void *arg)
{
	int *fd = arg;
	struct timespec ts = { .tv_nsec = 2000000 }, at;
	long long before = now_ns(CLOCK_MONOTONIC);
	struct sched_param sp = { .sched_priority = 0 };
	sem_t never;
	char c;

	CHECK_SYS(nanosleep(&ts, NULL));
	CHECK(now_ns(CLOCK_MONOTONIC) - before >= 2000000);
	CHECK_SYS(sem_init(&never, 0, 0));
	at = after_ms(CLOCK_REALTIME, 5);
	while (sem_timedwait(&never, &at) == -1 && errno == EINTR)
		;
	CHECK_EQ(errno, ETIMEDOUT);
	CHECK_EQ(read(fd[0], &c, 1), 1);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(handled, SIGUSR1);
	CHECK(join(spawn(made, arg)) == arg);
	sched_yield();
	/* Ordinary again, and once more not. */
	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &sp));
	CHECK_SYS(nanosleep(&ts, NULL));
	sp.sched_priority = 7;
	CHECK_OK(pthread_setschedparam(pthread_self(), SCHED_RR, &sp));
	CHECK_SYS(nanosleep(&ts, NULL));
	return arg;
}

static void *computes(void *arg)
{
	while (!stop)
		sched_yield();
	return arg;
}

int main(void)
{
	struct sched_param sp = { .sched_priority = 30 };
	pthread_t busy[2], t;
	cpu_set_t one;
	int fd[2], may;

	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK_SYS(sem_init(&sem, 0, 0));
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(pipe(fd));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	for (int i = 0; i < 2; i++)
		busy[i] = spawn(computes, NULL);
	(void)sched_setaffinity(0, sizeof one, &one);
	may = pthread_setschedparam(pthread_self(), SCHED_FIFO, &sp) == 0;
	for (how = 0; how < WAYS; how++) {
		may = may && ordered();
		passed("woken in the order of priorities: %s", names[how]);
	}
	if (may) {
		CHECK_OK(spawn_fifo(&t, 40, does_all, fd));
		let_others_block();
		CHECK_EQ(write(fd[1], "x", 1), 1);
		CHECK(join(t) == fd);
	}
	passed("they do what all do");
	stop = 1;
	for (int i = 0; i < 2; i++)
		join(busy[i]);
	return 0;
}
