/*
 * 150 forks from ten threads, of a process that grows and shrinks meanwhile; each child makes
 * threads, uses pipes, sleeps, polls and forks itself; any child may be reaped by any thread with
 * waitpid(-1).
 */
#include "check.h"
#include <poll.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { FORKERS = 10, FORKS = 15 };

static atomic_int stop, reaped;

static void *echo(void *arg)
{
	int *fd = arg;
	char c;

	CHECK_EQ(read(fd[0], &c, 1), 1);
	CHECK_EQ(write(fd[1], &c, 1), 1);
	return arg;
}

static void in_child(int n)
{
	int there[2], back[2], ends[2];
	struct pollfd p;
	pthread_t t;
	char c = (char)n;

	CHECK_SYS(pipe(there));
	CHECK_SYS(pipe(back));
	ends[0] = there[0];
	ends[1] = back[1];
	t = spawn(echo, ends);
	CHECK_SYS(usleep(1000));
	CHECK_EQ(write(there[1], &c, 1), 1);
	p = (struct pollfd){ .fd = back[0], .events = POLLIN };
	CHECK_EQ(poll(&p, 1, 30000), 1);
	CHECK_EQ(read(back[0], &c, 1), 1);
	CHECK_EQ(c, (char)n);
	join(t);
	if (n % 5 == 0) {
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0)
			_exit(n % 50);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(WEXITSTATUS(status), n % 50);
	}
	_exit(0);
}

static void *short_life(void *arg)
{
	CHECK_SYS(usleep(50));
	return arg;
}

static void *grows_and_shrinks(void *arg)
{
	while (!stop) {
		pthread_t t[5];

		for (int i = 0; i < 5; i++)
			t[i] = spawn(short_life, NULL);
		for (int i = 0; i < 5; i++)
			join(t[i]);
	}
	return arg;
}

static void *forks(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < FORKS; i++) {
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0)
			in_child((int)me * FORKS + i);
		CHECK((pid = waitpid(-1, &status, 0)) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		reaped++;
	}
	return NULL;
}

int main(void)
{
	pthread_t t[FORKERS], g[3];

	for (int i = 0; i < 3; i++)
		g[i] = spawn(grows_and_shrinks, NULL);
	for (long i = 0; i < FORKERS; i++)
		t[i] = spawn(forks, (void *)i);
	for (int i = 0; i < FORKERS; i++)
		join(t[i]);
	stop = 1;
	for (int i = 0; i < 3; i++)
		join(g[i]);
	CHECK_EQ(reaped, FORKERS * FORKS);
	CHECK_ERR(waitpid(-1, NULL, WNOHANG), ECHILD);
	passed("%d children, all reaped", FORKERS * FORKS);
	return 0;
}
