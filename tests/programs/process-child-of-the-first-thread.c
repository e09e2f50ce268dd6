/*
 * The first thread of a process makes a child, while nothing else has run yet, and so does a thread after it:
 * the child is that thread's, and not main's.  wait() with __WNOTHREAD says so to both, and
 * PR_SET_PDEATHSIG comes when that thread ends.  By each of the ways in which nothing is executed.
 */
#include "check.h"
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

static int up[2];
static pid_t child;
static pthread_barrier_t gate;

static pid_t by_forkpty(void)
{
	int terminal;
	pid_t pid = forkpty(&terminal, NULL, NULL, NULL);

	if (pid > 0)
		CHECK(terminal >= 0); /* open as long as this process: its end is a SIGHUP for the child */
	return pid;
}

static pid_t by_number(void)
{
	return (pid_t)syscall(SYS_fork);
}

static const struct way {
	const char *name;
	pid_t (*make)(void);
} ways[] = { { "fork", fork }, { "_Fork", _Fork }, { "forkpty", by_forkpty }, { "a fork by number", by_number } };

static void __attribute__((noreturn)) be_child(void)
{
	CHECK_SYS(prctl(PR_SET_PDEATHSIG, SIGKILL));
	CHECK_EQ(write(up[1], "x", 1), 1);
	for (;;)
		pause();
}

static void *maker(void *way)
{
	pid_t (*make)(void) = ((const struct way *)way)->make;
	char c;

	CHECK_SYS(child = make());
	if (child == 0)
		be_child();
	CHECK_EQ(read(up[0], &c, 1), 1);
	CHECK_EQ(waitpid(child, NULL, WNOHANG | __WNOTHREAD), 0);
	pthread_barrier_wait(&gate); /* made */
	pthread_barrier_wait(&gate); /* main has looked */
	CHECK_EQ(waitpid(child, NULL, WNOHANG | __WNOTHREAD), 0);
	return NULL;
}

static void one(const struct way *way)
{
	pthread_t t = spawn(maker, (void *)way);
	int status;

	pthread_barrier_wait(&gate);
	CHECK_ERR(waitpid(-1, NULL, WNOHANG | __WNOTHREAD), ECHILD);
	pthread_barrier_wait(&gate);
	join(t);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A process that has had no other thread. */
static void anew(const struct way *way)
{
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_SYS(pipe(up));
		CHECK_OK(pthread_barrier_init(&gate, NULL, 2));
		one(way);
		one(way);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		exit(1); /* it has said what */
	passed("%s", way->name);
}

int main(void)
{
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++)
		anew(&ways[i]);
	return 0;
}
