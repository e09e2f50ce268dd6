/*
 * O_NONBLOCK of an open file is cleared where no library sees it: by a child that shares the table of
 * descriptors, by an instruction of the program's own, and by a close and a new socket with its number, both by
 * instructions.  The next read waits, whatever the reads before it said.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2];

/* A call that libc does not make. */
static long own(long nr, long a, long b, long c, long d)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
#else
	return syscall(nr, a, b, c, d);
#endif
}

static void make(void)
{
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
		puts("no sockets");
	for (int i = 0; i < 2; i++)
		if (read(pair[0], &c, 1) != -1 || errno != EAGAIN)
			puts("a read did not say EAGAIN");
}

static void *put_later(void *arg)
{
	usleep(20000);
	if (write(pair[1], "x", 1) != 1)
		puts("nothing was written");
	return arg;
}

static void read_waits(const char *after)
{
	pthread_t t;
	char c;
	ssize_t n;

	pthread_create(&t, NULL, put_later, NULL);
	n = read(pair[0], &c, 1);
	printf("after %s: a read of %zd\n", after, n);
	pthread_join(t, NULL);
}

static void by_a_child(void)
{
	volatile int *fd = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long child;

	*fd = -1;
	child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		while (*fd < 0)
			own(SYS_sched_yield, 0, 0, 0, 0);
		own(SYS_fcntl, *fd, F_SETFL, O_RDWR, 0);
		own(SYS_exit_group, 0, 0, 0, 0);
	}
	make();
	*fd = pair[0];
	waitpid((pid_t)child, NULL, 0);
	read_waits("a child's fcntl");
	close(pair[0]);
	close(pair[1]);
}

static void *run(void *arg)
{
	by_a_child();
	make();
	own(SYS_fcntl, pair[0], F_SETFL, O_RDWR, 0);
	read_waits("an instruction's");
	close(pair[0]);
	close(pair[1]);
	make();
	own(SYS_close, pair[0], 0, 0, 0);
	own(SYS_close, pair[1], 0, 0, 0);
	own(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, (long)pair);
	read_waits("a new socket of the same number");
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
}
