/*
 * check.h: the few words that every program in this folder shares.
 *
 * A program here is plain POSIX: no weft name, no weft header.  It is run on libc alone first (the
 * oracle) and then under weft with several processor counts; standard output and exit status must
 * be the same each time.  So a program
 *   - prints only what is true on every run (never a time, an address, a thread id or a count that
 *     depends on who ran first), one line for each thing it has checked;
 *   - exits 0 when all checks held; the first one that does not prints what and where, and exits 1;
 *   - never assumes that a time passed: only orders and lower bounds of sleeps;
 *   - never spins without a libc call (sched_yield at least): threads may be scheduled
 *     cooperatively.  Programs named preempt-* are the exception.
 *
 * FAMILY-behaviour.c   cc -std=gnu17 -O2 -pthread -o FAMILY-behaviour FAMILY-behaviour.c
 * FAMILY-behaviour.cc  c++ -std=c++20 -O2 -pthread, the same
 * lib/NAME.c           cc -std=gnu17 -O2 -fPIC -shared -o lib/NAME.so, where lib/ lies beside the
 *                      executables (programs open "$ORIGIN/lib/NAME.so")
 */
#ifndef CHECK_H
#define CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dirent.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

/* Where libc's own behaviour is not the same in each release: the N of 2.N. */
static int UNUSED libc_minor(void)
{
	return atoi(gnu_get_libc_version() + 2);
}

/*
 * _exit, not exit: a failed check may hold any lock, and atexit handlers are themselves under test.
 * The text goes out through write for the same reason (stdout's own lock may be ours or lost).
 */
static void UNUSED __attribute__((noreturn))
check_failed(const char *file, int line, const char *what, long long got, long long want)
{
	char buf[512];
	int n = snprintf(buf, sizeof buf, "FAILED %s:%d: %s (got %lld, wanted %lld)\n", file, line,
			 what, got, want);
	ssize_t put = write(STDOUT_FILENO, buf, n < (int)sizeof buf ? n : (int)sizeof buf - 1);

	_exit(put < 0 ? 2 : 1);
}

/* A condition that must hold. */
#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			check_failed(__FILE__, __LINE__, #cond, 0, 1);                             \
	} while (0)

/* A value that must equal another; both are printed when they differ. */
#define CHECK_EQ(got, want)                                                                        \
	do {                                                                                       \
		long long got_ = (long long)(got), want_ = (long long)(want);                      \
		if (got_ != want_)                                                                 \
			check_failed(__FILE__, __LINE__, #got " == " #want, got_, want_);          \
	} while (0)

/* A pthread function (it returns the error) that must succeed. */
#define CHECK_OK(call) CHECK_EQ(call, 0)

/* A system call (-1 and errno) that must succeed; evaluates nothing. */
#define CHECK_SYS(call)                                                                            \
	do {                                                                                       \
		if ((long)(call) == -1)                                                            \
			check_failed(__FILE__, __LINE__, #call, errno, 0);                         \
	} while (0)

/* A system call that must fail with the given errno. */
#define CHECK_ERR(call, err)                                                                       \
	do {                                                                                       \
		errno = 0;                                                                         \
		long long got_ = (long)(call);                                                     \
		if (got_ != -1)                                                                    \
			check_failed(__FILE__, __LINE__, #call " fails", got_, -1);                \
		CHECK_EQ(errno, err);                                                              \
	} while (0)

/* One line for a thing that was checked; printed by one thread at a time, in a fixed order. */
static void UNUSED __attribute__((format(printf, 1, 2))) passed(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("ok ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
}

static UNUSED pthread_t spawn(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	CHECK_OK(pthread_create(&t, NULL, fn, arg));
	return t;
}

/* The same with SCHED_FIFO at a priority; an error where the caller may not (EPERM), and no thread then. */
static UNUSED int spawn_fifo(pthread_t *t, int priority, void *(*fn)(void *), void *arg)
{
	struct sched_param sp = { .sched_priority = priority };
	pthread_attr_t a;
	int err;

	CHECK_OK(pthread_attr_init(&a));
	CHECK_OK(pthread_attr_setinheritsched(&a, PTHREAD_EXPLICIT_SCHED));
	CHECK_OK(pthread_attr_setschedpolicy(&a, SCHED_FIFO));
	CHECK_OK(pthread_attr_setschedparam(&a, &sp));
	err = pthread_create(t, &a, fn, arg);
	CHECK_OK(pthread_attr_destroy(&a));
	return err;
}

static UNUSED void *join(pthread_t t)
{
	void *value = NULL;

	CHECK_OK(pthread_join(t, &value));
	return value;
}

/* The stack of t without its guard, as the program is told of it. */
static void UNUSED stack_bounds(pthread_t t, char **low, char **high)
{
	pthread_attr_t attr;
	void *at;
	size_t n;

	CHECK_OK(pthread_getattr_np(t, &attr));
	CHECK_OK(pthread_attr_getstack(&attr, &at, &n));
	CHECK_OK(pthread_attr_destroy(&attr));
	*low = (char *)at;
	*high = *low + n;
}

static long long UNUSED now_ns(clockid_t clock)
{
	struct timespec ts;

	CHECK_SYS(clock_gettime(clock, &ts));
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* An absolute time ms milliseconds from now (or before, when negative). */
static struct timespec UNUSED after_ms(clockid_t clock, long ms)
{
	long long ns = now_ns(clock) + ms * 1000000LL;
	struct timespec ts = { .tv_sec = ns / 1000000000LL, .tv_nsec = ns % 1000000000LL };

	return ts;
}

static int UNUSED kernel_threads(void)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d)))
		n += e->d_name[0] != '.';
	CHECK_SYS(closedir(d));
	return n;
}

/*
 * Long enough for another thread to have reached its blocking call.  It only makes the interesting
 * interleaving likely: a program's output must be the same when the other thread was late.
 */
static void UNUSED let_others_block(void)
{
	struct timespec ts = { .tv_sec = 0, .tv_nsec = 30 * 1000000L };

	while (nanosleep(&ts, &ts) == -1 && errno == EINTR)
		;
}

/*
 * Until the thread sleeps.  It has told its id last before the call that is to block, and nothing in
 * between sleeps.
 */
static void UNUSED until_asleep(const volatile pid_t *tid)
{
	char path[64], text[256], *state;
	FILE *f;

	for (;;) {
		sched_yield();
		if (!*tid)
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)*tid);
		f = fopen(path, "r");
		CHECK(f);
		CHECK(fgets(text, sizeof text, f));
		fclose(f);
		state = strrchr(text, ')');
		CHECK(state);
		if (state[2] == 'S')
			return;
	}
}

/* At a barrier, until all have come. */
static void UNUSED meet_at(pthread_barrier_t *bar)
{
	int r = pthread_barrier_wait(bar);

	CHECK(r == 0 || r == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* A child that ends by itself, with this code. */
static void UNUSED child_ends(pid_t pid, int code)
{
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, code << 8);
}

/* Each round in a process of its own, which round() ends with status 0. */
static void UNUSED in_children(int rounds, void (*round)(void))
{
	for (int i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (!pid)
			round();
		child_ends(pid, 0);
	}
}

/* For signals that are to interrupt the allocator. */
static void UNUSED allocate(void)
{
	void *p[20];

	for (int i = 0; i < 20; i++)
		CHECK(p[i] = malloc(2000));
	for (int i = 0; i < 20; i++)
		free(p[i]);
}

#endif
