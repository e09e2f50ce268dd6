/*
 * calls: every call that takes a descriptor and may wait, in the forms that differ.
 *
 * Each makes its call through DO() and notes what it gave besides the result.  Helpers of a call
 * (a pipe to splice into, an epoll instance) are made before DO() and closed after it; after a
 * cancellation they are lost, which is one descriptor of a process that ends soon.
 */
#include "io.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#define BIG_BYTES 400000
static char big[BIG_BYTES];
static const char small[] = "ABCDEFGHIJ";
#define SMALL 10

static struct timespec in_ms(int ms)
{
	return (struct timespec){ms / 1000, ms % 1000 * 1000000L};
}

/* ---- reading ---- */

static void note_data(struct test *t, long n)
{
	if (n > 0 && n <= 64 && t->kind->flags & TEXT)
		say_note(t, "\"%.*s\"", (int)n, t->buf);
	else if (n == 8 && t->kind->want == 8 && !(t->kind->flags & PASSIVE))
		say_note(t, "u64=%d", t->buf[0]);
}

static void do_read(struct test *t)
{
	DO(t, read(t->fd, t->buf, t->kind->want));
	note_data(t, t->ret);
}

static void do_read_nothing(struct test *t)
{
	DO(t, read(t->fd, t->buf, 0));
}

/* Nothing lives there; the compiler need not know. */
static void *volatile nowhere = (void *)16;

static void do_read_fault(struct test *t)
{
	DO(t, read(t->fd, nowhere, t->kind->want));
}

static int three(struct test *t, struct iovec v[3])
{
	int w = t->kind->want;

	v[0] = (struct iovec){t->buf, 2};
	v[1] = (struct iovec){t->buf + 2, 0};
	v[2] = (struct iovec){t->buf + 2, w - 2};
	return 3;
}

/* The structures of signalfd and inotify are not split over vectors. */
static int vector(struct test *t, struct iovec v[3])
{
	if (t->kind->flags & TEXT)
		return three(t, v);
	v[0] = (struct iovec){t->buf, t->kind->want};
	return 1;
}

static void do_readv_nothing(struct test *t)
{
	struct iovec v[2] = {{t->buf, 0}, {t->buf, 0}};

	DO(t, readv(t->fd, v, 2));
}

static void do_readv(struct test *t)
{
	struct iovec v[3];
	int n = vector(t, v);

	DO(t, readv(t->fd, v, n));
	note_data(t, t->ret);
}

static void do_pread(struct test *t)
{
	DO(t, pread(t->fd, t->buf, t->kind->want, 1));
	note_data(t, t->ret);
}

static void do_preadv(struct test *t)
{
	struct iovec v[3];
	int n = vector(t, v);

	DO(t, preadv(t->fd, v, n, 2));
	note_data(t, t->ret);
}

static void do_preadv2(struct test *t)
{
	struct iovec v[3];
	int n = vector(t, v);

	DO(t, preadv2(t->fd, v, n, -1, 0));
	note_data(t, t->ret);
}

static void do_preadv2_nowait(struct test *t)
{
	struct iovec v[3];
	int n = vector(t, v);

	DO(t, preadv2(t->fd, v, n, -1, RWF_NOWAIT));
	note_data(t, t->ret);
}

static void recv_with(struct test *t, int flags)
{
	DO(t, recv(t->fd, t->buf, t->kind->want, flags));
	note_data(t, t->ret > t->kind->want ? t->kind->want : t->ret);
}

static void do_recv(struct test *t)
{
	recv_with(t, 0);
}

static void do_recv_peek(struct test *t)
{
	recv_with(t, MSG_PEEK);
}

static void do_recv_waitall(struct test *t)
{
	recv_with(t, MSG_WAITALL);
}

static void do_recv_dontwait(struct test *t)
{
	recv_with(t, MSG_DONTWAIT);
}

