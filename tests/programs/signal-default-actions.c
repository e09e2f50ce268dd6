/*
 * Default actions in programs with threads, each in a child: SIGTERM, SIGKILL, SIGABRT, SIGPIPE,
 * SIGSEGV of a thread end the whole process with that signal; SIGCHLD and SIGURG do nothing;
 * SIGPIPE ignored is EPIPE; SIGSTOP and SIGCONT stop and continue all threads.
 */
#include "check.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int fds[2];
static volatile int *volatile nowhere;

static void *bystander(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *does(void *arg)
{
	switch ((long)arg) {
	case SIGTERM:
		CHECK_SYS(kill(getpid(), SIGTERM));
		break;
	case SIGUSR1:
		CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
		break;
	case SIGABRT:
		abort();
	case SIGPIPE:
		CHECK_SYS(close(fds[0]));
		CHECK_SYS(write(fds[1], "x", 1));
		break;
	case SIGSEGV:
		*nowhere = 1;
		break;
	case SIGFPE:
		CHECK_SYS(raise(SIGFPE));
		break;
	}
	for (;;)
		pause();
	return NULL;
}

static void dies_of(int sig)
{
	struct rlimit none = { 0, 0 };
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_SYS(setrlimit(RLIMIT_CORE, &none));
		CHECK_SYS(pipe(fds));
		for (int i = 0; i < 10; i++)
			spawn(bystander, NULL);
		spawn(does, (void *)(long)sig);
		for (;;)
			pause();
	}
	if (sig == SIGKILL)
		CHECK_SYS(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), sig);
	passed("%s", sigabbrev_np(sig));
}

static void *ignored(void *arg)
{
	struct sigaction ign = { .sa_handler = SIG_IGN };

	CHECK_SYS(pipe(fds));
	CHECK_SYS(close(fds[0]));
	CHECK_SYS(sigaction(SIGPIPE, &ign, NULL));
	CHECK_ERR(write(fds[1], "x", 1), EPIPE);
	CHECK_SYS(close(fds[1]));
	CHECK_SYS(raise(SIGCHLD));
	CHECK_SYS(raise(SIGURG));
	CHECK_SYS(raise(SIGWINCH));
	return arg;
}

static void *yields(void *arg)
{
	for (;;)
		sched_yield();
	return arg;
}

static void stops_and_continues(void)
{
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0) {
		for (int i = 0; i < 5; i++)
			spawn(i % 2 ? bystander : yields, NULL);
		for (;;)
			pause();
	}
	for (int i = 0; i < 5; i++) {
		CHECK_SYS(kill(pid, SIGSTOP));
		CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
		CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
		CHECK_SYS(kill(pid, SIGCONT));
		CHECK_EQ(waitpid(pid, &status, WCONTINUED), pid);
		CHECK(WIFCONTINUED(status));
	}
	CHECK_SYS(kill(pid, SIGINT));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	passed("stopped and continued five times");
}

int main(void)
{
	static const int sigs[] = { SIGTERM, SIGUSR1, SIGKILL, SIGABRT, SIGPIPE, SIGSEGV, SIGFPE };

	signal(SIGINT, SIG_DFL); /* a shell starts what runs in the background with it ignored */
	for (unsigned i = 0; i < sizeof sigs / sizeof sigs[0]; i++)
		dies_of(sigs[i]);
	join(spawn(ignored, NULL));
	passed("ignored ones");
	stops_and_continues();
	return 0;
}
