/*
 * Descriptor numbers are closed, duplicated and reused all the time by many threads, as pipe,
 * socket, file, eventfd: whatever is remembered about a number must not outlive its file.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { THREADS = 20, ROUNDS = 150 };

static void *feeds(void *arg)
{
	sched_yield();
	CHECK_EQ(write(*(int *)arg, "12345678", 8), 8);
	return NULL;
}

static void *churn(void *arg)
{
	char path[64], buf[16];
	pthread_t t;
	int fd[2], other;

	snprintf(path, sizeof path, "/tmp/io-close.%d.%ld", (int)getpid(), (long)arg);
	for (int i = 0; i < ROUNDS; i++) {
		switch ((i + (long)arg) % 5) {
		case 0:
			CHECK_SYS(pipe(fd));
			break;
		case 1:
			CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
			break;
		case 2:
			CHECK_SYS(fd[0] = eventfd(0, 0));
			CHECK_SYS(fd[1] = dup(fd[0]));
			break;
		case 3:
			CHECK_SYS(fd[1] = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600));
			CHECK_EQ(write(fd[1], "12345678", 8), 8);
			CHECK_SYS(fd[0] = open(path, O_RDONLY));
			CHECK_SYS(unlink(path));
			break;
		case 4:
			/* A number changes its file under dup2. */
			CHECK_SYS(fd[0] = open("/dev/null", O_RDONLY));
			CHECK_EQ(read(fd[0], buf, 8), 0);
			CHECK_SYS(close(fd[0]));
			CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
			CHECK_SYS(other = dup(fd[0]));
			CHECK_SYS(dup2(other, fd[0]));
			CHECK_SYS(close(other));
			break;
		}
		t = spawn(feeds, &fd[1]);
		CHECK_EQ(read(fd[0], buf, 8), 8);
		CHECK_EQ(memcmp(buf, "12345678", 8), 0);
		join(t);
		CHECK_SYS(close(fd[0]));
		CHECK_SYS(close(fd[1]));
		CHECK_ERR(read(fd[0] + 5000, buf, 8), EBADF);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(churn, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%d threads, %d descriptors each", THREADS, ROUNDS);
	return 0;
}