static void do_recv_trunc(struct test *t)
{
	recv_with(t, t->kind->flags & STREAM ? 0 : MSG_TRUNC);
}

static void do_recv_oob(struct test *t)
{
	recv_with(t, MSG_OOB);
}

static void do_recv_errqueue(struct test *t)
{
	recv_with(t, MSG_ERRQUEUE);
}

static void do_recv_nothing(struct test *t)
{
	DO(t, recv(t->fd, t->buf, 0, 0));
}

static void do_recvfrom(struct test *t)
{
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof from;

	DO(t, recvfrom(t->fd, t->buf, t->kind->want, 0, (struct sockaddr *)&from, &len));
	note_data(t, t->ret);
	if (t->ret >= 0)
		say_note(t, "from=%d/%d", from.ss_family, (int)len);
}

static void do_recvmsg(struct test *t)
{
	struct iovec v[3];
	int n = vector(t, v);
	char control[64];
	struct msghdr m = {.msg_iov = v, .msg_iovlen = n, .msg_control = control,
			   .msg_controllen = sizeof control};

	DO(t, recvmsg(t->fd, &m, 0));
	note_data(t, t->ret);
	if (t->ret >= 0)
		say_note(t, "flags=%x control=%d", (unsigned)m.msg_flags, (int)m.msg_controllen);
}

static void do_recvmsg_nothing(struct test *t)
{
	struct msghdr m = {.msg_iov = NULL};

	DO(t, recvmsg(t->fd, &m, 0));
	if (t->ret >= 0)
		say_note(t, "flags=%x", (unsigned)m.msg_flags);
}

static void recvmmsg_with(struct test *t, int flags, struct timespec *timeout)
{
	char second[8];
	struct iovec v[2] = {{t->buf, 8}, {second, 8}};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &v[0], .msg_iovlen = 1}},
			       {.msg_hdr = {.msg_iov = &v[1], .msg_iovlen = 1}}};

	DO(t, recvmmsg(t->fd, m, 2, flags, timeout));
	for (int i = 0; i < t->ret; i++)
		say_note(t, "m%d=%u/%x", i, m[i].msg_len, (unsigned)m[i].msg_hdr.msg_flags);
}

static void do_recvmmsg(struct test *t)
{
	recvmmsg_with(t, 0, NULL);
}

static void do_recvmmsg_one(struct test *t)
{
	recvmmsg_with(t, MSG_WAITFORONE, NULL);
}

/* ---- accepting, connecting ---- */

static void note_accepted(struct test *t)
{
	if (t->ret < 0)
		return;
	say_note(t, "fl=%x fd=%x", (unsigned)(fcntl(t->ret, F_GETFL) & (O_NONBLOCK | O_ACCMODE)),
		 (unsigned)fcntl(t->ret, F_GETFD));
	close(t->ret);
	t->ret = 0;
}

static void do_accept(struct test *t)
{
	DO(t, accept(t->fd, NULL, NULL));
	note_accepted(t);
}

static void do_accept_address(struct test *t)
{
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof from;

	DO(t, accept(t->fd, (struct sockaddr *)&from, &len));
	if (t->ret >= 0)
		say_note(t, "from=%d/%d", from.ss_family, (int)len);
	note_accepted(t);
}

