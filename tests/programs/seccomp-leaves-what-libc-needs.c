/*
 * A filter that allows no system call but those that the program and libc make ends nobody: neither
 * when it is there before the first thread, nor when one thread gets it while others work, nor when
 * all get it at once (TSYNC).  Threads lock, wait, sleep, read and write pipes, poll, make threads
 * and are signalled behind it.
 */
#include "check.h"
#include "filter.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int allowed[] = {
	SYS_read, SYS_write, SYS_close, SYS_futex, SYS_mmap, SYS_munmap, SYS_mprotect, SYS_madvise, SYS_brk,
	SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask, SYS_rt_sigreturn,
	SYS_rt_sigaction, SYS_exit, SYS_exit_group, SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_pread64,
	SYS_tgkill, SYS_gettid, SYS_getpid, SYS_restart_syscall, SYS_getrandom,
};

enum { TURNS = 200, BYTES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn, ends[2], handled, deny, way;
static pthread_barrier_t installed;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void on_sys(int sig, siginfo_t *info, void *context)
{
	char line[] = "forbidden: 000\n";

	(void)sig;
	(void)context;
	for (int i = 13, n = info->si_syscall; i > 10; i--, n /= 10)
		line[i] = (char)('0' + n % 10);
	if (write(2, line, sizeof(line) - 1) < 0)
		_exit(8);
	_exit(9);
}

static void install(int flags)
{
	if (FILTER_INSTALL(allowed, SECCOMP_RET_ALLOW, (unsigned)deny, flags))
		_exit(3);
}

static void *player(void *arg)
{
	int me = *(int *)arg;

	for (int i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 2 != me)
			pthread_cond_wait(&turned, &lock);
		turn++;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *reader(void *arg)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };
	char c;

	for (int i = 0; i < BYTES; i++) {
		if (i % 2 && poll(&p, 1, -1) != 1)
			return arg;
		if (read(ends[0], &c, 1) != 1)
			return arg;
	}
	return NULL;
}

static void *sleeper(void *unused)
{
	struct timespec ms = { 0, 1000000 };

	for (int i = 0; i < 10; i++)
		nanosleep(&ms, NULL);
	return unused;
}

static void *computer(void *unused)
{
	volatile unsigned long n = 0;

	for (int i = 0; i < 30000000; i++)
		n += (unsigned)i;
	return unused;
}

static void *writer(void *arg)
{
	struct timespec some = { 0, 300000 };

	for (int i = 0; i < BYTES; i++) {
		if (i % 4 == 0)
			nanosleep(&some, NULL);
		if (write(ends[1], "x", 1) != 1)
			return arg;
	}
	return NULL;
}

/* Threads that block, compute, wait and are signalled: 0 when all did what they should. */
static int work(void)
{
	static int sides[2] = { 0, 1 };
	pthread_t t[7];
	void *r;
	int bad = 0, n = 0;

	turn = 0;
	pthread_create(&t[n++], NULL, player, &sides[0]);
	pthread_create(&t[n++], NULL, player, &sides[1]);
	pthread_create(&t[n++], NULL, reader, t);
	pthread_create(&t[n++], NULL, writer, t);
	pthread_create(&t[n++], NULL, sleeper, NULL);
	pthread_create(&t[n++], NULL, computer, NULL);
	pthread_create(&t[n++], NULL, computer, NULL);
	for (int i = 0; i < 20; i++)
		bad += pthread_kill(t[i % 2], SIGUSR1) != 0;
	for (int i = 0; i < n; i++) {
		pthread_join(t[i], &r);
		bad += r != NULL;
	}
	return bad;
}

static void *one(void *unused)
{
	if (way == 1)
		install(0);
	pthread_barrier_wait(&installed);
	return work() ? &way : unused;
}

/* Reads a pipe of its own from before the filter until the end. */
static int late[2];

static void *waiter(void *arg)
{
	char c;

	return read(late[0], &c, 1) == 1 ? NULL : arg;
}

static int scene(void)
{
	struct sigaction usr1 = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	struct sigaction sys = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };
	pthread_t a, w;
	void *r, *s;
	int bad = 0;

	sigaction(SIGUSR1, &usr1, NULL);
	sigaction(SIGSYS, &sys, NULL);
	if (pipe(ends) || pipe(late))
		return 2;
	if (way == 0) {
		install(0);
		return work();
	}
	pthread_barrier_init(&installed, NULL, 2);
	pthread_create(&w, NULL, waiter, &late);
	pthread_create(&a, NULL, one, NULL);
	if (way == 2)
		install(SECCOMP_FILTER_FLAG_TSYNC);
	pthread_barrier_wait(&installed);
	pthread_join(a, &r);
	if (write(late[1], "x", 1) != 1)
		bad++;
	pthread_join(w, &s);
	return bad + (r != NULL) + (s != NULL);
}

int main(void)
{
	static const char *const ways[] = { "before the first thread", "by one thread", "for all threads" };
	static const struct {
		const char *name;
		unsigned action;
	} actions[] = {
		{ "trap", SECCOMP_RET_TRAP },
		{ "error", SECCOMP_RET_ERRNO | EPERM },
		{ "kill", SECCOMP_RET_KILL_PROCESS },
	};

	for (int a = 0; a < 3; a++)
		for (int w = 0; w < 3; w++) {
			int status;
			pid_t child = fork();

			if (child == 0) {
				deny = (int)actions[a].action;
				way = w;
				alarm(60);
				_exit(scene());
			}
			if (waitpid(child, &status, 0) != child)
				return 2;
			printf("%s, %s: %s %d\n", ways[w], actions[a].name,
			       WIFEXITED(status) ? "status" : "signal",
			       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
			fflush(stdout);
		}
	return 0;
}
