/*
 * setresuid and its family found in a handle of libc, as foreign function interfaces find them: every
 * thread changes, whichever calls, also those that were never on a CPU of their own; the kernel is
 * asked by each.  Needs root; without it the calls are made with the ids the process has.
 */
#include "check.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { THREADS = 8, LOOKS = 200 };

static int (*set)(uid_t, uid_t, uid_t);
static atomic_bool go, stop;
static uid_t want;
static pthread_barrier_t ready;

static void look(void)
{
	CHECK_EQ(syscall(SYS_geteuid), want);
}

/* Now computing, now asleep: on as many kernel threads as there are. */
static void *other(void *arg)
{
	unsigned n = 0;

	pthread_barrier_wait(&ready);
	while (!atomic_load(&stop)) {
		struct timespec ts = { .tv_nsec = 50000 };

		if (atomic_load(&go))
			look();
		for (int i = 0; i < 10000; i++)
			__asm__ volatile("" : "+r"(n));
		if (arg)
			nanosleep(&ts, NULL);
		else
			sched_yield();
	}
	look();
	return arg;
}

static void *caller(void *arg)
{
	struct timespec ts = { .tv_nsec = 2000000 };

	nanosleep(&ts, NULL); /* to go on wherever it is woken */
	CHECK_SYS(set((uid_t)-1, want, (uid_t)-1));
	return arg;
}

static void in_child(int by_main)
{
	pthread_t t[THREADS];
	void *libc = dlopen("libc.so.6", RTLD_NOW);

	CHECK(libc);
	*(void **)&set = dlsym(libc, "setresuid");
	CHECK(set);
	want = geteuid() ? geteuid() : 65534;
	CHECK_OK(pthread_barrier_init(&ready, NULL, THREADS + 1));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(other, (void *)(i % 2));
	pthread_barrier_wait(&ready);
	if (by_main)
		caller(NULL);
	else
		join(spawn(caller, NULL));
	atomic_store(&go, true);
	for (int i = 0; i < LOOKS; i++) {
		struct timespec ts = { .tv_nsec = 100000 };

		look();
		nanosleep(&ts, NULL);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	_exit(0);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0)
			in_child(i % 2);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 0);
	}
	passed("every thread changes, called by main and by others");
	return 0;
}
