/*
 * exec from a thread other than main ends all other threads and keeps the process id, the
 * descriptors and the calling thread's signal mask; environment and arguments arrive.
 */
#include "check.h"
#include <signal.h>
#include <sys/wait.h>

static void *bystander(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *execs_shell(void *arg)
{
	char script[128];

	snprintf(script, sizeof script, "test $$ = %d && echo $1 $V && exit 6; exit 7",
		 (int)getpid());
	CHECK_SYS(setenv("V", "variable", 1));
	execlp("sh", "sh", "-c", script, "zero", "argument", (char *)NULL);
	_exit(99);
	return arg;
}

static void *execs_grep(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &set, NULL));
	/* A hexadecimal mask: SIGUSR1 is bit 9.  No shell between: dash clears it. */
	execlp("grep", "grep", "-q", "SigBlk:.*0200$", "/proc/self/status", (char *)NULL);
	_exit(99);
	return arg;
}

static void run(void *(*execs)(void *), int want)
{
	int status;
	pid_t pid;

	fflush(stdout);
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		for (int i = 0; i < 20; i++)
			spawn(bystander, NULL);
		spawn(execs, NULL);
		for (;;)
			pause();
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), want);
}

int main(void)
{
	run(execs_shell, 6);
	passed("same process, arguments, environment");
	run(execs_grep, 0);
	passed("the calling thread's signal mask");
	return 0;
}
