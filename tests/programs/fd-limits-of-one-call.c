/*
 * One call moves at most the largest multiple of a page that fits an int, however much is asked
 * for: write, writev, send and recv of three gigabytes.
 */
#include "check.h"
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define ASKED ((size_t)3 << 30)
#define MOST ((ssize_t)(INT_MAX & ~4095))

static void *reads(void *arg)
{
	enum { ROOM = 1 << 20 };
	int *fds = arg;
	char *buf = malloc(ROOM);
	ssize_t n, all = 0;

	CHECK(buf);
	while ((n = read(fds[0], buf, ROOM)) > 0)
		all += n;
	CHECK_EQ(n, 0);
	CHECK_EQ(all, MOST);
	free(buf);
	return NULL;
}

static ssize_t by_write(int fd, char *big)
{
	return write(fd, big, ASKED);
}

static ssize_t by_writev(int fd, char *big)
{
	struct iovec v[4];

	for (int i = 0; i < 4; i++)
		v[i] = (struct iovec){ big, ASKED / 4 };
	return writev(fd, v, 4);
}

static void one(ssize_t (*writes)(int, char *), int local, char *big, const char *what)
{
	int fds[2];
	pthread_t t;

	if (local) {
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	} else {
		CHECK_SYS(pipe(fds));
		CHECK_SYS(fcntl(fds[1], F_SETPIPE_SZ, 1 << 20));
	}
	t = spawn(reads, fds);
	CHECK_EQ(writes(fds[1], big), MOST);
	CHECK_SYS(close(fds[1]));
	join(t);
	CHECK_SYS(close(fds[0]));
	passed("%s", what);
}

int main(void)
{
	char *big = mmap(NULL, ASKED, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(big != MAP_FAILED);
	one(by_write, 0, big, "write to a pipe");
	one(by_writev, 0, big, "writev to a pipe");
	one(by_write, 1, big, "write to a socket");
	return 0;
}
