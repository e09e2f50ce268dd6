/*
 * A thread-per-connection echo server and 100 client threads on loopback TCP, then on a Unix
 * socket: each client sends numbered messages and verifies each echo; half-close ends the
 * conversation.
 */
#include "check.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { CLIENTS = 100, MESSAGES = 30 };

static int listener;
static struct sockaddr_storage addr;
static socklen_t addr_len;

static void *serve_one(void *arg)
{
	int fd = (int)(long)arg;
	char buf[256];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof buf, 0)) > 0)
		for (ssize_t done = 0, r; done < n; done += r)
			CHECK_SYS(r = send(fd, buf + done, (size_t)(n - done), MSG_NOSIGNAL));
	CHECK_EQ(n, 0);
	CHECK_SYS(close(fd));
	return NULL;
}

static void *serve(void *arg)
{
	pthread_t t[CLIENTS];

	for (int i = 0; i < CLIENTS; i++) {
		int fd;

		CHECK_SYS(fd = i % 2 ? accept(listener, NULL, NULL)
				     : accept4(listener, NULL, NULL, SOCK_CLOEXEC));
		t[i] = spawn(serve_one, (void *)(long)fd);
	}
	for (int i = 0; i < CLIENTS; i++)
		join(t[i]);
	return arg;
}

static void *client(void *arg)
{
	char out[64], in[64];
	int fd;

	CHECK_SYS(fd = socket(addr.ss_family, SOCK_STREAM, 0));
	CHECK_SYS(connect(fd, (struct sockaddr *)&addr, addr_len));
	for (int i = 0; i < MESSAGES; i++) {
		int n = snprintf(out, sizeof out, "client %ld message %d", (long)arg, i);

		CHECK_EQ(write(fd, out, (size_t)n), n);
		CHECK_EQ(recv(fd, in, (size_t)n, MSG_WAITALL), n);
		CHECK_EQ(memcmp(in, out, (size_t)n), 0);
	}
	CHECK_SYS(shutdown(fd, SHUT_WR));
	CHECK_EQ(read(fd, in, sizeof in), 0);
	CHECK_SYS(close(fd));
	return NULL;
}

static void run(const char *name)
{
	pthread_t server, t[CLIENTS];

	CHECK_SYS(listen(listener, CLIENTS));
	server = spawn(serve, NULL);
	for (long i = 0; i < CLIENTS; i++)
		t[i] = spawn(client, (void *)i);
	for (int i = 0; i < CLIENTS; i++)
		join(t[i]);
	join(server);
	CHECK_SYS(close(listener));
	passed("%s: %d connections, %d messages each", name, CLIENTS, MESSAGES);
}

int main(void)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)&addr;
	struct sockaddr_un *sun = (struct sockaddr_un *)&addr;

	for (int round = 0; round < 3; round++) {
		memset(&addr, 0, sizeof addr);
		*sin = (struct sockaddr_in){ .sin_family = AF_INET,
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
		addr_len = sizeof *sin;
		CHECK_SYS(listener = socket(AF_INET, SOCK_STREAM, 0));
		CHECK_SYS(bind(listener, (struct sockaddr *)&addr, addr_len));
		CHECK_SYS(getsockname(listener, (struct sockaddr *)&addr, &addr_len));
		run("TCP");
	}
	memset(&addr, 0, sizeof addr);
	sun->sun_family = AF_UNIX;
	/* Autobind: an abstract name that nobody else has. */
	addr_len = sizeof sun->sun_family;
	CHECK_SYS(listener = socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK_SYS(bind(listener, (struct sockaddr *)&addr, addr_len));
	addr_len = sizeof addr;
	CHECK_SYS(getsockname(listener, (struct sockaddr *)&addr, &addr_len));
	run("Unix");

	int fd;

	CHECK_SYS(fd = socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK_ERR(connect(fd, (struct sockaddr *)&addr, addr_len), ECONNREFUSED);
	CHECK_ERR(accept(fd, NULL, NULL), EINVAL);
	passed("refused and invalid");
	return 0;
}
