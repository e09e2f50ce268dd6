/*
 * Kernel threads and processes made by clone(2) itself, from main and from a thread, while others
 * lock, sleep and compute: as a fork, as a vfork that shares memory, as a process in the same
 * memory that goes on beside its parent, as a thread libc knows nothing of; and by syscall():
 * clone, clone3, fork and vfork.  A child with memory of its own makes threads; one in ours reads,
 * writes, sleeps, opens, closes and waits, and what it does to descriptors of its own table changes
 * nothing here.
 *
 * Such a fork goes past libc, which then does not wait for its allocator's locks: no thread may be
 * in there.
 */
#include "child.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

enum { STACK = 256 * 1024, ROUNDS = 10 };

static void something_short(void)
{
	syscall(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int local = 1;

static int forked(void *arg)
{
	CHECK_EQ(getpid(), (pid_t)syscall(SYS_getpid));
	CHECK_EQ(gettid(), getpid());
	run_threads();
	local = 2;
	return (int)(long)arg;
}

/* ---- what one in the parent's memory does ---- */

struct shared {
	int in[2], out[2], ours; /* pipes; a descriptor that the child closes in its own table */
	atomic_int done;
	_Atomic uint32_t word, tid;
	pid_t pid;
};

static int in_our_memory(struct shared *s)
{
	struct timespec ts = {0, 1000000};
	char c = 0;
	int fd;

	CHECK_EQ(write(s->out[1], "a", 1), 1);
	CHECK_EQ(read(s->in[0], &c, 1), 1);
	CHECK_EQ(c, 'b');
	CHECK_SYS(nanosleep(&ts, NULL));
	CHECK_SYS(fd = open("/dev/null", O_WRONLY));
	CHECK_EQ(write(fd, &c, 1), 1);
	CHECK_SYS(close(fd));
	s->pid = getpid();
	s->done++;
	return 7;
}

static int beside(void *arg)
{
	struct shared *s = arg;
	int r = in_our_memory(s);

	s->word = 1;
	syscall(SYS_futex, &s->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	return r;
}

/* Its table of descriptors is its own. */
static int as_vfork(void *arg)
{
	struct shared *s = arg;
	struct pollfd p = {s->ours, POLLIN, 0};

	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_SYS(close(s->ours));
	CHECK_SYS(dup2(s->out[1], 90));
	CHECK_EQ(write(90, "v", 1), 1);
	s->done++;
	s->pid = getpid();
	if (s->word)
		execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
	_exit(8);
}

static void open_pipes(struct shared *s)
{
	*s = (struct shared){0};
	CHECK_SYS(pipe(s->in));
	CHECK_SYS(pipe(s->out));
}

static void close_pipes(struct shared *s)
{
	for (int i = 0; i < 2; i++) {
		CHECK_SYS(close(s->in[i]));
		CHECK_SYS(close(s->out[i]));
	}
}

static void *waits_for_a_byte(void *arg)
{
	char c = 0;

	CHECK_EQ(read(*(int *)arg, &c, 1), 1);
	CHECK_EQ(c, 'y');
	return arg;
}

static void share_memory(char *top)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND;
	int pair[2];
	struct shared s;
	pid_t pid;
	char c;

	/* beside its parent */
	open_pipes(&s);
	CHECK_SYS(pid = clone(beside, top, flags | SIGCHLD, &s));
	CHECK_EQ(read(s.out[0], &c, 1), 1);
	CHECK_EQ(write(s.in[1], "b", 1), 1);
	while (s.word == 0)
		syscall(SYS_futex, &s.word, FUTEX_WAIT, 0, NULL, NULL, 0);
	CHECK_EQ(status_of(pid), 7);
	CHECK_EQ(s.done, 1);
	CHECK_EQ(s.pid, pid);
	close_pipes(&s);

	/* a thread that libc does not know; the kernel clears a word at its end */
	open_pipes(&s);
	s.tid = 1;
	flags |= CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
	CHECK_SYS(pid = clone(beside, top, flags, &s, NULL, NULL, &s.tid));
	CHECK_EQ(read(s.out[0], &c, 1), 1);
	CHECK_EQ(write(s.in[1], "b", 1), 1);
	while (s.tid != 0)
		syscall(SYS_futex, &s.tid, FUTEX_WAIT, (uint32_t)pid, NULL, NULL, 0);
	CHECK_EQ(s.done, 1);
	CHECK_EQ(s.pid, getpid());
	close_pipes(&s);

	/* until its exec or exit it alone runs here; somebody waits for what it closes */
	for (int how = 0; how < 2; how++) {
		pthread_t t;

		open_pipes(&s);
		s.word = (uint32_t)how;
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
		s.ours = pair[0];
		t = spawn(waits_for_a_byte, &pair[0]);
		for (int i = 0; i < 3; i++)
			sched_yield();
		errno = 0;
		CHECK_SYS(pid = clone(as_vfork, top, CLONE_VM | CLONE_VFORK | SIGCHLD, &s));
		CHECK_EQ(s.done, 1);
		CHECK_EQ(s.pid, pid);
		CHECK_EQ(read(s.out[0], &c, 1), 1);
		CHECK_EQ(c, 'v');
		CHECK_EQ(status_of(pid), how ? 9 : 8);
		CHECK_EQ(write(pair[1], "y", 1), 1);
		CHECK(join(t) == &pair[0]);
		CHECK_SYS(close(pair[0]));
		CHECK_SYS(close(pair[1]));
		close_pipes(&s);
	}
}

/* ---- all of them ---- */

/* Between the call and the exit nothing may be called: the child runs on its parent's stack. */
static __attribute__((noinline)) pid_t raw_vfork(void)
{
	pid_t pid = (pid_t)syscall(SYS_vfork);

	if (pid == 0)
		__asm__ volatile("syscall" : : "a"((long)SYS_exit_group), "D"(21L) : "rcx", "r11", "memory");
	return pid;
}

static void raw(void)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	pid_t pid;

	CHECK_SYS(pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
	if (pid == 0)
		_exit(forked((void *)11L));
	CHECK_EQ(status_of(pid), 11);
	CHECK_SYS(pid = (pid_t)syscall(SYS_fork));
	if (pid == 0)
		_exit(forked((void *)12L));
	CHECK_EQ(status_of(pid), 12);
	CHECK_SYS(pid = raw_vfork());
	CHECK_EQ(status_of(pid), 21);
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof a);
	if (pid == -1 && errno == ENOSYS)
		return; /* an old kernel */
	CHECK_SYS(pid);
	if (pid == 0)
		_exit(forked((void *)13L));
	CHECK_EQ(status_of(pid), 13);
}

static void *shares(void *arg)
{
	char *stack = malloc(STACK);

	CHECK(stack);
	for (int i = 0; i < ROUNDS; i++)
		share_memory(stack + STACK - 64);
	free(stack);
	return arg;
}

static void *clones(void *arg)
{
	char *stack = malloc(STACK), *top = stack + STACK - 64;
	pid_t pid, parent = 0;
	int fd = -1;

	CHECK(stack);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_SYS(pid = clone(forked, top, SIGCHLD, (void *)(3L + i)));
		CHECK_EQ(status_of(pid), 3 + i);
		CHECK_EQ(local, 1);
		share_memory(top);
		raw();
	}
	/* by no signal; the id is stored as well */
	CHECK_SYS(pid = clone(forked, top, CLONE_PARENT_SETTID, (void *)5L, &parent));
	CHECK_EQ(status_of(pid), 5);
	CHECK_EQ(parent, pid);
	CHECK_SYS(pid = clone(forked, top, CLONE_PIDFD | SIGCHLD, (void *)6L, &fd));
	CHECK_EQ(status_of(pid), 6);
	CHECK_SYS(close(fd));
	CHECK_ERR(clone(forked, top, CLONE_THREAD, NULL), EINVAL);
	CHECK_ERR(clone(NULL, top, SIGCHLD, NULL), EINVAL);
	CHECK_ERR(clone(forked, NULL, SIGCHLD, NULL), EINVAL);
	free(stack);
	return arg;
}

int main(void)
{
	pthread_t t[OTHERS], c[3];

	CHECK_OK(pthread_key_create(&child_key, NULL));
	clones(NULL);
	passed("before the first thread");
	start_others(t);
	clones(NULL);
	passed("from main");
	join(spawn(clones, NULL));
	passed("from a thread");
	for (int i = 0; i < 3; i++)
		c[i] = spawn(shares, NULL);
	for (int i = 0; i < 3; i++)
		join(c[i]);
	passed("in the same memory, from three threads at once");
	stop_others(t);
	return 0;
}
