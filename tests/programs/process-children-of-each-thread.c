/*
 * What a child process has with the very thread that made it: PR_SET_PDEATHSIG comes when that thread
 * ends and not before, wait() with __WNOTHREAD knows its own children alone, ptrace() obeys the
 * thread that made what is traced.  However the child was made, and whatever the thread did between.
 */
#include "check.h"
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { THREADS = 6, ROUNDS = 20 };

static const char *self;
static pthread_barrier_t gate, last;
static int quiet;

/* Others that come, block in the kernel, yield and go: kernel threads change hands. */
static void *bustle(void *arg)
{
	int fd[2];
	char c = 0;

	CHECK_SYS(pipe(fd));
	while (!__atomic_load_n(&quiet, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(write(fd[1], &c, 1), 1);
		CHECK_EQ(read(fd[0], &c, 1), 1);
		usleep(300);
		sched_yield();
	}
	CHECK_SYS(close(fd[0]));
	CHECK_SYS(close(fd[1]));
	return arg;
}

static void wander(void)
{
	for (int i = 0; i < 5; i++) {
		usleep(200);
		sched_yield();
	}
}

static void __attribute__((noreturn)) child(int up)
{
	CHECK_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
	CHECK_EQ(write(up, "x", 1), 1);
	for (;;)
		pause();
}

static int cloned(void *up)
{
	child(*(int *)up);
}

/* Each of the ways to make one. */
static pid_t make(int how, int up)
{
	static char stack[THREADS][65536] __attribute__((aligned(16)));
	char number[12];
	char *argv[] = { (char *)self, number, NULL };
	pid_t pid;

	snprintf(number, sizeof number, "%d", up);
	switch (how % 6) {
	case 0:
		pid = fork();
		break;
	case 1:
		pid = _Fork();
		break;
	case 2:
		CHECK_OK(posix_spawn(&pid, self, NULL, NULL, argv, environ));
		return pid;
	case 3:
		pid = vfork();
		if (pid == 0) {
			execv(self, argv);
			_exit(1);
		}
		return pid;
	case 4:
		return clone(cloned, stack[how % THREADS] + sizeof stack[0], SIGCHLD, &up);
	default:
		pid = (pid_t)syscall(SYS_fork);
	}
	if (pid == 0)
		child(up);
	return pid;
}

static pid_t children[THREADS];

static void *maker(void *arg)
{
	long how = (long)arg;
	int fd[2];
	char c;

	wander();
	CHECK_SYS(pipe(fd));
	CHECK_SYS(children[how] = make((int)how, fd[1]));
	CHECK_EQ(read(fd[0], &c, 1), 1);
	CHECK_SYS(close(fd[0]));
	CHECK_SYS(close(fd[1]));
	wander();
	CHECK_EQ(syscall(SYS_wait4, children[how], NULL, WNOHANG | __WNOTHREAD, NULL), 0);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG | __WNOTHREAD), 0);
	pthread_barrier_wait(&gate); /* all there */
	CHECK_ERR(waitpid(children[(how + 1) % THREADS], NULL, WNOHANG | __WNOTHREAD), ECHILD);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate); /* the even ones end */
	if (how % 2)
		pthread_barrier_wait(&last);
	return arg;
}

static void hears(void)
{
	pthread_t t[THREADS];
	int status;

	CHECK_OK(pthread_barrier_init(&gate, NULL, THREADS + 1));
	CHECK_OK(pthread_barrier_init(&last, NULL, THREADS / 2 + 1));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(maker, (void *)i);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	CHECK_ERR(waitpid(-1, NULL, WNOHANG | __WNOTHREAD), ECHILD);
	sleep(12); /* longer than anybody keeps a kernel thread that has nothing to do */
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(waitpid(children[i], NULL, WNOHANG), 0);
	passed("children live while the threads that made them live");
	pthread_barrier_wait(&gate);
	for (int i = 0; i < THREADS; i += 2) {
		CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		join(t[i]);
	}
	for (int i = 1; i < THREADS; i += 2)
		CHECK_EQ(waitpid(children[i], NULL, WNOHANG), 0);
	passed("those of a thread that ended are told, and no others");
	pthread_barrier_wait(&last);
	for (int i = 1; i < THREADS; i += 2) {
		CHECK_EQ(waitpid(children[i], &status, 0), children[i]);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		join(t[i]);
	}
	CHECK_OK(pthread_barrier_destroy(&gate));
	CHECK_OK(pthread_barrier_destroy(&last));
	passed("and these when theirs do");
}

static void *tracer(void *arg)
{
	struct user_regs_struct regs;
	int status;
	pid_t pid;

	wander();
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		raise(SIGSTOP);
		for (;;)
			pause();
	}
	wander();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	for (int i = 0; i < ROUNDS; i++) {
		wander();
		CHECK_SYS(ptrace(PTRACE_GETREGS, pid, NULL, &regs));
		CHECK_SYS(ptrace(PTRACE_SETREGS, pid, NULL, &regs));
	}
	CHECK_SYS(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	return arg;
}

static void traces(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(tracer, NULL);
	tracer(NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("each thread traces the child that it made");
}

/* One after another, waited for in between: nothing is left of the first. */
static void *serial(void *arg)
{
	int status;
	pid_t pid;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_SYS(pid = fork());
		if (pid == 0)
			_exit(3);
		if (i % 2)
			wander();
		CHECK_EQ(waitpid(pid, &status, i % 3 ? 0 : __WNOTHREAD), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
		CHECK_ERR(waitpid(-1, NULL, __WNOTHREAD), ECHILD);
	}
	return arg;
}

static void waits(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(serial, NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("each thread waits for its own children");
}

int main(int argc, char **argv)
{
	pthread_t b[3];

	self = argv[0];
	if (argc > 1)
		child(atoi(argv[1]));
	for (int i = 0; i < 3; i++)
		b[i] = spawn(bustle, NULL);
	waits();
	traces();
	hears();
	__atomic_store_n(&quiet, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 3; i++)
		join(b[i]);
	return 0;
}