static void do_accept4(struct test *t)
{
	DO(t, accept4(t->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	note_accepted(t);
}

static void do_accept4_bad(struct test *t)
{
	DO(t, accept4(t->fd, NULL, NULL, 1));
	note_accepted(t);
}

static void do_connect(struct test *t)
{
	struct sockaddr_in shut = {.sin_family = AF_INET, .sin_port = htons(1),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	if (t->kind->flags & CONNECTS)
		DO(t, connect(t->fd, (struct sockaddr *)&t->addr, t->addrlen));
	else
		DO(t, connect(t->fd, (struct sockaddr *)&shut, sizeof shut));
}

/* ---- writing ---- */

static void sized(struct test *t, long bytes)
{
	t->moved = t->ret < 0 ? 0 : bytes;
}

static void do_write(struct test *t)
{
	DO(t, write(t->fd, small, SMALL));
	sized(t, t->ret);
}

static void do_write_nothing(struct test *t)
{
	DO(t, write(t->fd, small, 0));
	sized(t, t->ret);
}

static void do_write_fault(struct test *t)
{
	DO(t, write(t->fd, nowhere, SMALL));
	sized(t, t->ret);
}

static void do_write_big(struct test *t)
{
	DO(t, write(t->fd, big, BIG_BYTES));
	sized(t, t->ret);
}

static void do_writev(struct test *t)
{
	struct iovec v[3] = {{(char *)small, 3}, {NULL, 0}, {(char *)small + 3, SMALL - 3}};

	DO(t, writev(t->fd, v, 3));
	sized(t, t->ret);
}

static void do_writev_nothing(struct test *t)
{
	struct iovec v[2] = {{(char *)small, 0}, {NULL, 0}};

	DO(t, writev(t->fd, v, 2));
	sized(t, t->ret);
}

static void do_writev_big(struct test *t)
{
	struct iovec v[2] = {{big, 100000}, {big + 100000, BIG_BYTES - 100000}};

	DO(t, writev(t->fd, v, 2));
	sized(t, t->ret);
}

static void do_pwrite(struct test *t)
{
	DO(t, pwrite(t->fd, small, SMALL, 1));
	sized(t, t->ret);
}

static void pwritev2_with(struct test *t, int flags)
{
	struct iovec v[2] = {{(char *)small, 3}, {(char *)small + 3, SMALL - 3}};

	DO(t, pwritev2(t->fd, v, 2, -1, flags));
	sized(t, t->ret);
}

static void do_pwritev2(struct test *t)
{
	pwritev2_with(t, 0);
}

static void do_pwritev2_nowait(struct test *t)
{
	pwritev2_with(t, RWF_NOWAIT);
}

static void send_with(struct test *t, int flags)
{
	DO(t, send(t->fd, small, SMALL, flags));
	sized(t, t->ret);
}

static void do_send(struct test *t)
{
	send_with(t, 0);
}

static void do_send_nosignal(struct test *t)
{
	send_with(t, MSG_NOSIGNAL);
}

static void do_send_dontwait(struct test *t)
{
	send_with(t, MSG_DONTWAIT);
}

static void do_send_big(struct test *t)
{
	DO(t, send(t->fd, big, BIG_BYTES, 0));
	sized(t, t->ret);
}

static void do_send_big_dontwait(struct test *t)
{
	DO(t, send(t->fd, big, BIG_BYTES, MSG_DONTWAIT));
	sized(t, t->ret);
}

static void do_sendto(struct test *t)
{
	DO(t, sendto(t->fd, small, SMALL, 0, NULL, 0));
	sized(t, t->ret);
}

static void do_sendto_address(struct test *t)
{
	DO(t, sendto(t->fd, small, SMALL, 0, (struct sockaddr *)&t->addr, t->addrlen));
	sized(t, t->ret);
}

static void do_sendmsg(struct test *t)
{
	struct iovec v[2] = {{(char *)small, 3}, {(char *)small + 3, SMALL - 3}};
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};

	DO(t, sendmsg(t->fd, &m, 0));
	sized(t, t->ret);
}

static void do_sendmmsg(struct test *t)
{
	struct iovec v[2] = {{(char *)small, 3}, {(char *)small + 3, SMALL - 3}};
	struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = &v[0], .msg_iovlen = 1}},
			       {.msg_hdr = {.msg_iov = &v[1], .msg_iovlen = 1}}};
	long bytes = 0;

	DO(t, sendmmsg(t->fd, m, 2, 0));
	for (int i = 0; i < t->ret; i++)
		bytes += m[i].msg_len;
	sized(t, bytes);
}

