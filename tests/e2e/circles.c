/*
 * circles KIND N [stays]: N threads that wait for each other in a circle of this kind, or in what is like one.
 *
 * stays: prints its id and waits until its standard input ends; else waits for the threads.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static pthread_mutex_t ring[MOST], own = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER, rw2 = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never_told = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t all;
static pthread_t t[MOST];
static sem_t never, later;
static sigjmp_buf out;
static int n;

static void *takes_two(void *arg)
{
	long i = (long)arg;

	pthread_mutex_lock(&ring[i]);
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&ring[(i + 1) % n]);
	return NULL;
}

static void *joins_the_next(void *arg)
{
	pthread_barrier_wait(&all);
	pthread_join(t[((long)arg + 1) % n], NULL);
	return NULL;
}

static void *holds_and_joins(void *arg)
{
	if (arg) {
		pthread_barrier_wait(&all);
		pthread_mutex_lock(&own);
		return NULL;
	}
	pthread_mutex_lock(&own);
	pthread_barrier_wait(&all);
	pthread_join(t[1], NULL);
	return NULL;
}

static void *writes_and_reads(void *arg)
{
	pthread_rwlock_wrlock(arg ? &rw : &rw2);
	pthread_barrier_wait(&all);
	pthread_rwlock_rdlock(arg ? &rw2 : &rw);
	return NULL;
}

static void *writes_then_locks(void *arg)
{
	if (arg)
		pthread_mutex_lock(&own);
	else
		pthread_rwlock_wrlock(&rw);
	pthread_barrier_wait(&all);
	if (arg)
		pthread_rwlock_rdlock(&rw);
	else
		pthread_mutex_lock(&own);
	return NULL;
}

static void *upgrades(void *arg)
{
	pthread_rwlock_rdlock(&rw);
	pthread_barrier_wait(&all);
	pthread_rwlock_wrlock(&rw);
	return arg;
}

static void *locks_twice(void *arg)
{
	pthread_mutex_lock(&own);
	pthread_mutex_lock(&own);
	return arg;
}

static void *listens(void *arg)
{
	pthread_mutex_lock(&own);
	for (;;)
		pthread_cond_wait(&never_told, &own);
	return arg;
}

static void *waits(void *arg)
{
	sem_wait(&never);
	return arg;
}

static void *waits_and_main_leaves(void *arg)
{
	return waits(arg);
}

/* The last of a chain waits for what comes. */
static void *takes_two_but_the_last(void *arg)
{
	if ((long)arg < n - 1)
		return takes_two(arg);
	pthread_mutex_lock(&ring[n - 1]);
	pthread_barrier_wait(&all);
	sem_wait(&later);
	pthread_mutex_unlock(&ring[n - 1]);
	return NULL;
}

static void *chain(void *arg)
{
	takes_two_but_the_last(arg);
	if ((long)arg < n - 1) {
		pthread_mutex_unlock(&ring[((long)arg + 1) % n]);
		pthread_mutex_unlock(&ring[(long)arg]);
	}
	return NULL;
}

static void *timed(void *arg)
{
	long i = (long)arg;
	struct timespec soon;

	pthread_mutex_lock(&ring[i]);
	pthread_barrier_wait(&all);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	if (!pthread_mutex_timedlock(&ring[(i + 1) % n], &soon))
		pthread_mutex_unlock(&ring[(i + 1) % n]);
	pthread_mutex_unlock(&ring[i]);
	return NULL;
}

/* Each turn ends: of these many are in a circle for a moment, and none for long. */
static void *tries(void *arg)
{
	long i = (long)arg;

	for (;;) {
		struct timespec soon;

		pthread_mutex_lock(&ring[i]);
		clock_gettime(CLOCK_REALTIME, &soon);
		soon.tv_nsec = (soon.tv_nsec + 1000000) % 1000000000;
		if (!pthread_mutex_timedlock(&ring[(i + 1) % n], &soon))
			pthread_mutex_unlock(&ring[(i + 1) % n]);
		pthread_mutex_unlock(&ring[i]);
	}
	return NULL;
}

static void leave(int sig)
{
	siglongjmp(out, sig);
}

