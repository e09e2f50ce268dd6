/*
 * A filter that refuses every thread, in a process that has made none: it goes on with its one thread.  No
 * other kernel thread is made for it, nothing is said on its standard error (which a server has given to its
 * client), pthread_create fails as the kernel says.  A filter that the kernel does not take changes nothing.
 */
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int said[2]; /* standard error of the child */

static long install(unsigned answer, int flags)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, answer),
	};
	struct sock_fprog program = { sizeof(f) / sizeof(f[0]), f };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* What the kernel says; to list /proc/self/task would ask others to end. */
static int threads_there(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	int n = 0;

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Threads: %d", &n);
	fclose(f);
	return n;
}

static void *nothing(void *arg)
{
	return arg;
}

static void refused(unsigned answer)
{
	int ends[2];
	char c = 0;
	pthread_t t;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(install(answer, 0) == 0);
	CHECK(install(answer, 0) == 0); /* asked again, behind the first */
	printf("kernel threads: %d\n", threads_there());
	CHECK(pipe(ends) == 0 && write(ends[1], "x", 1) == 1 && read(ends[0], &c, 1) == 1 && c == 'x');
	if (answer != SECCOMP_RET_KILL_PROCESS)
		printf("a thread: %s\n", pthread_create(&t, NULL, nothing, NULL) == EPERM ? "refused" : "other");
}

static void one_thread(void)
{
	pthread_t t;

	CHECK(pthread_create(&t, NULL, nothing, NULL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
}

/* The kernel knows no such flag. */
static void not_taken(bool late)
{
	if (late)
		one_thread();
	CHECK(install(SECCOMP_RET_KILL_PROCESS, 1 << 30) == -1 && errno == EINVAL);
	one_thread();
	one_thread();
	printf("a filter that was not taken: a thread is made\n");
}

static void scene(int way)
{
	dup2(said[1], 2);
	close(said[0]);
	close(said[1]);
	if (way >= 2)
		not_taken(way == 3);
	else
		refused(way ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM);
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	static const char *const names[] = { "error", "kill", "not taken", "not taken after a thread" };
	char text[4096];

	for (int way = 0; way < 4; way++) {
		ssize_t n, bytes = 0;
		int status;
		pid_t child;

		CHECK(pipe(said) == 0);
		fflush(stdout);
		child = fork();
		if (child == 0)
			scene(way);
		close(said[1]);
		while ((n = read(said[0], text, sizeof(text))) > 0)
			bytes += n;
		close(said[0]);
		CHECK(waitpid(child, &status, 0) == child);
		printf("%s: status %d, %zd bytes on standard error\n", names[way], status, bytes);
	}
	return 0;
}
