/*
 * events: all that can happen to a descriptor, by libc's function and by number ("raw").
 *
 * The last part is of the calls that make descriptors: the number was closed by an instruction that
 * no library sees, and is then given to a new file.
 */
#include "fds.h"
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sched.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/uio.h>

#include "../lib/newer.h"

static void nothing(struct test *t)
{
	(void)t;
}

/* ---- ends ---- */

static void e_close(struct test *t)
{
	ok(close(t->fd), "close");
}

static void e_close_raw(struct test *t)
{
	ok(syscall(SYS_close, t->fd), "close");
}

static void e_range(struct test *t)
{
	ok(close_range((unsigned int)t->fd, (unsigned int)t->fd, 0), "close_range");
}

static void e_range_raw(struct test *t)
{
	ok(syscall(SYS_close_range, t->fd, t->fd, 0), "close_range");
}

static void *range_apart(void *fd)
{
	unsigned int n = (unsigned int)(long)fd;

	ok(close_range(n, n, CLOSE_RANGE_UNSHARE), "close_range");
	return NULL;
}

static void *unshare_apart(void *fd)
{
	ok(unshare(CLONE_FILES), "unshare");
	ok(close((int)(long)fd), "close");
	return NULL;
}

static void *unshare_apart_raw(void *fd)
{
	ok(syscall(SYS_unshare, CLONE_FILES), "unshare");
	ok(syscall(SYS_close, fd), "close");
	return NULL;
}

static void in_thread(void *(*fn)(void *), struct test *t)
{
	pthread_t th;

	if (pthread_create(&th, NULL, fn, (void *)(long)t->fd) || pthread_join(th, NULL))
		die("thread");
}

static void e_range_unshare(struct test *t)
{
	in_thread(range_apart, t);
}

static void e_unshare(struct test *t)
{
	in_thread(unshare_apart, t);
}

static void e_unshare_raw(struct test *t)
{
	in_thread(unshare_apart_raw, t);
}

static void p_file(struct test *t)
{
	t->file = fdopen(t->fd, "r+");
	if (!t->file)
		t->file = fdopen(t->fd, "r");
	if (!t->file)
		t->file = fdopen(t->fd, "w");
	if (!t->file)
		die("fdopen");
}

static void e_fclose(struct test *t)
{
	ok(-(fclose(t->file) != 0), "fclose");
	t->file = NULL;
}

/* Another file of bytes has the number; t->other feeds it. */
static int another(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	t->other = p[1];
	return p[0];
}

static void e_freopen(struct test *t)
{
	char path[64];
	int fd = another(t);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!freopen(path, "r", t->file))
		die("freopen");
	close(fd);
}

static void e_dup2(struct test *t)
{
	int fd = another(t);

	ok(dup2(fd, t->fd), "dup2");
	close(fd);
}

static void e_dup2_raw(struct test *t)
{
	int fd = another(t);

	ok(syscall(SYS_dup2, fd, t->fd), "dup2");
	close(fd);
}

static void e_dup3(struct test *t)
{
	int fd = another(t);

	ok(dup3(fd, t->fd, O_CLOEXEC), "dup3");
	close(fd);
}

static void e_dup3_raw(struct test *t)
{
	int fd = another(t);

	ok(syscall(SYS_dup3, fd, t->fd, 0), "dup3");
	close(fd);
}

static void e_dup2_same(struct test *t)
{
	ok(dup2(t->fd, t->fd), "dup2");
}

/* ---- flags, by whoever has the file ---- */

static void set_nonblock(int fd)
{
	ok(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), "F_SETFL");
}

static void e_setfl(struct test *t)
{
	set_nonblock(t->fd);
}

static void e_setfl_raw(struct test *t)
{
	ok(syscall(SYS_fcntl, t->fd, F_SETFL, fcntl(t->fd, F_GETFL) | O_NONBLOCK), "F_SETFL");
}

static void e_fionbio(struct test *t)
{
	int on = 1;

	ok(ioctl(t->fd, FIONBIO, &on), "FIONBIO");
}

