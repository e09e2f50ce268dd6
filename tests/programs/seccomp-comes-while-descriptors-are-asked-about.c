/*
 * A filter that allows no system call but those that the program and libc make, and that all threads get at once
 * (TSYNC), ends nobody, though threads make, read, write and close pipes and sockets at that moment.
 */
#include "check.h"
#include "filter.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int allowed[] = {
	SYS_read, SYS_write, SYS_close, SYS_pipe, SYS_pipe2, SYS_socketpair, SYS_futex, SYS_mmap, SYS_munmap,
	SYS_mprotect, SYS_madvise, SYS_brk, SYS_clone, SYS_clone3, SYS_set_robust_list, SYS_rseq, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_exit, SYS_exit_group, SYS_nanosleep, SYS_clock_nanosleep, SYS_tgkill, SYS_gettid,
	SYS_getpid, SYS_restart_syscall,
};

enum { CHILDREN = 80, THREADS = 6, ROUNDS = 60 };

static void on_sys(int sig)
{
	(void)sig;
	_exit(9);
}

static void install(void)
{
	if (FILTER_INSTALL(allowed, SECCOMP_RET_ALLOW, SECCOMP_RET_TRAP, SECCOMP_FILTER_FLAG_TSYNC))
		_exit(3);
}

/* Each pair is new, and so are its numbers to whatever keeps notes of them. */
static void *user(void *arg)
{
	int which = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		int ends[2];
		char c = 'x';

		if ((i + which) % 2 ? pipe(ends) : socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return arg;
		if (write(ends[1], &c, 1) != 1 || read(ends[0], &c, 1) != 1)
			return arg;
		close(ends[0]);
		close(ends[1]);
	}
	return NULL;
}

static int scene(int n)
{
	struct sigaction sys = { .sa_handler = on_sys };
	struct timespec moment = { 0, n % 16 * 20000 };
	int which[THREADS], bad = 0;
	pthread_t t[THREADS];

	sigaction(SIGSYS, &sys, NULL);
	for (int i = 0; i < THREADS; i++) {
		which[i] = i;
		if (pthread_create(&t[i], NULL, user, &which[i]))
			return 4;
	}
	nanosleep(&moment, NULL);
	install();
	for (int i = 0; i < THREADS; i++) {
		void *r;

		pthread_join(t[i], &r);
		bad += r != NULL;
	}
	return bad;
}

int main(void)
{
	int good = 0;

	for (int n = 0; n < CHILDREN; n++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			alarm(60);
			_exit(scene(n));
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 2;
		good += status == 0;
		if (status)
			printf("child %d: %s %d\n", n, WIFEXITED(status) ? "status" : "signal",
			       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	}
	printf("%d of %d\n", good, CHILDREN);
	return 0;
}
