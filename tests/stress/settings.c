/*
 * settings NAME: four threads that all make one setting of their own, and then hand work on in a ring.
 *
 * Says how often the kernel switched a thread of the process for each hundred hand-overs.  Under weft that is next to
 * none, for all run on one kernel thread, unless the setting has tied each to a kernel thread of its own.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 4000 };

static sem_t turn[THREADS];
static pthread_barrier_t ready;
static pthread_t threads[THREADS];

/* ---- the settings: 0, or -1 where they are not to be had ------------------------------------- */

static int nothing(long n)
{
	(void)n;
	return 0;
}

static int watchdog_on(clockid_t clock)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG };
	const struct itimerspec far = { .it_value = { 1000, 0 } };
	timer_t timer;

	return timer_create(clock, &ev, &timer) || timer_settime(timer, 0, &far, NULL);
}

static int watchdog(long n)
{
	(void)n;
	return watchdog_on(CLOCK_THREAD_CPUTIME_ID);
}

static int watchdog_by_id(long n)
{
	clockid_t clock;

	return pthread_getcpuclockid(threads[n], &clock) || watchdog_on(clock);
}

static int watchdog_of_next(long n)
{
	clockid_t clock;

	return pthread_getcpuclockid(threads[(n + 1) % THREADS], &clock) || watchdog_on(clock);
}

static int privs(long n)
{
	(void)n;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* As haproxy's threads. */
static int watchdog_and_privs(long n)
{
	return watchdog(n) || privs(n);
}

static int privs_by_number(long n)
{
	(void)n;
	return (int)syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static int name(long n)
{
	char text[16];

	snprintf(text, sizeof(text), "ring %ld", n);
	return pthread_setname_np(pthread_self(), text);
}

static int name_by_prctl(long n)
{
	(void)n;
	return prctl(PR_SET_NAME, "ring", 0, 0, 0);
}

static int mask(long n)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, n % 2 ? SIGUSR1 : SIGUSR2);
	return pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int altstack(long n)
{
	stack_t ss = { .ss_size = 65536, .ss_sp = malloc(65536) };

	(void)n;
	return sigaltstack(&ss, NULL);
}

static int affinity(long n)
{
	cpu_set_t all;

	(void)n;
	return sched_getaffinity(0, sizeof(all), &all) || pthread_setaffinity_np(pthread_self(), sizeof(all), &all);
}

static int same_nice(long n)
{
	(void)n;
	return setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0));
}

static int same_policy(long n)
{
	struct sched_param p = { 0 };

	(void)n;
	return pthread_setschedparam(pthread_self(), SCHED_OTHER, &p);
}

static int own_clock(long n)
{
	struct timespec ts;

	(void)n;
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
}

static int own_usage(long n)
{
	struct rusage u;

	(void)n;
	return getrusage(RUSAGE_THREAD, &u);
}

static int cancellation(long n)
{
	(void)n;
	return pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL) ||
	       pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
}

static int robust_mutex(long n)
{
	static pthread_mutex_t mu[THREADS];
	pthread_mutexattr_t a;

	return pthread_mutexattr_init(&a) || pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) ||
	       pthread_mutex_init(&mu[n], &a) || pthread_mutex_lock(&mu[n]) || pthread_mutex_unlock(&mu[n]);
}

/* They ask, and change nothing. */
static int questions(long n)
{
	(void)n;
	setfsuid((uid_t)-1);
	setfsgid((gid_t)-1);
	return personality(0xffffffff) == -1 || prctl(PR_GET_DUMPABLE) == -1 || prctl(PR_GET_TIMERSLACK) == -1;
}

static int dumpable(long n)
{
	(void)n;
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static const struct setting {
	const char *name;
	int (*make)(long n);
} settings[] = {
#define SETTING(f) { #f, f }
	SETTING(nothing), SETTING(watchdog), SETTING(watchdog_by_id), SETTING(watchdog_of_next), SETTING(privs),
	SETTING(privs_by_number), SETTING(watchdog_and_privs), SETTING(name), SETTING(name_by_prctl), SETTING(mask),
	SETTING(altstack), SETTING(affinity), SETTING(same_nice), SETTING(same_policy), SETTING(own_clock),
	SETTING(own_usage), SETTING(cancellation), SETTING(robust_mutex), SETTING(questions), SETTING(dumpable),
};

/* ---- the ring -------------------------------------------------------------------------------- */

static const struct setting *setting;

static long switches(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	long sum = 0;

	while (d && (e = readdir(d))) {
		char path[300], line[256];
		FILE *f;
		long n;

		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
				sum += n;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return sum;
}

static void *member(void *arg)
{
	long n = (long)arg;

	pthread_barrier_wait(&ready); /* threads[] is written */
	if (setting->make(n))
		exit(77);
	pthread_barrier_wait(&ready);
	for (int i = 0; i < ROUNDS; i++) {
		while (sem_wait(&turn[n]))
			;
		sem_post(&turn[(n + 1) % THREADS]);
	}
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&ready); /* the kernel's counts go with its threads */
	return NULL;
}

int main(int argc, char **argv)
{
	long before, after;

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (argc < 2)
			puts(settings[i].name);
		else if (!strcmp(argv[1], settings[i].name))
			setting = &settings[i];
	if (!setting)
		return argc < 2 ? 0 : 2;
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++) {
		sem_init(&turn[i], 0, 0);
		if (pthread_create(&threads[i], NULL, member, (void *)i))
			return 77;
	}
	pthread_barrier_wait(&ready);
	/* Main is a thread, too. */
	if (strstr(setting->name, "privs") && setting->make(0))
		return 77;
	pthread_barrier_wait(&ready);
	before = switches();
	sem_post(&turn[0]);
	pthread_barrier_wait(&ready);
	after = switches();
	pthread_barrier_wait(&ready);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld\n", (after - before) * 100 / (THREADS * ROUNDS));
	return 0;
}