/* A handler takes the first out of the circle. */
static void *handled(void *arg)
{
	long i = (long)arg;

	pthread_mutex_lock(&ring[i]);
	if (i || !sigsetjmp(out, 1)) {
		pthread_barrier_wait(&all);
		pthread_mutex_lock(&ring[(i + 1) % n]);
		pthread_mutex_unlock(&ring[(i + 1) % n]);
	}
	pthread_mutex_unlock(&ring[i]);
	return NULL;
}

static void post(int sig)
{
	sem_post(&later);
	(void)sig;
}

static void *wants_later(void *arg)
{
	sem_wait(&later);
	sem_post(&later);
	return arg;
}

static void *sigwaits(void *arg)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &sig);
	sem_post(&later);
	return arg;
}

static void *sleeps(void *arg)
{
	sleep(1);
	sem_post(&later);
	return arg;
}

static const struct {
	const char *name;
	void *(*fn)(void *), *(*last)(void *);
} kinds[] = {
	{ "ring", takes_two }, { "join", joins_the_next }, { "holdjoin", holds_and_joins },
	{ "rwlock", writes_and_reads },
	{ "upgrade", upgrades }, { "self", locks_twice }, { "cond", listens }, { "sem", waits },
	{ "mainleaves", waits_and_main_leaves }, { "fork", takes_two }, { "chain", chain }, { "timed", timed },
	{ "tries", tries }, { "mixed", writes_then_locks }, { "inherit", takes_two }, { "robust", takes_two },
	{ "handled", handled }, { "posted", wants_later }, { "sigwait", wants_later, sigwaits },
	{ "sleeper", wants_later, sleeps },
};

static void *kill_later(void *arg)
{
	if (arg) {
		usleep(900000);
		pthread_kill(t[0], SIGUSR1);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	unsigned k = 0;
	int data = -1;
	char c;

	n = atoi(argv[2]);
	pthread_barrier_init(&all, NULL, (unsigned)n + !strcmp(argv[1], "join"));
	/* Standard error is a file of the program's own from here on. */
	if (getenv("ERR_IS_DATA"))
		data = open(getenv("ERR_IS_DATA"), O_CREAT | O_RDWR, 0600);
	pthread_mutexattr_init(&attr);
	if (!strcmp(argv[1], "inherit"))
		pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (!strcmp(argv[1], "robust"))
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < n; i++)
		pthread_mutex_init(&ring[i], &attr);
	while (strcmp(kinds[k].name, argv[1]))
		k++;
	if (!strcmp(argv[1], "handled"))
		signal(SIGUSR1, leave);
	if (!strcmp(argv[1], "posted") || !strcmp(argv[1], "sigwait")) {
		sigset_t set;

		signal(SIGUSR1, post);
		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	}
	if (!strcmp(argv[1], "fork")) {
		pthread_create(&t[0], NULL, kill_later, NULL);
		pthread_join(t[0], NULL);
		if (fork()) {
			int status;

			wait(&status);
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		}
	}
	for (long i = 0; i < n; i++)
		pthread_create(&t[i], NULL, i == n - 1 && kinds[k].last ? kinds[k].last : kinds[k].fn, (void *)i);
	if (data >= 0)
		dup2(data, 2);
	if (!strcmp(argv[1], "join"))
		pthread_barrier_wait(&all);
	if (argc > 3) {
		printf("%d\n", (int)getpid());
		fflush(stdout);
		while (read(0, &c, 1) > 0)
			;
		return 0;
	}
	if (!strcmp(argv[1], "handled")) {
		pthread_t killer;

		pthread_create(&killer, NULL, kill_later, (void *)1);
	}
	if (!strcmp(argv[1], "chain")) {
		usleep(900000);
		sem_post(&later);
	}
	if (!strcmp(argv[1], "posted") || !strcmp(argv[1], "sigwait")) {
		/* From outside: a child, so that no thread of this process is at work meanwhile. */
		pid_t who = getpid();

		if (!fork()) {
			usleep(900000);
			kill(who, !strcmp(argv[1], "posted") ? SIGUSR1 : SIGUSR2);
			_exit(0);
		}
	}
	if (!strcmp(argv[1], "join"))
		sem_wait(&never);
	if (!strcmp(argv[1], "mainleaves"))
		pthread_exit(NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