/* ---- moving between descriptors ---- */

static void splice_in(struct test *t, int flags, bool copy)
{
	char got[64];
	int p[2];

	if (pipe(p) == -1)
		die("pipe");
	if (copy)
		DO(t, tee(t->fd, p[1], 8, flags));
	else
		DO(t, splice(t->fd, NULL, p[1], NULL, 8, flags));
	if (t->ret > 0 && read(p[0], got, sizeof got) == t->ret && t->kind->flags & TEXT)
		say_note(t, "\"%.*s\"", (int)t->ret, got);
	close(p[0]);
	close(p[1]);
}

static void do_splice_in(struct test *t)
{
	splice_in(t, 0, false);
}

static void do_splice_in_nonblock(struct test *t)
{
	splice_in(t, SPLICE_F_NONBLOCK, false);
}

static void do_tee(struct test *t)
{
	splice_in(t, 0, true);
}

static void splice_out(struct test *t, int flags)
{
	int p[2];

	if (pipe(p) == -1 || write(p[1], small, SMALL) != SMALL)
		die("pipe");
	DO(t, splice(p[0], NULL, t->fd, NULL, SMALL, flags));
	sized(t, t->ret);
	close(p[0]);
	close(p[1]);
}

static void do_splice_out(struct test *t)
{
	splice_out(t, 0);
}

static void do_splice_out_nonblock(struct test *t)
{
	splice_out(t, SPLICE_F_NONBLOCK);
}

static void sendfile_of(struct test *t, long bytes)
{
	int file = memfd_create("source", 0);
	off_t at = 1;

	if (file == -1 || ftruncate(file, bytes + 1) == -1)
		die("memfd_create");
	DO(t, sendfile(t->fd, file, &at, bytes));
	sized(t, t->ret);
	if (t->ret >= 0)
		say_note(t, "at=%s", at == 1 + t->ret ? "moved" : "wrong");
	close(file);
}

static void do_sendfile(struct test *t)
{
	sendfile_of(t, SMALL);
}

static void do_sendfile_big(struct test *t)
{
	sendfile_of(t, BIG_BYTES);
}

static void do_sendfile_from(struct test *t)
{
	int to = open("/dev/null", O_WRONLY);

	DO(t, sendfile(to, t->fd, NULL, 8));
	close(to);
}

static void do_vmsplice(struct test *t)
{
	struct iovec v = {(char *)small, SMALL};

	DO(t, vmsplice(t->fd, &v, 1, 0));
	sized(t, t->ret);
}

/* ---- waiting only ---- */

static void poll_with(struct test *t, short events, int timeout)
{
	struct pollfd p = {t->fd, events, 0x55};

	DO(t, poll(&p, 1, timeout));
	say_note(t, "revents=%x", (unsigned)(t->ret < 0 ? 0 : p.revents));
}

static void do_poll_in(struct test *t)
{
	poll_with(t, POLLIN, -1);
}

static void do_poll_all(struct test *t)
{
	poll_with(t, POLLIN | POLLPRI | POLLRDHUP, -1);
}

static void do_poll_none(struct test *t)
{
	poll_with(t, 0, timeout_ms(t));
}

static void do_poll_now(struct test *t)
{
	poll_with(t, POLLIN | POLLOUT, 0);
}

static void do_poll_timed(struct test *t)
{
	poll_with(t, POLLIN, timeout_ms(t));
}

static void do_poll_out(struct test *t)
{
	poll_with(t, POLLOUT, -1);
}

static void do_poll_out_timed(struct test *t)
{
	poll_with(t, POLLOUT, timeout_ms(t));
}

/* The same descriptor twice, one that is none, and ours. */
static void do_poll_many(struct test *t)
{
	struct pollfd p[4] = {{t->fd, POLLIN, 0}, {-1, POLLIN, 0}, {t->fd, POLLIN | POLLRDHUP, 0},
			      {-7, 0, 3}};

	DO(t, poll(p, 4, -1));
	say_note(t, "revents=%x,%x,%x,%x", p[0].revents, p[1].revents, p[2].revents, p[3].revents);
}

