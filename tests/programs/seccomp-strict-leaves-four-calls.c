/*
 * SECCOMP_MODE_STRICT: the thread may read, write, end and return from a handler; for all else the kernel ends
 * that thread, and no other.  In a fork child, alone, and in a thread among others, which are joined and go on.
 */
#include "check.h"
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { ENDS = 7 };

static int in[2], out[2]; /* to the strict thread, from it */
static bool by_number;

static void enter(void)
{
	if (by_number)
		CHECK_SYS(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL));
	else
		CHECK_SYS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
}

/* What the mode is for: reads, computes, writes. */
static void answers(void)
{
	char d[8];
	ssize_t n;

	while ((n = read(in[0], d, sizeof(d))) > 0 && d[0] != '.') {
		for (ssize_t i = 0; i < n; i++)
			d[i] ^= 0x20;
		if (write(out[1], d, (size_t)n) != n)
			break;
	}
}

static void asks(void)
{
	char d[8];

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(write(in[1], "abcd", 4), 4);
		CHECK_EQ(read(out[0], d, sizeof(d)), 4);
		CHECK(!memcmp(d, "ABCD", 4));
	}
	CHECK_EQ(write(in[1], ".", 1), 1);
}

/* ---- ends ---- */

static void by_exit(void)
{
	syscall(SYS_exit, ENDS);
}

static void by_another_call(void)
{
	syscall(SYS_getppid);
}

static void by_open(void)
{
	if (open("/dev/null", 0) >= 0)
		by_exit();
}

static const struct end {
	const char *name;
	void (*make)(void);
	int status; /* of a child */
} ends[] = {
	{ "exit", by_exit, ENDS << 8 }, { "another call", by_another_call, SIGKILL }, { "open", by_open, SIGKILL },
};

/* ---- alone ---- */

static void in_child(const struct end *e)
{
	int status;
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (!pid) {
		enter();
		answers();
		e->make();
	}
	asks();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status & 0xff7f, e->status);
}

static int handled;

static void on_usr1(int sig)
{
	(void)sig;
	handled++;
	if (write(out[1], "h", 1) != 1)
		by_exit();
}

static void with_handler(void)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	char d[8];
	int status;
	pid_t pid;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(pid = fork());
	if (!pid) {
		enter();
		if (write(out[1], "r", 1) == 1)
			answers();
		syscall(SYS_exit, handled);
	}
	CHECK_EQ(read(out[0], d, 1), 1);
	for (int i = 0; i < 3; i++) {
		CHECK_SYS(kill(pid, SIGUSR1));
		CHECK_EQ(read(out[0], d, 1), 1);
		CHECK_EQ(d[0], 'h');
	}
	asks();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 3 << 8);
}

/* ---- among others ---- */

static atomic_int stop, turns;

static void *works(void *arg)
{
	while (!stop) {
		turns++;
		sched_yield();
	}
	return arg;
}

static void *strict(void *arg)
{
	const struct end *e = arg;

	enter();
	answers();
	e->make();
	return arg;
}

static void *watched(void *arg)
{
	pthread_t t = spawn(strict, arg);
	void *result = arg;

	CHECK_OK(pthread_join(t, &result));
	CHECK(!result);
	return arg;
}

static void among_others(const struct end *e)
{
	pthread_t w = spawn(works, NULL), t = spawn(watched, (void *)e);
	int before;

	asks();
	join(t);
	before = turns;
	while (turns < before + 100)
		sched_yield();
	stop = 1;
	join(w);
	stop = 0;
}

static void *refused(void *arg)
{
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL), EINVAL);
	CHECK_ERR(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, arg), EINVAL);
	CHECK(syscall(SYS_getppid) > 0);
	return arg;
}

static void all(const char *where)
{
	for (by_number = false;; by_number = true) {
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			in_child(&ends[i]);
			passed("%s, a child that ends by %s", where, ends[i].name);
		}
		with_handler();
		passed("%s, a child with a handler", where);
		if (by_number)
			return;
	}
}

static void *child_of_thread(void *arg)
{
	all("from a thread");
	return arg;
}

int main(void)
{
	CHECK_SYS(pipe(in));
	CHECK_SYS(pipe(out));
	all("before the first thread");
	join(spawn(refused, in));
	passed("what is refused changes nothing");
	all("from main");
	join(spawn(child_of_thread, NULL));
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		among_others(&ends[i]);
		passed("a thread that ends by %s", ends[i].name);
	}
	all("afterwards");
	return 0;
}
