/*
 * syscall(2) is no cancellation point, whatever call it makes: a thread that is cancelled in a wait
 * by number has the wait's result first.  Where its cancellation is asynchronous the request ends
 * the wait itself, as it ends everything else.
 */
#include "check.h"
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define AWAITED (SIGRTMIN + 1)

static int fds[2];
static uint32_t word;
static bool asynchronous;
static atomic_bool started, returned;

static long in_pause(void)
{
	return syscall(SYS_pause);
}

static long in_sigsuspend(void)
{
	uint64_t none = 0;

	return syscall(SYS_rt_sigsuspend, &none, sizeof none);
}

static long in_sigtimedwait(void)
{
	uint64_t set = 1ull << (AWAITED - 1);

	return syscall(SYS_rt_sigtimedwait, &set, NULL, NULL, sizeof set);
}

static long in_futex(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static long in_futex_timed(void)
{
	struct timespec day = { 86400, 0 };

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &day, NULL, 0);
}

static long in_futex_bitset(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, 1);
}

static long in_futex_shared(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

static long in_read(void)
{
	char c;

	return syscall(SYS_read, fds[0], &c, 1);
}

static long in_poll(void)
{
	struct pollfd p = { fds[0], POLLIN, 0 };

	return syscall(SYS_poll, &p, 1, -1);
}

static void by_handler(pthread_t t)
{
	CHECK_OK(pthread_kill(t, SIGUSR1));
}

static void by_signal(pthread_t t)
{
	CHECK_OK(pthread_kill(t, AWAITED));
}

static void by_wake(pthread_t t)
{
	(void)t;
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void by_write(pthread_t t)
{
	(void)t;
	CHECK_EQ(write(fds[1], "x", 1), 1);
}

static const struct {
	const char *name;
	long (*call)(void);
	void (*release)(pthread_t t);
} waits[] = {
	{ "pause", in_pause, by_handler },
	{ "rt_sigsuspend", in_sigsuspend, by_handler },
	{ "rt_sigtimedwait", in_sigtimedwait, by_signal },
	{ "futex", in_futex, by_wake },
	{ "futex with a time-out", in_futex_timed, by_wake },
	{ "futex with bits", in_futex_bitset, by_wake },
	{ "futex, shared", in_futex_shared, by_wake },
	{ "read", in_read, by_write },
	{ "poll", in_poll, by_write },
};

static void nothing(int sig)
{
	(void)sig;
}

static void *waiter(void *arg)
{
	size_t i = (size_t)arg;

	if (asynchronous)
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	atomic_store(&started, true);
	waits[i].call();
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
	atomic_store(&returned, true);
	pthread_testcancel();
	return arg;
}

static void a_wait_is_cancelled(size_t i)
{
	const struct timespec little = { 0, 5000000 };
	pthread_t t;
	void *value;

	atomic_store(&started, false);
	atomic_store(&returned, false);
	CHECK_OK(pthread_create(&t, NULL, waiter, (void *)i));
	while (!atomic_load(&started))
		nanosleep(&little, NULL);
	nanosleep(&little, NULL);
	CHECK_OK(pthread_cancel(t));
	/* It may not be in its wait yet: it is let go until it is. */
	for (int n = 0; !asynchronous && !atomic_load(&returned) && n < 1000; n++) {
		waits[i].release(t);
		nanosleep(&little, NULL);
	}
	CHECK_OK(pthread_join(t, &value));
	printf("%s, %s: %s, %s\n", waits[i].name, asynchronous ? "asynchronous" : "deferred",
	       atomic_load(&returned) ? "the call has returned" : "the call was left",
	       value == PTHREAD_CANCELED ? "cancelled" : "NOT CANCELLED");
}

int main(void)
{
	sigset_t set;

	signal(SIGUSR1, nothing);
	sigemptyset(&set);
	sigaddset(&set, AWAITED);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int turn = 0; turn < 2; turn++) {
		asynchronous = turn == 1;
		for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
			CHECK_SYS(pipe(fds));
			a_wait_is_cancelled(i);
			close(fds[0]);
			close(fds[1]);
		}
	}
	return 0;
}
