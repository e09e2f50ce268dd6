/*
 * Memory that was good at an earlier call, and was unmapped or shut since, is EFAULT: natively nothing
 * remembers what was.  The same whether the program has handlers for faults, and whether the caller keeps
 * them out; and a handler sees none of it.
 */
#include "check.h"
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

enum { PAGE = 4096, ROUNDS = 20 };

static int fds[2], epoll;
static _Atomic int faults;

static void on_fault(int sig)
{
	(void)sig;
	faults++;
	_exit(9);
}

static void handlers(bool on)
{
	struct sigaction sa = { .sa_handler = on ? on_fault : SIG_DFL };

	CHECK_SYS(sigaction(SIGSEGV, &sa, NULL));
	CHECK_SYS(sigaction(SIGBUS, &sa, NULL));
}

static void kept_out(bool on)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigaddset(&set, SIGBUS);
	CHECK(!pthread_sigmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL));
}

/* ---- the calls: each reads or writes what p points to ---- */

static long selects(void *p)
{
	struct timeval none = { 0, 1 };

	return select(64, p, NULL, NULL, &none) < 0 ? -1 : 0;
}

static long pselects(void *p)
{
	return pselect(0, NULL, NULL, NULL, &(struct timespec){ 0, 1 }, p);
}

static long polls(void *p)
{
	return poll(p, 1, 0) < 0 ? -1 : 0;
}

static long ppolls(void *p)
{
	return ppoll(NULL, 0, &(struct timespec){ 0, 1 }, p);
}

static long epolls(void *p)
{
	return epoll_pwait(epoll, (struct epoll_event[1]){ { 0 } }, 1, 0, p);
}

static long sleeps(void *p)
{
	return nanosleep(p, NULL);
}

static long times(void *p)
{
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, p);
}

static long reads(void *p)
{
	CHECK_SYS(write(fds[1], "12345678", 8));
	return read(fds[0], p, 8) < 0 ? -1 : 0;
}

static long vectors(void *p)
{
	return writev(fds[1], p, 1) < 0 ? -1 : 0;
}

static long waits(void *p)
{
	long r = syscall(SYS_futex, p, FUTEX_WAIT_PRIVATE, 1, NULL);

	CHECK(r == -1);
	return errno == EAGAIN ? 0 : r;
}

static long wakes(void *p)
{
	return syscall(SYS_futex, &(int){ 0 }, FUTEX_WAKE_OP_PRIVATE, 1, 1L, p, FUTEX_OP(FUTEX_OP_OR, 0, 0, 0));
}

static long masks(void *p)
{
	sigset_t set;

	sigemptyset(&set);
	memcpy(&set, "", 0);
	return syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, p, 8);
}

static long takes(void *p)
{
	return sigtimedwait(p, NULL, &(struct timespec){ 0, 0 }) == -1 && errno == EAGAIN ? 0 : -1;
}

static const struct call {
	const char *name;
	long (*make)(void *p);
} calls[] = {
	{ "select", selects }, { "pselect", pselects }, { "poll", polls },     { "ppoll", ppolls },
	{ "epoll_pwait", epolls }, { "nanosleep", sleeps }, { "clock_gettime", times }, { "read", reads },
	{ "writev", vectors }, { "futex wait", waits }, { "futex wake", wakes },
	{ "rt_sigprocmask", masks }, { "sigtimedwait", takes },
};

static char *page(void)
{
	char *p = mmap((void *)0x100000000000, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void one(const struct call *c, int how)
{
	char *p = page();

	errno = 0;
	if (c->make(p)) {
		printf("%s of good memory: %s\n", c->name, strerror(errno));
		exit(1);
	}
	CHECK_SYS(how ? mprotect(p, PAGE, PROT_NONE) : munmap(p, PAGE));
	errno = 0;
	if (c->make(p) != -1 || errno != EFAULT) {
		printf("%s of memory that is gone: %s\n", c->name, strerror(errno));
		exit(1);
	}
}

static void *all(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++)
			one(&calls[k], i % 2);
	return arg;
}

int main(void)
{
	static const char *const names[] = { "no handlers", "no handlers, kept out", "handlers", "handlers, kept out" };
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	CHECK_SYS(pipe(fds));
	CHECK_SYS(epoll = epoll_create1(0));
	for (int i = 0; i < 4; i++) {
		handlers(i & 2);
		kept_out(i & 1);
		join(spawn(all, NULL));
		all(NULL);
		CHECK(!faults);
		passed(names[i]);
	}
	return 0;
}
