/*
 * A thread blocks in a system call of its own making (an instruction, no call of libc's), while others compute;
 * straight after it waits: for a semaphore, for a futex, for time.
 */
#include "check.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

enum { ROUNDS = 40, COMPUTERS = 4, MS = 1000000 };

static sem_t none;
static _Atomic int over;
static int timer;

static void blocks(void)
{
	struct itimerspec soon = { .it_value = { 0, 4 * MS } };
	uint64_t n;

	CHECK_SYS(timerfd_settime(timer, 0, &soon, NULL));
#ifdef __x86_64__
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "0"(SYS_read), "D"(timer), "S"(&n), "d"(sizeof n)
			 : "rcx", "r11", "memory");
	CHECK_EQ(r, sizeof n);
#else
	CHECK_EQ(read(timer, &n, sizeof n), sizeof n);
#endif
}

static void *computes(void *arg)
{
	while (!over)
		for (volatile int i = 0; i < 100000; i++)
			;
	return arg;
}

int main(void)
{
	static int word;
	struct timespec ms = { 0, MS };
	pthread_t others[COMPUTERS];

	CHECK_SYS(timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	CHECK_OK(sem_init(&none, 0, 0));
	for (int i = 0; i < COMPUTERS; i++)
		others[i] = spawn(computes, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec at;

		blocks();
		at = after_ms(CLOCK_REALTIME, 1);
		CHECK_ERR(sem_timedwait(&none, &at), ETIMEDOUT);
		blocks();
		CHECK_ERR(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ms), ETIMEDOUT);
		blocks();
		CHECK_SYS(nanosleep(&ms, NULL));
	}
	over = 1;
	for (int i = 0; i < COMPUTERS; i++)
		join(others[i]);
	passed("waits after blocks");
	return 0;
}
