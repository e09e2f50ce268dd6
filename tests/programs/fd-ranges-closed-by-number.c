/*
 * Ranges of descriptors closed by libc's function and by system call: the threads go on with those
 * that remain.  A thread that takes a table of its own along (CLOSE_RANGE_UNSHARE) closes for
 * itself alone.
 */
#include "check.h"
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/syscall.h>

static int p[2], q[2];

static void *echoes(void *arg)
{
	char c;

	(void)arg;
	while (read(p[0], &c, 1) == 1)
		CHECK_EQ(write(q[1], &c, 1), 1);
	return NULL;
}

static void round_trip(char c)
{
	char got = 0;

	CHECK_EQ(write(p[1], &c, 1), 1);
	CHECK_EQ(read(q[0], &got, 1), 1);
	CHECK_EQ(got, c);
}

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void *closes_its_own(void *arg)
{
	int fd = *(int *)arg;
	char c;

	CHECK_EQ(close_range((unsigned int)fd, (unsigned int)fd, CLOSE_RANGE_UNSHARE), 0);
	CHECK(!is_open(fd));
	let_others_block();
	CHECK(!is_open(fd));
	CHECK_ERR(read(fd, &c, 1), EBADF);
	CHECK_SYS(close(p[0])); /* in its own table, too */
	CHECK(!is_open(p[0]));
	return NULL;
}

int main(void)
{
	int high, one;
	pthread_t t;

	CHECK_SYS(pipe(p));
	CHECK_SYS(pipe(q));
	t = spawn(echoes, NULL);
	let_others_block();
	round_trip('a');
	high = fcntl(p[0], F_DUPFD, 200);
	CHECK(high >= 200);
	CHECK_EQ(syscall(SYS_close_range, 100, ~0U, 0), 0);
	CHECK(!is_open(high));
	let_others_block();
	round_trip('b');
	passed("by number, threads that wait go on");
	CHECK_EQ(close_range(100, ~0U, 0), 0);
	closefrom(100);
	round_trip('c');
	passed("by function");

	one = open("/dev/null", O_RDONLY);
	CHECK_SYS(one);
	join(spawn(closes_its_own, &one));
	CHECK(is_open(one));
	CHECK(is_open(p[0]));
	round_trip('d');
	passed("a thread with a table of its own closes for itself");

	CHECK_SYS(close(p[1]));
	join(t);
	return 0;
}