static void e_fionbio_raw(struct test *t)
{
	int on = 1;

	ok(syscall(SYS_ioctl, t->fd, FIONBIO, &on), "FIONBIO");
}

static void e_setfl_dup(struct test *t)
{
	int fd = dup(t->fd);

	ok(fd, "dup");
	set_nonblock(fd);
	close(fd);
}

static void e_setfl_dup_raw(struct test *t)
{
	int fd = (int)syscall(SYS_dup, t->fd);

	ok(fd, "dup");
	ok(syscall(SYS_fcntl, fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), "F_SETFL");
	close(fd);
}

static void e_setfl_dupfd(struct test *t)
{
	int fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 50);

	ok(fd, "F_DUPFD");
	set_nonblock(fd);
	close(fd);
}

static void ended(pid_t child)
{
	int status;

	ok(child, "fork");
	while (waitpid(child, &status, 0) < 0)
		;
	if (status)
		die("child");
}

static void e_setfl_fork(struct test *t)
{
	pid_t child = fork();

	if (child == 0)
		_exit(fcntl(t->fd, F_SETFL, fcntl(t->fd, F_GETFL) | O_NONBLOCK) != 0);
	ended(child);
}

static void e_setfl_fork_raw(struct test *t)
{
	pid_t child = (pid_t)syscall(SYS_fork);

	if (child == 0)
		_exit(fcntl(t->fd, F_SETFL, fcntl(t->fd, F_GETFL) | O_NONBLOCK) != 0);
	ended(child);
}

static void e_setfl_clone_raw(struct test *t)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (child == 0)
		_exit(fcntl(t->fd, F_SETFL, fcntl(t->fd, F_GETFL) | O_NONBLOCK) != 0);
	ended(child);
}

static void e_setfl_clone3_raw(struct test *t)
{
	unsigned long args[8] = { [4] = SIGCHLD };
	pid_t child = (pid_t)syscall(SYS_clone3, args, sizeof(args));

	if (child == 0)
		_exit(fcntl(t->fd, F_SETFL, fcntl(t->fd, F_GETFL) | O_NONBLOCK) != 0);
	ended(child);
}

static int in_child(void *fd)
{
	int n = (int)(long)fd;

	return fcntl(n, F_SETFL, fcntl(n, F_GETFL) | O_NONBLOCK) != 0;
}

static void e_setfl_clone(struct test *t)
{
	static char stack[1 << 16] __attribute__((aligned(16)));

	ended(clone(in_child, stack + sizeof(stack), SIGCHLD, (void *)(long)t->fd));
}

/* The child has it for a while, and changes nothing. */
static void e_spawn(struct test *t)
{
	char *const args[] = { "true", NULL };
	pid_t child;

	(void)t;
	if (posix_spawnp(&child, "true", NULL, NULL, args, args + 1))
		die("posix_spawnp");
	ended(child);
}

union control {
	char buf[CMSG_SPACE(sizeof(int))];
	struct cmsghdr h;
};

static struct msghdr message(union control *u, struct iovec *v)
{
	return (struct msghdr){ .msg_iov = v, .msg_iovlen = 1, .msg_control = u->buf,
				.msg_controllen = sizeof(u->buf) };
}

/* The kinds of calls that pass a descriptor on, and take it. */
static long pass(int how, int fd, struct msghdr *m)
{
	struct mmsghdr mm = { .msg_hdr = *m };
	long r;

	switch (how) {
	case 0:
		return sendmsg(fd, m, 0);
	case 1:
		return syscall(SYS_sendmsg, fd, m, 0);
	case 2:
		return sendmmsg(fd, &mm, 1, 0);
	case 3:
		return syscall(SYS_sendmmsg, fd, &mm, 1, 0);
	case 4:
		return recvmsg(fd, m, 0);
	case 5:
		return syscall(SYS_recvmsg, fd, m, 0);
	case 6:
		r = recvmmsg(fd, &mm, 1, 0, NULL);
		break;
	default:
		r = syscall(SYS_recvmmsg, fd, &mm, 1, 0, NULL);
	}
	*m = mm.msg_hdr;
	return r;
}

