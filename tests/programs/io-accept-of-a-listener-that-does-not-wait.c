/*
 * A listener with O_NONBLOCK says EAGAIN, and waits again once that is taken away, also by way of a duplicate.
 * What it accepts waits for bytes, and for as many of them as SO_RCVLOWAT of the listener says.
 */
#include "check.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static int ls, made;
static union {
	struct sockaddr a;
	struct sockaddr_in in;
	struct sockaddr_un un;
	char room[128];
} at;
static socklen_t at_len;

static void open_listener(int family)
{
	CHECK_SYS(ls = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0));
	memset(&at, 0, sizeof at);
	at.a.sa_family = (sa_family_t)family;
	if (family == AF_INET)
		at.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_SYS(bind(ls, &at.a, family == AF_INET ? sizeof at.in : sizeof(sa_family_t)));
	at_len = sizeof at;
	CHECK_SYS(getsockname(ls, &at.a, &at_len));
	CHECK_SYS(listen(ls, 8));
}

static int to_listener(void)
{
	int fd;

	CHECK_SYS(fd = socket(at.a.sa_family, SOCK_STREAM, 0));
	CHECK_SYS(connect(fd, &at.a, at_len));
	return fd;
}

static void *accepts(void *arg)
{
	CHECK_SYS(made = accept(ls, NULL, NULL));
	return arg;
}

static void *reads(void *arg)
{
	char buf[16];

	return (void *)(long)read(*(int *)arg, buf, sizeof buf);
}

static void settle(void)
{
	struct timespec ts = { .tv_nsec = 20000000 };

	nanosleep(&ts, NULL);
}

/* The other end sends 2 bytes and later 2 more; each read must say as many as want. */
static void bytes_wait(int fd, int other, long want)
{
	pthread_t t;
	void *r;

	CHECK_OK(pthread_create(&t, NULL, reads, &fd));
	settle();
	CHECK_EQ(write(other, "ab", 2), 2);
	if (want == 4) {
		settle();
		CHECK_EQ(write(other, "cd", 2), 2);
	}
	CHECK_OK(pthread_join(t, &r));
	CHECK_EQ((long)r, want);
}

static void family(int f, const char *name)
{
	int fd, other, low = 4, copy;
	pthread_t t;

	open_listener(f);
	CHECK_ERR(accept(ls, NULL, NULL), EAGAIN);
	other = to_listener();
	CHECK_SYS(fd = accept(ls, NULL, NULL));
	CHECK_ERR(accept(ls, NULL, NULL), EAGAIN);
	bytes_wait(fd, other, 2);
	printf("%s: what it accepts waits\n", name);

	CHECK_SYS(copy = dup(ls));
	CHECK_SYS(fcntl(copy, F_SETFL, 0));
	CHECK_OK(pthread_create(&t, NULL, accepts, NULL));
	settle();
	close(other);
	other = to_listener();
	CHECK_OK(pthread_join(t, NULL));
	bytes_wait(made, other, 2);
	CHECK_SYS(fcntl(copy, F_SETFL, O_NONBLOCK));
	CHECK_ERR(accept(ls, NULL, NULL), EAGAIN);
	printf("%s: it waits while the flag is away\n", name);

	if (f == AF_INET) {
		CHECK_SYS(setsockopt(ls, SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low));
		close(fd);
		close(other);
		other = to_listener();
		CHECK_SYS(fd = accept4(ls, NULL, NULL, SOCK_CLOEXEC));
		bytes_wait(fd, other, 4);
		printf("%s: its low-water mark is handed on\n", name);
	}
	close(fd);
	close(other);
	close(made);
	close(copy);
	close(ls);
}

/* In a thread: main's calls may be libc's own until there is one. */
static void *both(void *arg)
{
	family(AF_INET, "tcp");
	family(AF_UNIX, "local");
	return arg;
}

int main(void)
{
	pthread_t t;

	CHECK_OK(pthread_create(&t, NULL, both, NULL));
	CHECK_OK(pthread_join(t, NULL));
	return 0;
}
