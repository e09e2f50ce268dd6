/*
 * system, popen, posix_spawn, vfork+exec and waitpid from many threads at once: every output and every
 * status arrives where it belongs, and children inherit the calling thread's signal mask.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

enum { THREADS = 12 };

extern char **environ;

static void by_system(int n)
{
	char cmd[64];
	int status;

	snprintf(cmd, sizeof cmd, "exit %d", n);
	CHECK_SYS(status = system(cmd));
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), n);
}

static void by_popen(int n)
{
	char cmd[64], line[64], want[64];
	FILE *f;

	snprintf(cmd, sizeof cmd, "echo output of %d; exit %d", n, n);
	snprintf(want, sizeof want, "output of %d\n", n);
	CHECK((f = popen(cmd, "r")) != NULL);
	CHECK(fgets(line, sizeof line, f) != NULL);
	CHECK_EQ(strcmp(line, want), 0);
	CHECK(fgets(line, sizeof line, f) == NULL);
	CHECK_EQ(WEXITSTATUS(pclose(f)), n);
	snprintf(cmd, sizeof cmd, "read x; test \"$x\" = text%d", n);
	CHECK((f = popen(cmd, "w")) != NULL);
	CHECK(fprintf(f, "text%d\n", n) > 0);
	CHECK_EQ(pclose(f), 0);
}

static void by_spawn(int n)
{
	char code[16], buf[64];
	char *argv[] = { "sh", "-c", "printf spawned; exit $0", code, NULL };
	posix_spawn_file_actions_t fa;
	int fd[2], status;
	pid_t pid;

	snprintf(code, sizeof code, "%d", n);
	CHECK_SYS(pipe(fd));
	CHECK_OK(posix_spawn_file_actions_init(&fa));
	CHECK_OK(posix_spawn_file_actions_adddup2(&fa, fd[1], STDOUT_FILENO));
	CHECK_OK(posix_spawn_file_actions_addclose(&fa, fd[0]));
	CHECK_OK(posix_spawnp(&pid, "sh", &fa, NULL, argv, environ));
	CHECK_OK(posix_spawn_file_actions_destroy(&fa));
	CHECK_SYS(close(fd[1]));
	CHECK_EQ(read(fd[0], buf, sizeof buf), 7);
	CHECK_SYS(close(fd[0]));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), n);
	CHECK_EQ(posix_spawn(&pid, "/nonexistent", NULL, NULL, argv, environ), ENOENT);
}

static void by_vfork(int n)
{
	int status;
	pid_t pid = vfork();

	CHECK_SYS(pid);
	if (pid == 0) {
		char code[32];

		snprintf(code, sizeof code, "exit %d", n);
		execl("/bin/sh", "sh", "-c", code, (char *)NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), n);
}

static void by_waitid(int n)
{
	siginfo_t info = { 0 };
	int hold[2];
	pid_t pid;
	char c;

	CHECK_SYS(pipe2(hold, O_CLOEXEC));
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_EQ(read(hold[0], &c, 1), 1);
		_exit(n);
	}
	CHECK_EQ(waitpid(pid, NULL, WNOHANG), 0);
	CHECK_EQ(write(hold[1], "x", 1), 1);
	CHECK_SYS(close(hold[0]));
	CHECK_SYS(close(hold[1]));
	CHECK_SYS(waitid(P_PID, (id_t)pid, &info, WEXITED));
	CHECK_EQ(info.si_pid, pid);
	CHECK_EQ(info.si_code, CLD_EXITED);
	CHECK_EQ(info.si_status, n);
	CHECK_ERR(waitpid(pid, NULL, 0), ECHILD);
}

static void mask_is_inherited(int n)
{
	/* A hexadecimal mask; SIGUSR1 is bit 9, SIGUSR2 bit 11.  No shell between: dash clears it. */
	char *pattern = n % 2 ? "SigBlk:.*0200$" : "SigBlk:.*0800$";
	char *argv[] = { "grep", "-q", pattern, "/proc/self/status", NULL };
	sigset_t set;
	int status;
	pid_t pid;

	sigemptyset(&set);
	sigaddset(&set, n % 2 ? SIGUSR1 : SIGUSR2);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &set, NULL));
	sched_yield();
	CHECK_OK(posix_spawnp(&pid, "grep", NULL, NULL, argv, environ));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	sigemptyset(&set);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &set, NULL));
}

static void *work(void *arg)
{
	int n = (int)(long)arg;

	for (int i = 0; i < 3; i++) {
		by_system(n);
		by_popen(n + i);
		by_spawn(n);
		by_vfork(n);
		by_waitid(n);
	}
	mask_is_inherited(n);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(work, (void *)(i + 10));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads: system, popen, posix_spawn, vfork, waitid, masks", THREADS);
	return 0;
}
