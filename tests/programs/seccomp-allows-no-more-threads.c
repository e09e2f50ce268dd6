/*
 * Behind a filter that forbids new threads, those that are there go on: all of them block in calls at
 * the same moment, each in one that the kernel alone can wait for, and the last one lets them go.
 */
#include "check.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { THREADS = 12 };

static const char *path;
static pthread_barrier_t ready, filtered;
static int got;

static void install(unsigned answer, int flags)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, answer),
	};
	struct sock_fprog program = { sizeof(f) / sizeof(f[0]), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0);
}

/* Waits for the file's lock, of which main holds the first. */
static void *locker(void *arg)
{
	int fd;

	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&filtered);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0);
	CHECK(flock(fd, LOCK_EX) == 0);
	__atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
	close(fd);
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

static void scene(unsigned answer)
{
	char name[] = "/tmp/seccomp-lock-XXXXXX";
	int fd = mkstemp(name);
	pthread_t t[THREADS], more;

	CHECK(fd >= 0);
	path = name;
	CHECK(flock(fd, LOCK_EX) == 0);
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	pthread_barrier_init(&filtered, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, locker, NULL) == 0);
	pthread_barrier_wait(&ready);
	install(answer, SECCOMP_FILTER_FLAG_TSYNC);
	pthread_barrier_wait(&filtered);
	for (int i = 0; i < 30; i++)
		usleep(1000);
	CHECK(__atomic_load_n(&got, __ATOMIC_RELAXED) == 0);
	if (answer != SECCOMP_RET_KILL_PROCESS)
		CHECK(pthread_create(&more, NULL, nothing, NULL) == EPERM);
	close(fd);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(got == THREADS);
	unlink(name);
}

int main(void)
{
	static const unsigned answers[] = { SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_KILL_PROCESS };

	for (int i = 0; i < 2; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			alarm(60);
			scene(answers[i]);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		printf("%s: %d\n", i ? "kill" : "error", status);
		fflush(stdout);
	}
	return 0;
}
