/*
 * Threads that block in the kernel by a `syscall` instruction of their own, which no library can
 * see: a futex, a read, a sleep, an epoll.  Others go on meanwhile, and those that blocked go on
 * when they are woken.
 */
#include "check.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#ifndef __x86_64__
int main(void)
{
	return 77;
}
#else

static long raw(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return r;
}

static uint32_t word;
static int fds[2];
static atomic_int started, done;
static atomic_bool stop;

static void *futex_sleeper(void *arg)
{
	atomic_fetch_add(&started, 1);
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
		raw(SYS_futex, (long)&word, FUTEX_WAIT_PRIVATE, 0, 0);
	atomic_fetch_add(&done, 1);
	return arg;
}

static void *reader(void *arg)
{
	char c;

	atomic_fetch_add(&started, 1);
	CHECK_EQ(raw(SYS_read, fds[0], (long)&c, 1, 0), 1);
	CHECK_EQ(c, 'x');
	atomic_fetch_add(&done, 1);
	return arg;
}

static void *poller(void *arg)
{
	long n;
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(EPOLL_CLOEXEC), p[2];

	CHECK_SYS(ep);
	CHECK_SYS(pipe(p));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev));
	*(int *)arg = p[1];
	atomic_fetch_add(&started, 1);
	do
		n = raw(SYS_epoll_wait, ep, (long)&ev, 1, -1);
	while (n == -EINTR);
	CHECK_EQ(n, 1);
	atomic_fetch_add(&done, 1);
	close(ep);
	close(p[0]);
	return NULL;
}

static void *sleeper(void *arg)
{
	struct timespec ts = { 0, 20000000 };

	atomic_fetch_add(&started, 1);
	for (int i = 0; i < 5; i++) {
		struct timespec left = ts;
		long r;

		/*
		 * A signal of the scheduler may meet a call it cannot see (HACKING, "Known
		 * limits"): what is asked here is that the others run meanwhile, and that the time
		 * is slept.
		 */
		do
			r = raw(SYS_nanosleep, (long)&left, (long)&left, 0, 0);
		while (r == -EINTR);
		CHECK_EQ(r, 0);
	}
	atomic_fetch_add(&done, 1);
	return arg;
}

/* What makes the others' turn visible: none of these can start before somebody else stops. */
static void *counter(void *arg)
{
	atomic_ulong *n = arg;

	while (!atomic_load(&stop)) {
		atomic_fetch_add(n, 1);
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	pthread_t t[4], c[3];
	static atomic_ulong n[3];
	unsigned long was[3];
	int feed = -1;

	CHECK_SYS(pipe(fds));
	t[0] = spawn(futex_sleeper, NULL);
	t[1] = spawn(reader, NULL);
	t[2] = spawn(poller, &feed);
	for (int i = 0; i < 3; i++)
		c[i] = spawn(counter, &n[i]);
	while (atomic_load(&started) < 3)
		sched_yield();
	passed("three threads are about to block unseen");
	for (int i = 0; i < 3; i++)
		was[i] = atomic_load(&n[i]);
	for (int i = 0; i < 3; i++)
		while (atomic_load(&n[i]) < was[i] + 10)
			sched_yield();
	CHECK_EQ(atomic_load(&done), 0);
	passed("three others count meanwhile");

	t[3] = spawn(sleeper, NULL);
	while (atomic_load(&done) == 0)
		sched_yield();
	CHECK_EQ(atomic_load(&done), 1);
	join(t[3]);
	passed("one that sleeps comes back by itself");

	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	raw(SYS_futex, (long)&word, FUTEX_WAKE_PRIVATE, 1, 0);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	CHECK_EQ(write(feed, "y", 1), 1);
	for (int i = 0; i < 3; i++)
		join(t[i]);
	CHECK_EQ(atomic_load(&done), 4);
	passed("the others when they are woken");

	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		join(c[i]);
	return 0;
}
#endif
