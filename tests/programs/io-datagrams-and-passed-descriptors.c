/*
 * Datagrams with boundaries and addresses over UDP on loopback (sendto, recvfrom, sendmmsg,
 * recvmmsg, MSG_PEEK, MSG_TRUNC), and descriptors passed over a Unix socket from thread to thread,
 * used at once.
 */
#include "check.h"
#include <arpa/inet.h>
#include <sys/socket.h>

enum { PAIRS = 20, ROUNDS = 30, BATCH = 8 };

static int udp(struct sockaddr_in *sin)
{
	socklen_t len = sizeof *sin;
	int fd;

	*sin = (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	CHECK_SYS(fd = socket(AF_INET, SOCK_DGRAM, 0));
	CHECK_SYS(bind(fd, (struct sockaddr *)sin, sizeof *sin));
	CHECK_SYS(getsockname(fd, (struct sockaddr *)sin, &len));
	return fd;
}

static void *echo(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < ROUNDS * BATCH; i++) {
		struct sockaddr_in from;
		socklen_t len = sizeof from;
		char buf[64];
		ssize_t n;

		if (i % 3 == 0)
			CHECK_EQ(recv(fd, buf, 2, MSG_PEEK | MSG_TRUNC) > 2, 1);
		CHECK_SYS(n = recvfrom(fd, buf, sizeof buf, 0, (struct sockaddr *)&from, &len));
		CHECK_EQ(sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, len), n);
	}
	return NULL;
}

static void *ask(void *arg)
{
	struct sockaddr_in server, mine;
	socklen_t len = sizeof server;
	int fd = udp(&mine);

	CHECK_SYS(getsockname(*(int *)arg, (struct sockaddr *)&server, &len));
	CHECK_SYS(connect(fd, (struct sockaddr *)&server, len));
	for (int i = 0; i < ROUNDS; i++) {
		char out[BATCH][64], in[BATCH][64];
		struct iovec io[BATCH], ii[BATCH];
		struct mmsghdr mo[BATCH], mi[BATCH];
		int got = 0;

		memset(mo, 0, sizeof mo);
		memset(mi, 0, sizeof mi);
		for (int k = 0; k < BATCH; k++) {
			io[k].iov_base = out[k];
			io[k].iov_len =
				(size_t)snprintf(out[k], sizeof out[k], "round %d, %d", i, k);
			mo[k].msg_hdr = (struct msghdr){ .msg_iov = &io[k], .msg_iovlen = 1 };
			ii[k] = (struct iovec){ in[k], sizeof in[k] };
			mi[k].msg_hdr = (struct msghdr){ .msg_iov = &ii[k], .msg_iovlen = 1 };
		}
		CHECK_EQ(sendmmsg(fd, mo, BATCH, 0), BATCH);
		while (got < BATCH) {
			int n = recvmmsg(fd, mi + got, (unsigned)(BATCH - got), MSG_WAITFORONE,
					 NULL);

			CHECK(n > 0);
			got += n;
		}
		for (int k = 0; k < BATCH; k++) {
			CHECK_EQ(mi[k].msg_len, io[k].iov_len);
			CHECK_EQ(memcmp(in[k], out[k], io[k].iov_len), 0);
		}
	}
	CHECK_SYS(close(fd));
	return NULL;
}

static void send_fd(int over, int fd)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} u;
	struct iovec iov = { "f", 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.buf,
			      .msg_controllen = sizeof u.buf };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	CHECK_EQ(sendmsg(over, &msg, 0), 1);
}

static int receive_fd(int over)
{
	union {
		struct cmsghdr align;
		char buf[CMSG_SPACE(sizeof(int))];
	} u;
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = u.buf,
			      .msg_controllen = sizeof u.buf };
	int fd;

	CHECK_EQ(recvmsg(over, &msg, MSG_CMSG_CLOEXEC), 1);
	CHECK(CMSG_FIRSTHDR(&msg) != NULL);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof fd);
	return fd;
}

static void *passes(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int p[2];
		char buf[8];

		if (i % 2)
			CHECK_SYS(pipe(p));
		else
			CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, p));
		send_fd(*(int *)arg, p[1]);
		CHECK_SYS(close(p[1]));
		CHECK_EQ(read(p[0], buf, sizeof buf), 5);
		CHECK_EQ(memcmp(buf, "hello", 5), 0);
		CHECK_EQ(read(p[0], buf, sizeof buf), 0);
		CHECK_SYS(close(p[0]));
	}
	return NULL;
}

static void *uses(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = receive_fd(*(int *)arg);

		sched_yield();
		CHECK_EQ(write(fd, "hello", 5), 5);
		CHECK_SYS(close(fd));
	}
	return NULL;
}

int main(void)
{
	struct sockaddr_in sin;
	int fd[2 * PAIRS];
	pthread_t t[2 * PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		fd[i] = udp(&sin);
		t[i] = spawn(echo, &fd[i]);
		t[PAIRS + i] = spawn(ask, &fd[i]);
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	for (int i = 0; i < PAIRS; i++)
		CHECK_SYS(close(fd[i]));
	passed("%d datagrams there and back", PAIRS * ROUNDS * BATCH);
	for (int i = 0; i < PAIRS; i++)
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, &fd[2 * i]));
	for (int i = 0; i < PAIRS; i++) {
		t[2 * i] = spawn(passes, &fd[2 * i]);
		t[2 * i + 1] = spawn(uses, &fd[2 * i + 1]);
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	passed("%d descriptors passed and used", PAIRS * ROUNDS);
	return 0;
}
