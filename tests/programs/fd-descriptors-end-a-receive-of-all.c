/*
 * recv(MSG_WAITALL) on a local stream goes on until all bytes are there, over as many messages as
 * it takes; but it ends behind a message that carries descriptors, whether this was there already
 * or came while it waited.
 */
#include "check.h"
#include <sys/socket.h>

static int s[2];

static void send_with_descriptor(const char *bytes)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} u = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		       .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec v = { (void *)bytes, strlen(bytes) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.buf,
			    .msg_controllen = sizeof(u.buf) };

	memcpy(CMSG_DATA(&u.h), &s[0], sizeof(int));
	CHECK_EQ(sendmsg(s[1], &m, 0), (ssize_t)strlen(bytes));
}

static void *receives(void *arg)
{
	char buf[10];

	(void)arg;
	return (void *)recv(s[0], buf, 9, MSG_WAITALL);
}

static void ends_with(ssize_t want, pthread_t t, const char *what)
{
	char rest[10];

	CHECK_EQ((ssize_t)join(t), want);
	while (recv(s[0], rest, sizeof(rest), MSG_DONTWAIT) > 0)
		;
	passed("%s", what);
}

int main(void)
{
	pthread_t t;
	int lowest = dup(0);

	CHECK_SYS(lowest);
	CHECK_SYS(close(lowest));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));

	CHECK_EQ(write(s[1], "abc", 3), 3);
	t = spawn(receives, NULL);
	for (int i = 0; i < 2; i++) {
		let_others_block();
		CHECK_EQ(write(s[1], "def", 3), 3);
	}
	ends_with(9, t, "three messages without any");

	send_with_descriptor("abc");
	CHECK_EQ(write(s[1], "def", 3), 3);
	ends_with(3, spawn(receives, NULL), "the first message has one");

	CHECK_EQ(write(s[1], "abc", 3), 3);
	t = spawn(receives, NULL);
	let_others_block();
	send_with_descriptor("def");
	CHECK_EQ(write(s[1], "ghi", 3), 3);
	ends_with(6, t, "the second message has one");

	CHECK_EQ(dup(0), lowest + 2); /* none was left open by a receive */
	passed("they are dropped");
	return 0;
}