static int way[2];

static void sent(int how, int fd)
{
	char c = 'x';
	struct iovec v = { &c, 1 };
	union control u = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				   .cmsg_len = CMSG_LEN(sizeof(fd)) } };
	struct msghdr m = message(&u, &v);

	memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
	ok(pass(how, way[0], &m), "send");
}

static int taken(int how)
{
	char c;
	struct iovec v = { &c, 1 };
	union control u;
	struct msghdr m = message(&u, &v);
	int fd;

	ok(pass(how, way[1], &m), "receive");
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

/* A process made before the descriptor. */
static void p_way(struct test *t)
{
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, way), "socketpair");
	t->extra[2] = way[0];
	t->extra[3] = way[1];
}

static void passed_on(int how, struct test *t)
{
	int fd;

	sent(how, t->fd);
	fd = taken(4);
	set_nonblock(fd);
	close(fd);
}

#define PASSES(how)                                                                                \
	static void e_passed##how(struct test *t)                                                  \
	{                                                                                          \
		passed_on(how, t);                                                                 \
	}
PASSES(0)
PASSES(1)
PASSES(2)
PASSES(3)

/* ---- time-outs, ends, room ---- */

static const struct timeval shortly = { 0, 1000 };

static void e_timeo(struct test *t)
{
	ok(setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &shortly, sizeof(shortly)), "SO_RCVTIMEO");
}

static void e_timeo_raw(struct test *t)
{
	ok(syscall(SYS_setsockopt, t->fd, SOL_SOCKET, SO_RCVTIMEO, &shortly, sizeof(shortly)), "SO_RCVTIMEO");
}

static void e_timeo_fork(struct test *t)
{
	pid_t child = fork();

	if (child == 0)
		_exit(setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &shortly, sizeof(shortly)) != 0);
	ended(child);
}

static void e_lowat(struct test *t)
{
	int n = 2;

	ok(setsockopt(t->fd, SOL_SOCKET, SO_RCVLOWAT, &n, sizeof(n)), "SO_RCVLOWAT");
	t->kind->feed(t, t->peer);
}

static void e_shut_rd(struct test *t)
{
	ok(shutdown(t->fd, SHUT_RD), "shutdown");
}

static void e_shut_wr_raw(struct test *t)
{
	ok(syscall(SYS_shutdown, t->fd, SHUT_WR), "shutdown");
}

static void e_shut_raw(struct test *t)
{
	ok(syscall(SYS_shutdown, t->fd, SHUT_RDWR), "shutdown");
}

static void e_peer_shut_raw(struct test *t)
{
	ok(syscall(SYS_shutdown, t->peer, SHUT_RDWR), "shutdown");
}

/* Two packets of a byte each, from then on. */
static void e_packets(struct test *t)
{
	ok(fcntl(t->peer, F_SETFL, O_DIRECT), "O_DIRECT");
	t->kind->feed(t, t->peer);
}

static void e_packets_raw(struct test *t)
{
	ok(syscall(SYS_fcntl, t->peer, F_SETFL, O_DIRECT), "O_DIRECT");
	t->kind->feed(t, t->peer);
}

/* Bytes that come by other calls than a write. */
static void e_spliced(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	ok(write(p[1], "s", 1), "write");
	ok(splice(p[0], NULL, t->peer, NULL, 1, 0), "splice");
	close(p[0]);
	close(p[1]);
}

static void e_spliced_raw(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	ok(write(p[1], "s", 1), "write");
	ok(syscall(SYS_splice, p[0], NULL, t->peer, NULL, 1, 0), "splice");
	close(p[0]);
	close(p[1]);
}

static void e_teed_raw(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	ok(write(p[1], "s", 1), "write");
	ok(syscall(SYS_tee, p[0], t->peer, 1, 0), "tee");
	close(p[0]);
	close(p[1]);
}

