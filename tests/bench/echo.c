/*
 * echo.c: a TCP echo server with a thread per connection.
 *
 * The server runs in this process, in the plainest way: accept, create, read, write. Its client is
 * this program again (echoclient.c), started without any preload and free to use every processor:
 * only the server is being compared.
 */
#define _GNU_SOURCE
#include "echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void *serve(void *arg)
{
	int fd = (int)(long)arg;
	char buf[4096];
	long requests = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		echo_write(fd, buf, (size_t)n);
		requests += n / ECHO_MESSAGE;
	}
	if (n < 0)
		die("read from a connection", errno);
	close(fd);
	return (void *)requests;
}

static int listen_loopback(int *port)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must_sys(fd);
	must_sys(bind(fd, (struct sockaddr *)&addr, sizeof(addr)));
	must_sys(listen(fd, 4096));
	must_sys(getsockname(fd, (struct sockaddr *)&addr, &len));
	*port = ntohs(addr.sin_port);
	return fd;
}

static pid_t start_client(const struct bench *b, int port)
{
	char arg[3][24], *argv[] = {"weft-bench", "--echo-client", (char *)b->name,
				    arg[0],	  arg[1],	   arg[2],
				    NULL};
	size_t n = 0, k = 0;
	char **env;
	pid_t pid;

	while (environ[n])
		n++;
	env = calloc(n + 1, sizeof(*env));
	if (!env)
		die("calloc", ENOMEM);
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], "LD_PRELOAD=", 11) && strncmp(environ[i], "WEFT=", 5))
			env[k++] = environ[i];
	snprintf(arg[0], sizeof(arg[0]), "%d", port);
	snprintf(arg[1], sizeof(arg[1]), "%ld", b->a);
	snprintf(arg[2], sizeof(arg[2]), "%ld", b->b < b->a ? b->b : b->a);
	must(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, env));
	free(env);
	return pid;
}

void bench_echo(const struct bench *b)
{
	pthread_t *ids = calloc((size_t)b->a, sizeof(*ids));
	int port, status, listener = listen_loopback(&port);
	long requests = 0, switches;
	struct rusage ru;
	pid_t client;

	if (!ids)
		die("calloc", ENOMEM);
	echo_raise_limit(b->a + 100);
	client = start_client(b, port);
	/*
	 * From here: a server may be answering its first connections before the last is accepted.
	 */
	must_sys(getrusage(RUSAGE_SELF, &ru));
	switches = ru.ru_nvcsw + ru.ru_nivcsw;
	for (long i = 0; i < b->a; i++) {
		int fd = accept(listener, NULL, NULL);

		must_sys(fd);
		must_sys(echo_no_delay(fd));
		must(pthread_create(&ids[i], NULL, serve, (void *)(long)fd));
	}
	for (long i = 0; i < b->a; i++) {
		void *served;

		must(pthread_join(ids[i], &served));
		requests += (long)served;
	}
	must_sys(getrusage(RUSAGE_SELF, &ru));
	switches = ru.ru_nvcsw + ru.ru_nivcsw - switches;
	must_sys(waitpid(client, &status, 0));
	if (status)
		die("the client's verdict", 0);
	if (!requests)
		die("no request was served", 0);
	report(b->name, "-switches", (double)switches / (double)requests, "/req");
	close(listener);
	free(ids);
}