static void ppoll_with(struct test *t, struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd p = {t->fd, POLLIN, 0};
	struct timespec before = timeout ? *timeout : (struct timespec){0};

	DO(t, ppoll(&p, 1, timeout, mask));
	say_note(t, "revents=%x timeout=%s", (unsigned)(t->ret < 0 ? 0 : p.revents),
		 timeout && memcmp(&before, timeout, sizeof before) ? "changed" : "kept");
}

static void do_ppoll(struct test *t)
{
	ppoll_with(t, NULL, NULL);
}

static void do_ppoll_timed(struct test *t)
{
	struct timespec ts = in_ms(timeout_ms(t));

	ppoll_with(t, &ts, NULL);
}

/* The signals that others send are let in by the call alone. */
static void do_ppoll_mask(struct test *t)
{
	sigset_t none, users, after;

	sigemptyset(&none);
	sigaddset(&none, FED);
	sigemptyset(&users);
	sigaddset(&users, SIGUSR1);
	sigaddset(&users, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &users, NULL);
	ppoll_with(t, NULL, &none);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	say_note(t, "mask=%d%d", sigismember(&after, SIGUSR1), sigismember(&after, FED));
}

static const char *rest_of(const struct test *t, const struct timeval *tv)
{
	long ms = tv->tv_sec * 1000 + tv->tv_usec / 1000;

	return ms == 0 ? "none" : ms < timeout_ms(t) ? "some" : "all";
}

/* FD_SET beyond its size is no case of ours. */
static bool no_select(struct test *t)
{
	if (t->fd >= 0 && t->fd < FD_SETSIZE)
		return false;
	say_note(t, "not selectable");
	return true;
}

static void select_with(struct test *t, bool out, struct timeval *tv)
{
	fd_set set, except;

	if (no_select(t))
		return;
	FD_ZERO(&set);
	FD_ZERO(&except);
	FD_SET(t->fd, &set);
	FD_SET(t->fd, &except);
	DO(t, select(t->fd + 1, out ? NULL : &set, out ? &set : NULL, &except, tv));
	say_note(t, "set=%d%d", !!FD_ISSET(t->fd, &set), !!FD_ISSET(t->fd, &except));
	if (tv)
		say_note(t, "rest=%s", rest_of(t, tv));
}

static void do_select_in(struct test *t)
{
	select_with(t, false, NULL);
}

static void do_select_out(struct test *t)
{
	select_with(t, true, NULL);
}

static void do_select_timed(struct test *t)
{
	struct timeval tv = {timeout_ms(t) / 1000, timeout_ms(t) % 1000 * 1000L};

	select_with(t, false, &tv);
}

static void pselect_with(struct test *t, const struct timespec *ts)
{
	struct timespec before = ts ? *ts : (struct timespec){0};
	fd_set set;

	if (no_select(t))
		return;
	FD_ZERO(&set);
	FD_SET(t->fd, &set);
	DO(t, pselect(t->fd + 1, &set, NULL, NULL, ts, NULL));
	say_note(t, "set=%d timeout=%s", !!FD_ISSET(t->fd, &set),
		 ts && memcmp(&before, ts, sizeof before) ? "changed" : "kept");
}

static void do_pselect(struct test *t)
{
	pselect_with(t, NULL);
}

static void do_pselect_timed(struct test *t)
{
	struct timespec ts = in_ms(timeout_ms(t));

	pselect_with(t, &ts);
}

