/*
 * What names a process and is given the id of one of its threads: its own is taken by
 * SCM_CREDENTIALS (from those who may name any), F_SETOWN and F_SETOWN_EX, whose signals then come to
 * the process; setpgid and pidfd_open want the first thread's.
 */
#include "check.h"
#include <stdbool.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static sem_t hold;
static int pair[2];
static volatile sig_atomic_t came;
static pid_t other;

static void *waits(void *arg)
{
	other = (pid_t)syscall(SYS_gettid);
	CHECK_SYS(sem_post(&hold));
	for (;;)
		pause();
	return arg;
}

static void on_io(int sig)
{
	came = sig;
}

static void fill(struct msghdr *m, struct iovec *v, char *room, size_t n, pid_t id)
{
	struct ucred who = { id, getuid(), getgid() };
	struct cmsghdr *c;

	memset(room, 0, n);
	*m = (struct msghdr){ .msg_iov = v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = n };
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_CREDENTIALS;
	c->cmsg_len = CMSG_LEN(sizeof(who));
	memcpy(CMSG_DATA(c), &who, sizeof(who));
}

static void sends(pid_t id)
{
	char text[] = "abc", got[8], room[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec v = { text, 3 };
	struct mmsghdr two[2] = { 0 };
	long n;

	fill(&two[0].msg_hdr, &v, room, sizeof(room), id);
	n = sendmsg(pair[0], &two[0].msg_hdr, 0);
	if (n == -1 && errno == EPERM)
		return; /* only who may may name another than itself */
	CHECK_EQ(n, 3);
	CHECK_EQ(sendmsg(pair[0], &two[0].msg_hdr, MSG_DONTWAIT), 3);
	two[1].msg_hdr = two[0].msg_hdr;
	for (n = 0; n < 2;) {
		int r = sendmmsg(pair[0], two + n, (unsigned int)(2 - n), 0);

		CHECK(r > 0);
		CHECK_EQ(two[n].msg_len, 3);
		n += r;
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQ(recv(pair[1], got, sizeof(got), 0), 3);
	CHECK_ERR(recv(pair[1], got, sizeof(got), MSG_DONTWAIT), EAGAIN);
	/* And one that there is not is refused. */
	fill(&two[0].msg_hdr, &v, room, sizeof(room), 0x7ffffffe);
	CHECK_ERR(sendmsg(pair[0], &two[0].msg_hdr, 0), ESRCH);
}

static void owns(pid_t id, bool ex)
{
	struct f_owner_ex o = { F_OWNER_PID, id };
	int s[2];

	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	came = 0;
	CHECK_SYS(ex ? fcntl(s[0], F_SETOWN_EX, &o) : fcntl(s[0], F_SETOWN, id));
	CHECK_SYS(fcntl(s[0], F_SETFL, O_ASYNC));
	CHECK_EQ(write(s[1], "a", 1), 1);
	while (!came)
		usleep(1000);
	CHECK_EQ(came, SIGIO);
	CHECK_SYS(close(s[0]));
	CHECK_SYS(close(s[1]));
}

static void all(pid_t id, bool first)
{
	sends(id);
	owns(id, false);
	owns(id, true);
	if (!first) {
		CHECK_ERR(setpgid(id, 0), EINVAL);
		CHECK_ERR(syscall(SYS_setpgid, id, 0), EINVAL);
		/* The code has changed with the kernels. */
		CHECK_EQ(syscall(SYS_pidfd_open, id, 0), -1);
		CHECK(errno == EINVAL || errno == ENOENT);
	} else {
		int fd = (int)syscall(SYS_pidfd_open, id, 0);

		CHECK_SYS(fd);
		CHECK_SYS(close(fd));
	}
}

static void *runs(void *arg)
{
	all((pid_t)syscall(SYS_gettid), false);
	all(other, false);
	all(getpid(), true);
	return arg;
}

int main(void)
{
	signal(SIGIO, on_io);
	CHECK_SYS(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	CHECK_SYS(sem_init(&hold, 0, 0));
	spawn(waits, NULL);
	while (sem_wait(&hold) == -1)
		CHECK_EQ(errno, EINTR);
	all(other, false);
	join(spawn(runs, NULL));
	passed("ids of threads where a process is named");
	return 0;
}