static void e_vmspliced_raw(struct test *t)
{
	static char c = 's';
	struct iovec v = { &c, 1 };

	ok(syscall(SYS_vmsplice, t->peer, &v, 1, 0), "vmsplice");
}

static void e_sent_file_raw(struct test *t)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	off_t at = 0;

	ok(fd, "open");
	ok(syscall(SYS_sendfile, t->peer, fd, &at, 1), "sendfile");
	close(fd);
}

/* In an epoll of another thread's, which says what it sees of it. */
static void e_enrolled_raw(struct test *t)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };
	int ep = epoll_create1(0);

	ok(ep, "epoll_create1");
	ok(syscall(SYS_epoll_ctl, ep, EPOLL_CTL_ADD, t->fd, &ev), "epoll_ctl");
	t->extra[1] = ep;
}

/*
 * ---- the number was closed unseen, and is given to a new file ----
 *
 * A thread that waits for the old file meanwhile would be told EBADF where the kernel lets it wait:
 * nobody can know that the number was closed.
 */

static void close_unseen(int fd)
{
#ifdef __x86_64__
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(SYS_close), "D"((long)fd) : "rcx", "r11", "memory");
	ok(r, "close");
#else
	ok(syscall(SYS_close, fd), "close");
#endif
}

/* All numbers below are taken meanwhile, so that the new file gets this one. */
static void close_lowest(struct test *t)
{
	static int taken_numbers[256];
	static size_t n;
	int fd;

	while (n)
		close(taken_numbers[--n]);
	while ((fd = dup(0)) < t->fd && n < sizeof(taken_numbers) / sizeof(taken_numbers[0]))
		taken_numbers[n++] = fd;
	close(fd);
	close_unseen(t->fd);
}

static void use(struct test *t, int fd)
{
	ok(fd, "new file");
	if (fd != t->fd)
		die("not the number");
}

#define AT_NUMBER(name, body)                                                                      \
	static void e_##name(struct test *t)                                                       \
	{                                                                                          \
		int fds[2] = { -1, -1 };                                                           \
                                                                                                   \
		(void)fds;                                                                         \
		close_lowest(t);                                                                   \
		body;                                                                              \
	}
#define MAKE(name, call, feeder) AT_NUMBER(name, use(t, (int)(call)); t->other = (feeder))
#define MAKE_TWO(name, call) AT_NUMBER(name, ok(call, #name); use(t, fds[0]); t->other = fds[1])

MAKE_TWO(pipe, pipe(fds))
MAKE_TWO(pipe_raw, syscall(SYS_pipe, fds))
MAKE_TWO(pipe2, pipe2(fds, O_CLOEXEC))
MAKE_TWO(pipe2_raw, syscall(SYS_pipe2, fds, 0))
MAKE_TWO(socketpair, socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
MAKE_TWO(socketpair_raw, syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, fds))
MAKE(eventfd, eventfd(0, 0), dup(t->fd))
MAKE(eventfd_raw, syscall(SYS_eventfd, 0), dup(t->fd))
MAKE(eventfd2_raw, syscall(SYS_eventfd2, 0, 0), dup(t->fd))
MAKE(memfd, memfd_create("m", 0), dup(t->fd))
MAKE(memfd_raw, syscall(SYS_memfd_create, "m", 0), dup(t->fd))
MAKE(open, open("/dev/null", O_RDWR), dup(t->fd))
MAKE(open_raw, syscall(SYS_open, "/dev/null", O_RDWR), dup(t->fd))
MAKE(openat, openat(AT_FDCWD, "/dev/null", O_RDWR), dup(t->fd))
MAKE(openat_raw, syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR), dup(t->fd))
MAKE(creat_raw, syscall(SYS_creat, "/dev/null", 0600), dup(t->fd))
MAKE(socket, socket(AF_UNIX, SOCK_DGRAM, 0), dup(t->fd))
MAKE(socket_raw, syscall(SYS_socket, AF_UNIX, SOCK_DGRAM, 0), dup(t->fd))
MAKE(timerfd, timerfd_create(CLOCK_MONOTONIC, 0), dup(t->fd))
MAKE(timerfd_raw, syscall(SYS_timerfd_create, CLOCK_MONOTONIC, 0), dup(t->fd))
MAKE(inotify, inotify_init(), dup(t->fd))
MAKE(inotify_raw, syscall(SYS_inotify_init), dup(t->fd))
MAKE(inotify1, inotify_init1(0), dup(t->fd))
MAKE(inotify1_raw, syscall(SYS_inotify_init1, 0), dup(t->fd))
MAKE(epoll, epoll_create(1), dup(t->fd))
MAKE(epoll_raw, syscall(SYS_epoll_create, 1), dup(t->fd))
MAKE(epoll1, epoll_create1(0), dup(t->fd))
MAKE(epoll1_raw, syscall(SYS_epoll_create1, 0), dup(t->fd))
MAKE(pidfd_raw, syscall(SYS_pidfd_open, getpid(), 0), dup(t->fd))

