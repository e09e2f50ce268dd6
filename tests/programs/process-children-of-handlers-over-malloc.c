/*
 * A handler that interrupted malloc makes a child: vfork, posix_spawn, _Fork.  Making one is no matter of
 * malloc's lock, which the handler's own thread may hold: it takes no longer than anywhere else beside
 * threads that compute.  Each round is a process of its own, for only its first child may need anything new.
 */
#include "check.h"
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>

enum { ROUNDS = 6, OTHERS = 2, LONG_S = 5 };

static volatile sig_atomic_t made;
static int how;
static double took;

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void makes_a_child(int sig)
{
	char *argv[] = { "true", NULL };
	double began = seconds();
	pid_t pid;
	int status;

	(void)sig;
	switch (how) {
	case 0:
		pid = vfork();
		break;
	case 1:
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ))
			pid = -1;
		break;
	default:
		pid = _Fork();
	}
	if (pid == 0)
		_exit(0);
	took = seconds() - began;
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	made = 1;
}

static void *computes(void *arg)
{
	for (;;)
		sched_yield();
	return arg;
}

static void one_round(int after_us)
{
	struct itimerval once = { .it_value = { 0, after_us } };
	void *kept[64] = { 0 };
	unsigned r = 1;

	for (int i = 0; i < OTHERS; i++)
		spawn(computes, NULL);
	signal(SIGALRM, makes_a_child);
	CHECK_SYS(setitimer(ITIMER_REAL, &once, NULL));
	while (!made) {
		unsigned at;

		r = r * 1103515245 + 12345;
		at = r >> 16 & 63;
		free(kept[at]);
		kept[at] = malloc(3000 + (r >> 8) % 20000);
	}
	CHECK(took < LONG_S);
	_exit(0);
}

int main(void)
{
	static const char *names[] = { "vfork", "posix_spawn", "_Fork" };

	for (how = 0; how < 3; how++) {
		for (int i = 0; i < ROUNDS; i++) {
			int status;
			pid_t pid = fork();

			CHECK_SYS(pid);
			if (!pid)
				one_round(5000 + 1370 * i);
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			CHECK_EQ(status, 0);
		}
		passed("%s in %d handlers over malloc", names[how], ROUNDS);
	}
	return 0;
}
