/*
 * What bears on a blocking call: O_NONBLOCK that is set through another number, or by ioctl, or for
 * a while; MSG_WAITALL, MSG_PEEK, SO_RCVLOWAT; urgent data that split a stream; several readers of
 * one descriptor.
 */
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>

static void tcp_pair(int s[2])
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof sin;
	int l;

	CHECK_SYS(l = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(bind(l, (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(listen(l, 1));
	CHECK_SYS(getsockname(l, (struct sockaddr *)&sin, &len));
	CHECK_SYS(s[0] = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(connect(s[0], (struct sockaddr *)&sin, sizeof sin));
	CHECK_SYS(s[1] = accept(l, NULL, NULL));
	CHECK_SYS(close(l));
}

static void *sends_later(void *arg)
{
	let_others_block();
	CHECK_EQ(send(*(int *)arg, "0123456789", 10, 0), 10);
	return NULL;
}

/* A short read first each time: what it says about the next one must not outweigh the flag. */
static void *nonblocking(void *arg)
{
	char buf[100];
	int s[2], other, on = 1, off = 0;
	pthread_t t;

	tcp_pair(s);
	CHECK_SYS(other = dup(s[0]));
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 2; k++) {
			t = spawn(sends_later, &s[1]);
			CHECK_EQ(read(s[0], buf, sizeof buf), 10);
			join(t);
		}
		if (i == 0)
			CHECK_SYS(fcntl(s[0], F_SETFL, O_NONBLOCK));
		else if (i == 1)
			CHECK_SYS(fcntl(other, F_SETFL, O_NONBLOCK));
		else
			CHECK_SYS(ioctl(s[0], FIONBIO, &on));
		CHECK_ERR(read(s[0], buf, sizeof buf), EAGAIN);
		CHECK_ERR(recv(s[0], buf, sizeof buf, 0), EAGAIN);
		CHECK_SYS(ioctl(other, FIONBIO, &off));
	}
	CHECK_SYS(close(other));
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
	return NULL;
}

static void *dribbles(void *arg)
{
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(write(*(int *)arg, "ab", 2), 2);
		let_others_block();
	}
	return NULL;
}

static void *waits_for_all(void *arg)
{
	char buf[64];
	int s[2], low = 6;
	pthread_t t;

	for (int kind = 0; kind < 2; kind++) {
		if (kind)
			tcp_pair(s);
		else
			CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		t = spawn(dribbles, &s[1]);
		CHECK(recv(s[0], buf, 20, MSG_PEEK) >= 2);
		CHECK_EQ(recv(s[0], buf, 12, MSG_WAITALL), 12);
		CHECK(memcmp(buf, "abababababab", 12) == 0);
		CHECK_SYS(setsockopt(s[0], SOL_SOCKET, SO_RCVLOWAT, &low, sizeof low));
		CHECK(recv(s[0], buf, 20, 0) >= 6);
		join(t);
		CHECK_SYS(shutdown(s[1], SHUT_WR));
		while (recv(s[0], buf, 20, MSG_WAITALL) > 0)
			;
		CHECK_EQ(recv(s[0], buf, 20, MSG_WAITALL), 0);
		CHECK_SYS(close(s[0]));
		CHECK_SYS(close(s[1]));
	}
	return NULL;
}

static void *urgent(void *arg)
{
	char buf[100];
	int s[2];
	size_t got = 0;

	tcp_pair(s);
	for (int i = 0; i < 2; i++) { /* the second time a short read has been seen */
		CHECK_EQ(send(s[1], "before", 6, 0), 6);
		let_others_block();
		CHECK_EQ(send(s[1], "!", 1, MSG_OOB), 1);
		CHECK_EQ(send(s[1], "after", 5, 0), 5);
		let_others_block();
		for (got = 0; got < 11;) {
			ssize_t n = recv(s[0], buf + got, sizeof buf - got, 0);

			CHECK(n > 0);
			got += (size_t)n;
			if (got == 6) { /* the mark is next; once passed, its byte is lost */
				CHECK_EQ(recv(s[0], buf + 20, 1, MSG_OOB), 1);
				CHECK_EQ(buf[20], '!');
			}
		}
		CHECK(memcmp(buf, "beforeafter", 11) == 0);
	}
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
	return NULL;
}

enum { READERS = 8, MESSAGES = 400 };

static int shared;
static _Atomic int seen[MESSAGES], received;

static void *takes_messages(void *arg)
{
	int i;

	while (recv(shared, &i, sizeof i, 0) == sizeof i && i >= 0) {
		seen[i]++;
		received++;
	}
	return NULL;
}

static void many_readers(void)
{
	pthread_t t[READERS];
	int s[2], stop = -1;

	CHECK_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	shared = s[0];
	for (int i = 0; i < READERS; i++)
		t[i] = spawn(takes_messages, NULL);
	for (int i = 0; i < MESSAGES; i++) {
		CHECK_EQ(send(s[1], &i, sizeof i, 0), sizeof i);
		if (i % 50 == 0)
			let_others_block();
	}
	while (received < MESSAGES)
		let_others_block();
	for (int i = 0; i < READERS; i++)
		CHECK_EQ(send(s[1], &stop, sizeof stop, 0), sizeof stop);
	for (int i = 0; i < READERS; i++)
		join(t[i]);
	for (int i = 0; i < MESSAGES; i++)
		CHECK_EQ(seen[i], 1);
	passed("each message to one of %d readers", READERS);
}

static void *takes_one(void *arg)
{
	eventfd_t v;

	CHECK_EQ(eventfd_read(*(int *)arg, &v), 0);
	return (void *)(long)v;
}

/* One edge for many: each takes one, the others must hear of what is left. */
static void counters(void)
{
	struct itimerspec it = { .it_value.tv_nsec = 1000000 };
	pthread_t t[READERS];
	uint64_t n;
	int fd;

	CHECK_SYS(fd = eventfd(0, EFD_SEMAPHORE));
	for (int i = 0; i < READERS; i++)
		t[i] = spawn(takes_one, &fd);
	let_others_block();
	CHECK_EQ(eventfd_write(fd, READERS), 0);
	for (int i = 0; i < READERS; i++)
		CHECK_EQ((long)join(t[i]), 1);
	CHECK_SYS(close(fd));
	CHECK_SYS(fd = timerfd_create(CLOCK_MONOTONIC, 0));
	CHECK_SYS(timerfd_settime(fd, 0, &it, NULL));
	CHECK_EQ(read(fd, &n, sizeof n), sizeof n);
	CHECK_EQ(n, 1);
	CHECK_SYS(close(fd));
	passed("a counter's units reached all who waited");
}

int main(void)
{
	join(spawn(nonblocking, NULL));
	passed("O_NONBLOCK, however it is set");
	join(spawn(waits_for_all, NULL));
	passed("all bytes, a look, a low-water mark");
	join(spawn(urgent, NULL));
	passed("urgent data split a stream");
	many_readers();
	counters();
	return 0;
}
