/*
 * What threads had on their stacks, and what they were themselves, goes back to the kernel soon after
 * they ended: in a process that waits, in one that computes, in one that makes threads all the time,
 * and as often as it happens.
 */
#include "check.h"
#include <sys/wait.h>

enum { DEEP = 2000000, THREADS = 100, MANY = 3000, MB = 1 << 20 };

static pthread_barrier_t meet;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *deep(void *arg)
{
	volatile char *p = __builtin_alloca(DEEP);

	for (size_t i = 0; i < DEEP; i += 4096)
		p[i] = 1;
	pthread_barrier_wait(&meet);
	return arg;
}

static void *shallow(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&gate));
	CHECK_OK(pthread_mutex_unlock(&gate));
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static long resident_mb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long total, resident;

	CHECK(f);
	CHECK_EQ(fscanf(f, "%ld %ld", &total, &resident), 2);
	CHECK_EQ(fclose(f), 0);
	return resident * sysconf(_SC_PAGESIZE) / MB;
}

static void run_deep(void)
{
	pthread_t t[THREADS];

	CHECK_OK(pthread_barrier_init(&meet, NULL, THREADS + 1));
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(deep, NULL);
	pthread_barrier_wait(&meet);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_OK(pthread_barrier_destroy(&meet));
}

static void run_many(void)
{
	static pthread_t t[MANY];

	CHECK_OK(pthread_mutex_lock(&gate));
	for (int i = 0; i < MANY; i++)
		t[i] = spawn(shallow, NULL);
	CHECK_OK(pthread_mutex_unlock(&gate));
	for (int i = 0; i < MANY; i++)
		join(t[i]);
}

static void wait_a_little(void)
{
	CHECK_SYS(usleep(20000));
}

static void compute(void)
{
	long long end = now_ns(CLOCK_MONOTONIC) + 20000000;

	for (volatile long i = 0; now_ns(CLOCK_MONOTONIC) < end; i++)
		;
}

static void make_threads(void)
{
	for (int i = 0; i < 100; i++)
		join(spawn(nothing, NULL));
}

/* It goes by itself, however busy the machine is. */
static void until_gone(void (*meanwhile)(void))
{
	long long end = now_ns(CLOCK_MONOTONIC) + 40000000000LL;

	while (resident_mb() > 30) {
		CHECK(now_ns(CLOCK_MONOTONIC) < end);
		meanwhile();
	}
}

int main(void)
{
	int status;
	pid_t pid;

	for (int i = 0; i < 2; i++) {
		run_deep();
		until_gone(wait_a_little);
	}
	passed("%d threads of %d KB each ended, and main waits", THREADS, DEEP / 1000);
	run_deep();
	until_gone(compute);
	passed("and main computes");
	run_deep();
	until_gone(make_threads);
	passed("and main makes other threads");
	for (int i = 0; i < 2; i++) {
		run_many();
		until_gone(wait_a_little);
	}
	passed("%d at once ended, twice", MANY);
	run_many();
	for (int i = 0; i < 20; i++) {
		CHECK_SYS(pid = fork());
		if (pid == 0) {
			run_many();
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		wait_a_little();
	}
	passed("children are made meanwhile, and have threads");
	return 0;
}