/* What this kernel, or this user, is refused: an ordinary file instead. */
static long if_given(long fd)
{
	return fd >= 0 ? fd : open("/dev/null", O_RDWR);
}

static struct {
	unsigned long flags, mode, resolve;
} how_openat2 = { .flags = O_RDWR };
static struct {
	unsigned int type, size;
	unsigned long config[14];
} perf = { .type = 1, .size = 64 }; /* software, version 0 */
static unsigned int map_array[30] = { 2, 4, 4, 1 }; /* array of one word */
static unsigned long ruleset[1] = { 1 };
static unsigned int uring[30];

MAKE(openat2_raw, if_given(syscall(SYS_openat2, AT_FDCWD, "/dev/null", &how_openat2, 24L)), dup(t->fd))
MAKE(open_by_handle_at_raw, if_given(syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0)), dup(t->fd))
MAKE(open_tree_raw, if_given(syscall(SYS_open_tree, AT_FDCWD, "/", 0)), dup(t->fd))
MAKE(fsopen_raw, if_given(syscall(SYS_fsopen, "tmpfs", 0)), dup(t->fd))
MAKE(fspick_raw, if_given(syscall(SYS_fspick, AT_FDCWD, "/none", 0)), dup(t->fd))
MAKE(fsmount_raw, if_given(syscall(SYS_fsmount, -1, 0, 0)), dup(t->fd))
MAKE(mq_open_raw, if_given(syscall(SYS_mq_open, "compare-fds", O_RDWR | O_CREAT, 0600, NULL)), dup(t->fd))
MAKE(pidfd_getfd_raw, if_given(syscall(SYS_pidfd_getfd, -1, 0, 0)), dup(t->fd))
MAKE(perf_event_open_raw, if_given(syscall(SYS_perf_event_open, &perf, 0, -1, -1, 0)), dup(t->fd))
MAKE(userfaultfd_raw, if_given(syscall(SYS_userfaultfd, 0)), dup(t->fd))
MAKE(fanotify_init_raw, if_given(syscall(SYS_fanotify_init, 0, O_RDONLY)), dup(t->fd))
MAKE(io_uring_setup_raw, if_given(syscall(SYS_io_uring_setup, 1, uring)), dup(t->fd))
MAKE(bpf_raw, if_given(syscall(SYS_bpf, 0, map_array, sizeof(map_array))), dup(t->fd))
MAKE(landlock_raw, if_given(syscall(SYS_landlock_create_ruleset, ruleset, 8L, 0)), dup(t->fd))
MAKE(memfd_secret_raw, if_given(syscall(SYS_memfd_secret, 0)), dup(t->fd))

static sigset_t no_signals;

MAKE(signalfd, signalfd(-1, &no_signals, 0), dup(t->fd))
MAKE(signalfd_raw, syscall(SYS_signalfd, -1, &no_signals, 8L), dup(t->fd))
MAKE(signalfd4_raw, syscall(SYS_signalfd4, -1, &no_signals, 8L, 0), dup(t->fd))

static int to_copy;

static void p_copied(struct test *t)
{
	int p[2];

	ok(pipe(p), "pipe");
	to_copy = t->extra[2] = p[0];
	t->extra[3] = p[1];
}