static void epoll_with(struct test *t, unsigned events, int timeout, bool masked)
{
	struct epoll_event e = {.events = events, .data.u32 = 7}, got[3];
	sigset_t none;
	int ep = epoll_create1(0);

	errno = 0;
	if (epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &e) == -1)
		say_note(t, "ctl=%d", errno);
	if (t->note[0]) {
		close(ep); /* nothing would ever wake it */
		t->err = SENTINEL;
		return;
	}
	memset(got, 0, sizeof got);
	sigemptyset(&none);
	sigaddset(&none, FED);
	if (masked)
		DO(t, epoll_pwait(ep, got, 3, timeout, &none));
	else
		DO(t, epoll_wait(ep, got, 3, timeout));
	/* A peer that goes does so in steps, and the first wakes us. */
	if (t->ret > 0 && got[0].events & EPOLLHUP)
		say_note(t, "events=hup data=%d", (int)got[0].data.u32);
	else if (t->ret > 0)
		say_note(t, "events=%x data=%d", got[0].events, (int)got[0].data.u32);
	if (t->ret > 0 && !(got[0].events & EPOLLHUP) && events & (EPOLLET | EPOLLONESHOT))
		say_note(t, "again=%d", epoll_wait(ep, got, 3, 0));
	close(ep);
}

static void do_epoll_in(struct test *t)
{
	epoll_with(t, EPOLLIN, -1, false);
}

static void do_epoll_edge(struct test *t)
{
	epoll_with(t, EPOLLIN | EPOLLRDHUP | EPOLLET, -1, false);
}

static void do_epoll_oneshot(struct test *t)
{
	epoll_with(t, EPOLLIN | EPOLLONESHOT, -1, false);
}

static void do_epoll_timed(struct test *t)
{
	epoll_with(t, EPOLLIN, timeout_ms(t), false);
}

static void do_epoll_out(struct test *t)
{
	epoll_with(t, EPOLLOUT, -1, false);
}

static void do_epoll_pwait(struct test *t)
{
	epoll_with(t, EPOLLIN, -1, true);
}

/* On an epoll instance itself: what it watches is fed. */
static void do_epoll_self(struct test *t)
{
	struct epoll_event got[2] = {{0}};

	DO(t, epoll_wait(t->fd, got, 2, timeout_ms(t)));
	if (t->ret > 0)
		say_note(t, "events=%x", got[0].events);
}

