/*
 * box: runs one test where it can harm nobody, and where every run finds the same world.
 *
 *	box DIRECTORY PROGRAM [ARG...]
 *
 * In namespaces of its own for mounts and System V and POSIX IPC: /dev/shm is empty, message queues
 * may be as many and as long as the suites ask for, and all of them vanish with the last process.
 * CAP_SYS_TIME is dropped: some tests would set the machine's clock.  Every signal is at its
 * default and let in: a runner that a shell started in the background ignores SIGINT, which
 * tst-signal1 waits to die of.  Where namespaces are not allowed, the test runs without them and the
 * exit of `box --probe` says so.
 *
 * BOX_PRELOAD becomes LD_PRELOAD of the test, and of the test only.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/capability.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void put(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		perror(path);
	close(fd);
}

/* True when the namespaces are ours. */
static int isolate(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWIPC))
		return 0;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"))
		return 0;
	/* Limits of this namespace: the defaults (10 messages) fail tests that mean well. */
	put("/proc/sys/fs/mqueue/msg_max", "400");
	put("/proc/sys/fs/mqueue/msgsize_max", "65536");
	put("/proc/sys/fs/mqueue/queues_max", "1024");
	return 1;
}

static void default_signals(void)
{
	sigset_t none;

	for (int sig = 1; sig <= SIGRTMAX; sig++)
		signal(sig, SIG_DFL); /* fails for those that always are, and for libc's own */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	const char *preload = getenv("BOX_PRELOAD");
	struct rlimit none = { 0, 0 }, all = { RLIM_INFINITY, RLIM_INFINITY };
	int isolated = isolate();

	if (argc == 2 && !strcmp(argv[1], "--probe"))
		return isolated ? 0 : 1;
	if (argc < 3)
		return 125;
	default_signals();
	prctl(PR_CAPBSET_DROP, CAP_SYS_TIME);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_MSGQUEUE, &all);
	if (chdir(argv[1])) {
		perror(argv[1]);
		return 125;
	}
	if (preload && *preload)
		setenv("LD_PRELOAD", preload, 1);
	unsetenv("BOX_PRELOAD");
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return 125;
}