MAKE(dup, dup(to_copy), dup(t->extra[3]))
MAKE(dup_raw, syscall(SYS_dup, to_copy), dup(t->extra[3]))
MAKE(dupfd, fcntl(to_copy, F_DUPFD, 0), dup(t->extra[3]))
MAKE(dupfd_raw, syscall(SYS_fcntl, to_copy, F_DUPFD, 0), dup(t->extra[3]))

static int waiting[2];

/* A connection waits to be accepted. */
static void p_accepted(struct test *t)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);

	waiting[0] = t->extra[2] = socket(AF_INET, SOCK_STREAM, 0);
	waiting[1] = t->extra[3] = socket(AF_INET, SOCK_STREAM, 0);
	ok(bind(waiting[0], (struct sockaddr *)&a, n), "bind");
	ok(listen(waiting[0], 1), "listen");
	ok(getsockname(waiting[0], (struct sockaddr *)&a, &n), "getsockname");
	ok(connect(waiting[1], (struct sockaddr *)&a, n), "connect");
}

MAKE(accept, accept(waiting[0], NULL, NULL), dup(waiting[1]))
MAKE(accept_raw, syscall(SYS_accept, waiting[0], NULL, NULL), dup(waiting[1]))
MAKE(accept4, accept4(waiting[0], NULL, NULL, 0), dup(waiting[1]))
MAKE(accept4_raw, syscall(SYS_accept4, waiting[0], NULL, NULL, 0), dup(waiting[1]))

static int passed_end;

/* The reading end of a pipe is on its way here. */
static void p_taken(struct test *t)
{
	int p[2];

	p_way(t);
	ok(pipe(p), "pipe");
	sent(0, p[0]);
	close(p[0]);
	t->extra[1] = passed_end = p[1];
}

MAKE(recvmsg, taken(4), dup(passed_end))
MAKE(recvmsg_raw, taken(5), dup(passed_end))
MAKE(recvmmsg, taken(6), dup(passed_end))
MAKE(recvmmsg_raw, taken(7), dup(passed_end))

#define NEW(name) { #name, READS, NULL, e_##name, true }
#define NEW_OF(name, prepare) { #name, READS, prepare, e_##name, true }