const struct call calls[] = {
	{"read", IN, do_read},
	{"read_nothing", IN | NOWAIT, do_read_nothing},
	{"read_fault", IN, do_read_fault},
	{"readv", IN, do_readv},
	{"readv_nothing", IN | NOWAIT, do_readv_nothing},
	{"pread", IN | NOWAIT, do_pread},
	{"preadv", IN | NOWAIT, do_preadv},
	{"preadv2", IN, do_preadv2},
	{"preadv2_nowait", IN | NOWAIT, do_preadv2_nowait},
	{"recv", IN | OF_SOCK, do_recv},
	{"recv_peek", IN | OF_SOCK, do_recv_peek},
	{"recv_waitall", IN | OF_SOCK, do_recv_waitall},
	{"recv_dontwait", IN | OF_SOCK | NOWAIT, do_recv_dontwait},
	{"recv_trunc", IN | OF_SOCK, do_recv_trunc},
	{"recv_oob", IN | OF_SOCK | NOWAIT, do_recv_oob},
	{"recv_errqueue", IN | OF_SOCK | NOWAIT, do_recv_errqueue},
	{"recv_nothing", IN | OF_SOCK, do_recv_nothing},
	{"recvfrom", IN | OF_SOCK, do_recvfrom},
	{"recvmsg", IN | OF_SOCK, do_recvmsg},
	{"recvmsg_nothing", IN | OF_SOCK, do_recvmsg_nothing},
	{"recvmmsg", IN | OF_SOCK, do_recvmmsg},
	{"recvmmsg_one", IN | OF_SOCK, do_recvmmsg_one},
	{"accept", IN | OF_LISTEN, do_accept},
	{"accept_address", IN | OF_LISTEN, do_accept_address},
	{"accept4", IN | OF_LISTEN, do_accept4},
	{"accept4_bad", IN | OF_LISTEN | NOWAIT, do_accept4_bad},
	{"connect", IN | OF_CONNECT, do_connect},
	{"write", OUT, do_write},
	{"write_nothing", OUT | NOWAIT, do_write_nothing},
	{"write_fault", OUT | NOWAIT, do_write_fault},
	{"write_big", OUT | BIG, do_write_big},
	{"writev", OUT, do_writev},
	{"writev_nothing", OUT | NOWAIT, do_writev_nothing},
	{"writev_big", OUT | BIG, do_writev_big},
	{"pwrite", OUT | NOWAIT, do_pwrite},
	{"pwritev2", OUT, do_pwritev2},
	{"pwritev2_nowait", OUT | NOWAIT, do_pwritev2_nowait},
	{"send", OUT | OF_SOCK, do_send},
	{"send_nosignal", OUT | OF_SOCK, do_send_nosignal},
	{"send_dontwait", OUT | OF_SOCK | NOWAIT, do_send_dontwait},
	{"send_big", OUT | OF_SOCK | BIG, do_send_big},
	{"send_big_dontwait", OUT | OF_SOCK | BIG | NOWAIT, do_send_big_dontwait},
	{"sendto", OUT | OF_SOCK, do_sendto},
	{"sendto_address", OUT | OF_SOCK, do_sendto_address},
	{"sendmsg", OUT | OF_SOCK, do_sendmsg},
	{"sendmmsg", OUT | OF_SOCK, do_sendmmsg},
	{"splice_in", IN | SPLICES, do_splice_in},
	{"splice_in_nonblock", IN | NOWAIT | SPLICES, do_splice_in_nonblock},
	{"tee", IN | OF_PIPE, do_tee},
	{"splice_out", OUT | SPLICES, do_splice_out},
	{"splice_out_nonblock", OUT | NOWAIT | SPLICES, do_splice_out_nonblock},
	{"sendfile", OUT | SPLICES, do_sendfile},
	{"sendfile_big", OUT | BIG | SPLICES, do_sendfile_big},
	{"sendfile_from", IN | NOWAIT, do_sendfile_from},
	{"vmsplice", OUT | OF_PIPE, do_vmsplice},
	{"poll_in", IN | POLLS, do_poll_in},
	{"poll_all", IN | POLLS, do_poll_all},
	{"poll_none", IN | POLLS | TIMED, do_poll_none},
	{"poll_now", IN | OUT | POLLS | NOWAIT, do_poll_now},
	{"poll_timed", IN | POLLS | TIMED, do_poll_timed},
	{"poll_out", OUT | POLLS, do_poll_out},
	{"poll_out_timed", OUT | POLLS | TIMED, do_poll_out_timed},
	{"poll_many", IN | POLLS, do_poll_many},
	{"ppoll", IN | POLLS, do_ppoll},
	{"ppoll_timed", IN | POLLS | TIMED, do_ppoll_timed},
	{"ppoll_mask", IN | POLLS, do_ppoll_mask},
	{"select_in", IN | POLLS, do_select_in},
	{"select_out", OUT | POLLS, do_select_out},
	{"select_timed", IN | POLLS | TIMED, do_select_timed},
	{"pselect", IN | POLLS, do_pselect},
	{"pselect_timed", IN | POLLS | TIMED, do_pselect_timed},
	{"epoll_in", IN | POLLS, do_epoll_in},
	{"epoll_edge", IN | POLLS, do_epoll_edge},
	{"epoll_oneshot", IN | POLLS, do_epoll_oneshot},
	{"epoll_timed", IN | POLLS | TIMED, do_epoll_timed},
	{"epoll_out", OUT | POLLS, do_epoll_out},
	{"epoll_pwait", IN | POLLS, do_epoll_pwait},
	{"epoll_self", IN | POLLS | TIMED, do_epoll_self},
	{NULL, 0, NULL},
};
