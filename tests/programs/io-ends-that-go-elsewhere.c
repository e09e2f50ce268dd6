/*
 * Two threads hand something over again and again, through a pipe, a pair of sockets or an eventfd.  Then what is
 * written comes by another way: by another number, from another process, by a call that does not look like a write.
 * The reader, which waits, gets it each time, and what becomes of a number or a flag meanwhile counts.
 */
#include "check.h"
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum kind { PIPE, SOCKETS, COUNTER, KINDS };
enum { ROUNDS = 40 };

static const char *const names[KINDS] = { "pipe", "pair of sockets", "eventfd" };
static enum kind kind;
static int in, out;  /* the end that is read, the end that is written */
static sem_t taken;
static int left;     /* reads that the reader makes */
static int way[2];   /* to the servant, a process from before all these files */

static ssize_t unit(const void **what)
{
	static const uint64_t one = 1;

	*what = kind == COUNTER ? (const void *)&one : "x";
	return kind == COUNTER ? 8 : 1;
}

static void put(int fd)
{
	const void *what;
	ssize_t n = unit(&what);

	CHECK_EQ(write(fd, what, (size_t)n), n);
}

static void *reads(void *arg)
{
	int fd = in; /* the number may be given to another file while this waits */

	for (int i = left; i > 0; i--) {
		char b[8];

		CHECK_EQ(read(fd, b, kind == COUNTER ? 8 : 1), kind == COUNTER ? 8 : 1);
		CHECK_OK(sem_post(&taken));
	}
	return arg;
}

static void wait_taken(void)
{
	while (sem_wait(&taken))
		CHECK_EQ(errno, EINTR);
}

/* ---- the ways -------------------------------------------------------------------------------- */

static void by_dup(void)
{
	int d = dup(out);

	CHECK_SYS(d);
	put(d);
	CHECK_SYS(close(d));
}

static void by_fcntl(void)
{
	int d = fcntl(out, F_DUPFD_CLOEXEC, 100);

	CHECK_SYS(d);
	put(d);
	CHECK_SYS(close(d));
}

/* The number is another file's by the time of the write. */
static void by_dup_of_a_number_that_goes_on(void)
{
	int d = dup(out), other[2];

	CHECK_SYS(d);
	CHECK_SYS(pipe(other));
	CHECK_SYS(dup2(other[1], out));
	CHECK_EQ(write(out, "y", 1), 1); /* to nobody who waits */
	put(d);
	wait_taken();
	CHECK_SYS(dup2(d, out));
	CHECK_SYS(close(d));
	CHECK_SYS(close(other[0]));
	CHECK_SYS(close(other[1]));
	put(out);
}

static void by_child(void)
{
	int status;
	pid_t child = fork();

	CHECK_SYS(child);
	if (child == 0) {
		put(out);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

static void by_spawned(void)
{
	extern char **environ;
	char command[100];
	char *const args[] = { "sh", "-c", command, NULL };
	int status;
	pid_t child;

	snprintf(command, sizeof(command), "printf '%s' >&%d",
		 kind == COUNTER ? "\\001\\000\\000\\000\\000\\000\\000\\000" : "x", out);
	CHECK_OK(posix_spawn(&child, "/bin/sh", NULL, NULL, args, environ));
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
}

union control {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr h;
};

static void pass(int to, int fd, char what)
{
	union control u = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				   .cmsg_len = CMSG_LEN(sizeof(fd)) } };
	struct iovec v = { &what, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.buf, .msg_controllen = sizeof(u.buf) };

	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(to, &m, 0), 1);
}

static int passed_on(int from, char *what)
{
	union control u;
	struct iovec v = { what, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.buf, .msg_controllen = sizeof(u.buf) };
	int fd;

	if (recvmsg(from, &m, 0) <= 0)
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void by_passing_inside(void)
{
	int between[2], fd;
	char c;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, between));
	pass(between[0], out, 'x');
	fd = passed_on(between[1], &c);
	CHECK_SYS(fd);
	put(fd);
	CHECK_SYS(close(fd));
	CHECK_SYS(close(between[0]));
	CHECK_SYS(close(between[1]));
}

static void by_passing(void)
{
	char c;

	pass(way[0], out, (char)kind);
	CHECK_EQ(read(way[0], &c, 1), 1);
}

/* Of this process, of which nothing was sent. */
static void by_path(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", out);
	fd = open(path, O_WRONLY);
	CHECK_SYS(fd);
	put(fd);
	CHECK_SYS(close(fd));
}

static void by_instruction(void)
{
#ifdef __x86_64__
	const void *what;
	long n = unit(&what), r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_write), "D"(out), "S"(what), "d"(n) : "rcx", "r11", "memory");
	CHECK_EQ(r, n);
#else
	put(out);
#endif
}

/* Two of which nobody tells, behind one and before another. */
static void by_instruction_among_others(void)
{
	put(out);
	by_instruction();
	by_instruction();
	for (int i = 0; i < 3; i++)
		wait_taken();
	put(out);
}

static void by_number(void)
{
	const void *what;
	ssize_t n = unit(&what);

	CHECK_EQ(syscall(SYS_write, out, what, n), n);
}

static void by_pieces(void)
{
	const void *what;
	ssize_t n = unit(&what);
	struct iovec v[2] = { { (void *)what, (size_t)n }, { NULL, 0 } };

	CHECK_EQ(writev(out, v, 2), n);
}

static void by_splice(void)
{
	int from[2];

	CHECK_SYS(pipe(from));
	CHECK_EQ(write(from[1], "x", 1), 1);
	CHECK_EQ(splice(from[0], NULL, out, NULL, 1, 0), 1);
	CHECK_SYS(close(from[0]));
	CHECK_SYS(close(from[1]));
}