const struct event events[] = {
	{ "nothing", 0, NULL, nothing, false },
	{ "close", 0, NULL, e_close, false },
	{ "close_raw", 0, NULL, e_close_raw, false },
	{ "close_range", 0, NULL, e_range, false },
	{ "close_range_raw", 0, NULL, e_range_raw, false },
	{ "close_range_unshare", 0, NULL, e_range_unshare, false },
	{ "unshare", 0, NULL, e_unshare, false },
	{ "unshare_raw", 0, NULL, e_unshare_raw, false },
	{ "fclose", 0, p_file, e_fclose, false },
	{ "freopen", READS, p_file, e_freopen, false },
	{ "dup2", READS, NULL, e_dup2, false },
	{ "dup2_raw", READS, NULL, e_dup2_raw, false },
	{ "dup3", READS, NULL, e_dup3, false },
	{ "dup3_raw", READS, NULL, e_dup3_raw, false },
	{ "dup2_same", 0, NULL, e_dup2_same, false },
	{ "setfl", 0, NULL, e_setfl, false },
	{ "setfl_raw", 0, NULL, e_setfl_raw, false },
	{ "fionbio", 0, NULL, e_fionbio, false },
	{ "fionbio_raw", 0, NULL, e_fionbio_raw, false },
	{ "setfl_dup", 0, NULL, e_setfl_dup, false },
	{ "setfl_dup_raw", 0, NULL, e_setfl_dup_raw, false },
	{ "setfl_dupfd", 0, NULL, e_setfl_dupfd, false },
	{ "setfl_fork", 0, NULL, e_setfl_fork, false },
	{ "setfl_fork_raw", 0, NULL, e_setfl_fork_raw, false },
	{ "setfl_clone", 0, NULL, e_setfl_clone, false },
	{ "setfl_clone3_raw", 0, NULL, e_setfl_clone3_raw, false },
	{ "setfl_clone_raw", 0, NULL, e_setfl_clone_raw, false },
	{ "spawn", 0, NULL, e_spawn, false },
	{ "setfl_sendmsg", 0, p_way, e_passed0, false },
	{ "setfl_sendmsg_raw", 0, p_way, e_passed1, false },
	{ "setfl_sendmmsg", 0, p_way, e_passed2, false },
	{ "setfl_sendmmsg_raw", 0, p_way, e_passed3, false },
	{ "setsockopt", TIMES, NULL, e_timeo, false },
	{ "setsockopt_raw", TIMES, NULL, e_timeo_raw, false },
	{ "setsockopt_fork", TIMES, NULL, e_timeo_fork, false },
	{ "setsockopt_lowat", STREAM, NULL, e_lowat, false },
	{ "shutdown_rd", SOCKET, NULL, e_shut_rd, false },
	{ "shutdown_wr_raw", SOCKET, NULL, e_shut_wr_raw, false },
	{ "shutdown_raw", SOCKET, NULL, e_shut_raw, false },
	{ "shutdown_peer_raw", SOCKET, NULL, e_peer_shut_raw, false },
	{ "packets", READS | PIPE, NULL, e_packets, false },
	{ "packets_raw", READS | PIPE, NULL, e_packets_raw, false },
	{ "splice", STREAM, NULL, e_spliced, false },
	{ "splice_pipe", READS | PIPE, NULL, e_spliced, false },
	{ "splice_raw", READS | PIPE, NULL, e_spliced_raw, false },
	{ "tee_raw", READS | PIPE, NULL, e_teed_raw, false },
	{ "vmsplice_raw", READS | PIPE, NULL, e_vmspliced_raw, false },
	{ "sendfile_raw", READS | PIPE, NULL, e_sent_file_raw, false },
	{ "epoll_ctl_raw", 0, NULL, e_enrolled_raw, false },
	NEW(pipe), NEW(pipe_raw), NEW(pipe2), NEW(pipe2_raw), NEW(socketpair), NEW(socketpair_raw),
	NEW(eventfd), NEW(eventfd_raw), NEW(eventfd2_raw), NEW(memfd), NEW(memfd_raw),
	NEW(open), NEW(open_raw), NEW(openat), NEW(openat_raw), NEW(creat_raw),
	NEW(socket), NEW(socket_raw), NEW(timerfd), NEW(timerfd_raw), NEW(inotify), NEW(inotify_raw),
	NEW(inotify1), NEW(inotify1_raw), NEW(epoll), NEW(epoll_raw), NEW(epoll1), NEW(epoll1_raw),
	NEW(openat2_raw), NEW(open_by_handle_at_raw), NEW(open_tree_raw), NEW(fsopen_raw), NEW(fspick_raw),
	NEW(fsmount_raw), NEW(mq_open_raw), NEW(pidfd_getfd_raw), NEW(perf_event_open_raw),
	NEW(userfaultfd_raw), NEW(fanotify_init_raw), NEW(io_uring_setup_raw), NEW(bpf_raw),
	NEW(landlock_raw),
	NEW(memfd_secret_raw),
	NEW(pidfd_raw), NEW(signalfd), NEW(signalfd_raw), NEW(signalfd4_raw),
	NEW_OF(dup, p_copied), NEW_OF(dup_raw, p_copied), NEW_OF(dupfd, p_copied), NEW_OF(dupfd_raw, p_copied),
	NEW_OF(accept, p_accepted), NEW_OF(accept_raw, p_accepted), NEW_OF(accept4, p_accepted),
	NEW_OF(accept4_raw, p_accepted),
	NEW_OF(recvmsg, p_taken), NEW_OF(recvmsg_raw, p_taken), NEW_OF(recvmmsg, p_taken),
	NEW_OF(recvmmsg_raw, p_taken),
	{ NULL, 0, NULL, NULL, false },
};
