/*
 * Threads compute and then sleep in a system call of their own instruction, beside others that sleep
 * in libc.  A signal that is none of the program's may end such a call now and then, but not most.
 */
#include "check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { SLEEPERS = 3, WORKERS = 2, ROUNDS = 200 };

static _Atomic bool over;
static _Atomic int ended;

static long own_nanosleep(const struct timespec *t)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_nanosleep), "D"(t), "S"(NULL)
			 : "rcx", "r11", "memory");
	return r;
#else
	return nanosleep(t, NULL) ? -errno : 0;
#endif
}

static void *sleeper(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!atomic_load(&over))
		usleep(100 + (unsigned)rand_r(&seed) % 6000);
	return NULL;
}

static void *worker(void *arg)
{
	struct timespec t = { 0, 3000000 };

	for (int i = 0; i < ROUNDS; i++) {
		long long began = now_ns(CLOCK_MONOTONIC);
		long r;

		while (now_ns(CLOCK_MONOTONIC) - began < 500000)
			for (volatile int k = 0; k < 300; k++)
				;
		r = own_nanosleep(&t);
		CHECK(r == 0 || r == -EINTR);
		ended += r != 0;
	}
	return arg;
}

int main(void)
{
	pthread_t s[SLEEPERS], w[WORKERS];

	for (int i = 0; i < SLEEPERS; i++)
		s[i] = spawn(sleeper, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < WORKERS; i++)
		w[i] = spawn(worker, NULL);
	for (int i = 0; i < WORKERS; i++)
		join(w[i]);
	over = true;
	for (int i = 0; i < SLEEPERS; i++)
		join(s[i]);
	if (ended * 2 >= WORKERS * ROUNDS)
		CHECK_EQ(ended, 0);
	passed("most system calls by the program's own instructions end when they should");
	return 0;
}
