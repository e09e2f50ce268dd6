/*
 * A receive waits on a datagram socket whose number is closed meanwhile; it ends when a duplicate is shut down, with
 * no bytes and no address: the length of the address, and what recvmsg() tells besides, are as of a call that began
 * afterwards.
 */
#include "check.h"
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { BEFORE = 99 };

static struct told {
	long r;
	socklen_t len;
	int flags;
	size_t control;
	bool late; /* the number was closed before the call */
} told;

static int fds[2];

static void by_recvfrom(int fd)
{
	struct sockaddr_un from;
	char d[8];

	told.len = sizeof(from);
	told.r = recvfrom(fd, d, sizeof(d), 0, (struct sockaddr *)&from, &told.len);
}

static void by_recvmsg(int fd)
{
	char d[8], room[64];
	struct sockaddr_un from;
	struct iovec v = { d, sizeof(d) };
	struct msghdr m = { .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &v, .msg_iovlen = 1,
			    .msg_control = room, .msg_controllen = sizeof(room), .msg_flags = BEFORE };

	told.r = recvmsg(fd, &m, 0);
	told.len = m.msg_namelen;
	told.flags = m.msg_flags;
	told.control = m.msg_controllen;
}

static const struct row {
	const char *name;
	void (*call)(int fd);
} rows[] = {
	{ "recvfrom", by_recvfrom },
	{ "recvmsg", by_recvmsg },
};

static void *receives(void *arg)
{
	const struct row *row = arg;

	row->call(fds[0]);
	if (told.r < 0 && errno == EBADF)
		told.late = true;
	return arg;
}

/* The thread is in the call, as well as can be told. */
static void settles(void)
{
	usleep(30000);
}

static void check(const struct row *row, const char *when)
{
	printf("%s, %s: %ld, address %u, flags %x, control %zu\n", row->name, when, told.r, told.len, told.flags,
	       told.control);
}

/* False: to be done again. */
static bool one(const struct row *row, bool closes)
{
	pthread_t t;
	int other;

	memset(&told, 0, sizeof(told));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, fds));
	CHECK_SYS(other = dup(fds[0]));
	t = spawn(receives, (void *)row);
	settles();
	if (closes) {
		CHECK_SYS(close(fds[0]));
		settles();
	}
	CHECK_SYS(shutdown(other, SHUT_RD));
	join(t);
	if (told.late) {
		close(fds[1]);
		close(other);
		return false;
	}
	check(row, closes ? "its number closed" : "its number open");
	row->call(other);
	check(row, "begun afterwards");
	if (!closes)
		CHECK_SYS(close(fds[0]));
	CHECK_SYS(close(fds[1]));
	CHECK_SYS(close(other));
	return true;
}

int main(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int closes = 0; closes < 2; closes++)
			while (!one(&rows[i], closes))
				;
	return 0;
}
