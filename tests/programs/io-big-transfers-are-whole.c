/*
 * Blocking writes of more than the buffer holds are never short, whoever reads at what pace, and
 * the bytes arrive in order: pipes, stream sockets, writev/readv, sendmsg/recvmsg and MSG_WAITALL.
 */
#include "check.h"
#include <sys/socket.h>
#include <sys/uio.h>

enum { PAIRS = 10, SIZE = 1 << 20 };

static unsigned char data[SIZE];

struct end {
	int fd, how;
};

static void *sender(void *arg)
{
	struct end *e = arg;
	struct iovec iov[4];
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 4 };

	for (int i = 0; i < 4; i++)
		iov[i] = (struct iovec){ data + i * (SIZE / 4), SIZE / 4 };
	switch (e->how) {
	case 0:
		CHECK_EQ(write(e->fd, data, SIZE), SIZE);
		break;
	case 1:
		CHECK_EQ(writev(e->fd, iov, 4), SIZE);
		break;
	case 2:
		CHECK_EQ(sendmsg(e->fd, &msg, 0), SIZE);
		break;
	case 3:
		CHECK_EQ(send(e->fd, data, SIZE, 0), SIZE);
		break;
	}
	CHECK_SYS(close(e->fd));
	return NULL;
}

static void *receiver(void *arg)
{
	struct end *e = arg;
	unsigned char *got = malloc(SIZE + 1);
	size_t n = 0;
	ssize_t r;

	if (e->how == 3) {
		CHECK_EQ(recv(e->fd, got, SIZE, MSG_WAITALL), SIZE);
		n = SIZE;
	}
	for (;;) {
		size_t want = n % 3000 + 1;
		struct iovec iov[2] = {{got + n, want / 2}, {got + n + want / 2, want - want / 2}};
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

		if (want > SIZE + 1 - n)
			want = SIZE + 1 - n;
		if (e->how == 1 && want > 1 && SIZE - n > 4000)
			r = readv(e->fd, iov, 2);
		else if (e->how == 2 && want > 1 && SIZE - n > 4000)
			r = recvmsg(e->fd, &msg, 0);
		else
			r = read(e->fd, got + n, want);
		CHECK_SYS(r);
		if (r == 0)
			break;
		n += (size_t)r;
		if (n % 64 == 0)
			sched_yield();
	}
	CHECK_EQ(n, SIZE);
	CHECK_EQ(memcmp(got, data, SIZE), 0);
	free(got);
	CHECK_SYS(close(e->fd));
	return NULL;
}

static void run(int how, const char *name)
{
	static struct end e[2 * PAIRS];
	pthread_t t[2 * PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		int fd[2];

		if (how < 2 && i % 2)
			CHECK_SYS(pipe(fd));
		else
			CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
		e[2 * i] = (struct end){ fd[0], how };
		e[2 * i + 1] = (struct end){ fd[1], how };
	}
	for (int i = 0; i < 2 * PAIRS; i++)
		t[i] = spawn(i % 2 ? sender : receiver, &e[i]);
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	passed("%s: %d transfers of %d bytes", name, PAIRS, SIZE);
}

int main(void)
{
	for (int i = 0; i < SIZE; i++)
		data[i] = (unsigned char)(i * 7 + (i >> 8) * 13 + (i >> 16));
	run(0, "write");
	run(1, "writev, readv");
	run(2, "sendmsg, recvmsg");
	run(3, "send, recv MSG_WAITALL");
	return 0;
}
