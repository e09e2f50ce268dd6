/*
 * A thread accepts on a listener whose number another thread closes meanwhile, while another process
 * accepts from the same listener.  A connection is the one's or the other's; if it is the other's, the
 * thread goes on waiting as before: a handler runs on it and ends the call, and it can be cancelled.
 */
#include "check.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { ROUNDS = 30, NOTHING = -1000 };

static atomic_int handled, result;
static int thieves[2]; /* a byte for each connection that was taken */

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static int listener(struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t len = sizeof *addr;

	CHECK_SYS(fd);
	*addr = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	CHECK_SYS(bind(fd, (struct sockaddr *)addr, len));
	CHECK_SYS(listen(fd, 8));
	CHECK_SYS(getsockname(fd, (struct sockaddr *)addr, &len));
	return fd;
}

static void *accepts(void *arg)
{
	int fd = accept((int)(long)arg, NULL, NULL);

	result = fd < 0 ? -errno : 0;
	if (fd >= 0)
		CHECK_SYS(close(fd));
	return NULL;
}

static pid_t thief(int listening)
{
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (!pid) {
		CHECK_SYS(accept(listening, NULL, NULL));
		CHECK_EQ(write(thieves[1], "x", 1), 1);
		_exit(0);
	}
	return pid;
}

static void once(bool cancel)
{
	struct sockaddr_in addr;
	int listening = listener(&addr), fd;
	pid_t pid = thief(listening);
	pthread_t t;
	char c;

	result = NOTHING;
	handled = 0;
	t = spawn(accepts, (void *)(long)listening);
	let_others_block();
	CHECK_SYS(close(listening));
	CHECK_SYS(fd = socket(AF_INET, SOCK_STREAM, 0));
	CHECK_SYS(connect(fd, (struct sockaddr *)&addr, sizeof addr));
	while (result == NOTHING && read(thieves[0], &c, 1) != 1)
		usleep(100);
	if (result == NOTHING && cancel) {
		CHECK_OK(pthread_cancel(t));
	} else if (result == NOTHING) {
		while (result == NOTHING) {
			CHECK_OK(pthread_kill(t, SIGUSR1));
			usleep(1000);
		}
		CHECK_EQ(result, -EINTR);
		CHECK(handled > 0);
	}
	join(t);
	CHECK_SYS(close(fd));
	CHECK_SYS(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(pipe2(thieves, O_NONBLOCK));
	for (int i = 0; i < ROUNDS; i++)
		once(false);
	passed("a handler ends it");
	for (int i = 0; i < ROUNDS; i++)
		once(true);
	passed("a cancellation ends it");
	return 0;
}