static void by_message_that_does_not_wait(void)
{
	CHECK_EQ(send(out, "x", 1, MSG_DONTWAIT), 1);
}

static void by_stdio(void)
{
	FILE *f = fdopen(dup(out), "w");

	CHECK(f);
	CHECK(fputs("x", f) != EOF);
	CHECK_EQ(fclose(f), 0);
}

/* ---- one of them ----------------------------------------------------------------------------- */

static void begin(int reads_more)
{
	int fds[2];

	switch (kind) {
	case PIPE:
		CHECK_SYS(pipe(fds));
		break;
	case SOCKETS:
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
		break;
	default:
		fds[0] = fds[1] = eventfd(0, 0);
		CHECK_SYS(fds[0]);
	}
	in = fds[0];
	out = fds[1];
	left = ROUNDS + reads_more;
}

static void rounds(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		put(out);
		wait_taken();
	}
}

static void end(void)
{
	CHECK_SYS(close(in));
	if (out != in)
		CHECK_SYS(close(out));
}

static void one(void (*how)(void), const char *what)
{
	int more = how == by_dup_of_a_number_that_goes_on ? 2 : how == by_instruction_among_others ? 4 : 1;
	pthread_t t;

	begin(more);
	t = spawn(reads, NULL);
	rounds();
	sched_yield(); /* most likely it waits by now, and what was learnt of its file is fresh */
	how();
	wait_taken();
	join(t);
	end();
	passed("%s: written %s", names[kind], what);
}

/* The reader waits on; what had its number is another file. */
static void closed_while_it_waits(void)
{
	int keeps, other;
	pthread_t t;

	begin(1);
	keeps = dup(out); /* of an eventfd out is the number that is read */
	t = spawn(reads, NULL);
	rounds();
	let_others_block();
	CHECK_SYS(close(in));
	other = eventfd(0, EFD_NONBLOCK);
	CHECK_EQ(other, in);
	CHECK_EQ(eventfd_write(other, 5), 0);
	let_others_block();
	put(keeps);
	wait_taken();
	join(t);
	CHECK_SYS(close(other));
	CHECK_SYS(close(keeps));
	if (out != in)
		CHECK_SYS(close(out));
	passed("%s: closed while it is read, and its number used again", names[kind]);
}

static void *reads_the_end(void *arg)
{
	char c;

	reads(NULL);
	CHECK_EQ(read(in, &c, 1), 0);
	return arg;
}

static void writer_goes(void (*go)(void), const char *what)
{
	pthread_t t;

	begin(0);
	t = spawn(reads_the_end, NULL);
	rounds();
	let_others_block();
	go();
	join(t);
	CHECK_SYS(close(in));
	passed("%s: %s", names[kind], what);
}

static void closes(void)
{
	CHECK_SYS(close(out));
}

static void shuts_down(void)
{
	CHECK_SYS(shutdown(out, SHUT_WR));
	let_others_block();
	CHECK_SYS(close(out));
}

static void stops_waiting(void)
{
	int d, on = 1;
	char b[8];
	pthread_t t;

	begin(0);
	t = spawn(reads, NULL);
	rounds();
	join(t);
	d = dup(in);
	CHECK_SYS(d);
	CHECK_SYS(ioctl(d, FIONBIO, &on));
	CHECK_ERR(read(in, b, sizeof(b)), EAGAIN);
	CHECK_SYS(close(d));
	end();
	passed("%s: O_NONBLOCK by another number", names[kind]);
}

/* Writes a unit to each descriptor that is passed to it. */
static void serve(void)
{
	char c;
	int fd;

	while ((fd = passed_on(way[1], &c)) >= 0) {
		kind = (enum kind)c;
		put(fd);
		close(fd);
		if (write(way[1], &c, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

int main(void)
{
	static const struct {
		void (*how)(void);
		const char *what;
		bool kinds[KINDS];
	} ways[] = {
		{ by_dup, "by a dup", { true, true, true } },
		{ by_fcntl, "by a dup of fcntl's", { true, true, true } },
		{ by_dup_of_a_number_that_goes_on, "by a dup, its number another file's", { true, true, false } },
		{ by_child, "by a child", { true, true, true } },
		{ by_spawned, "by a program that was spawned", { true, true, true } },
		{ by_passing_inside, "by a number that came in a message", { true, true, true } },
		{ by_passing, "by a process that it was passed to", { true, true, true } },
		{ by_path, "by its path in /proc", { true, false, false } },
		{ by_instruction, "by an instruction", { true, true, true } },
		{ by_instruction_among_others, "by instructions, among others", { true, true, false } },
		{ by_number, "by system call", { true, true, true } },
		{ by_pieces, "in pieces", { true, true, true } },
		{ by_splice, "by splice", { true, true, false } },
		{ by_message_that_does_not_wait, "as a message that does not wait", { false, true, false } },
		{ by_stdio, "by stdio", { true, true, false } },
	};
	pid_t servant;
	int status;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, way));
	servant = fork();
	CHECK_SYS(servant);
	if (servant == 0) {
		close(way[0]);
		serve();
	}
	CHECK_SYS(close(way[1]));
	CHECK_OK(sem_init(&taken, 0, 0));
	for (kind = PIPE; kind < KINDS; kind++) {
		for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
			if (ways[i].kinds[kind])
				one(ways[i].how, ways[i].what);
		closed_while_it_waits();
		stops_waiting();
		if (kind != COUNTER)
			writer_goes(closes, "the writer closes");
		if (kind == SOCKETS)
			writer_goes(shuts_down, "the writer's half is shut down");
	}
	CHECK_SYS(close(way[0]));
	CHECK_EQ(waitpid(servant, &status, 0), servant);
	CHECK_EQ(status, 0);
	return 0;
}
