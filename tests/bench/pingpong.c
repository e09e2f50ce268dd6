/*
 * pingpong.c: two threads that wake one another in turn, over each thing a thread can block in.
 *
 * A round trip is two wake-ups. The serving thread is made before the clock starts.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

struct cond_pair {
	pthread_mutex_t mu;
	pthread_cond_t cond[2];
	int turn;
	long n;
};

static void cond_side(struct cond_pair *p, int me)
{
	must(pthread_mutex_lock(&p->mu));
	for (long i = 0; i < p->n; i++) {
		while (p->turn != me)
			must(pthread_cond_wait(&p->cond[me], &p->mu));
		p->turn = !me;
		must(pthread_cond_signal(&p->cond[!me]));
	}
	must(pthread_mutex_unlock(&p->mu));
}

static void *cond_server(void *arg)
{
	cond_side(arg, 1);
	return NULL;
}

static double cond_round_trips(long n, const struct bench *b)
{
	struct cond_pair p = {
		.mu = PTHREAD_MUTEX_INITIALIZER,
		.cond = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER},
		.n = n,
	};
	pthread_t id;
	uint64_t start;

	(void)b;
	must(pthread_create(&id, NULL, cond_server, &p));
	start = now_ns();
	cond_side(&p, 0);
	must(pthread_join(id, NULL));
	return (double)(now_ns() - start);
}

void bench_cond(const struct bench *b)
{
	measure(b, cond_round_trips, 1000);
}

struct sem_pair {
	sem_t ping, pong;
	long n;
};

static void *sem_server(void *arg)
{
	struct sem_pair *p = arg;

	for (long i = 0; i < p->n; i++) {
		must_sys(sem_wait(&p->ping));
		must_sys(sem_post(&p->pong));
	}
	return NULL;
}

static double sem_round_trips(long n, const struct bench *b)
{
	struct sem_pair p = {.n = n};
	pthread_t id;
	uint64_t start;

	(void)b;
	must_sys(sem_init(&p.ping, 0, 0));
	must_sys(sem_init(&p.pong, 0, 0));
	must(pthread_create(&id, NULL, sem_server, &p));
	start = now_ns();
	for (long i = 0; i < n; i++) {
		must_sys(sem_post(&p.ping));
		must_sys(sem_wait(&p.pong));
	}
	must(pthread_join(id, NULL));
	uint64_t end = now_ns();

	sem_destroy(&p.ping);
	sem_destroy(&p.pong);
	return (double)(end - start);
}

void bench_sem(const struct bench *b)
{
	measure(b, sem_round_trips, 1000);
}

/* Descriptors as the two sides see them: pipes need two pairs, a socketpair serves both ways. */
struct fd_pair {
	int client_in, client_out, server_in, server_out;
};

static void send_byte(int fd, char c)
{
	if (write(fd, &c, 1) != 1)
		die("write", errno);
}

/* Returns 0 at end of file. */
static int recv_byte(int fd, char *c)
{
	ssize_t n = read(fd, c, 1);

	if (n < 0)
		die("read", errno);
	return (int)n;
}

static void *fd_server(void *arg)
{
	struct fd_pair *p = arg;
	char c;

	while (recv_byte(p->server_in, &c))
		send_byte(p->server_out, (char)(c + 1));
	return NULL;
}

static double fd_round_trips(long n, struct fd_pair *p)
{
	pthread_t id;
	uint64_t start, end;

	must(pthread_create(&id, NULL, fd_server, p));
	start = now_ns();
	for (long i = 0; i < n; i++) {
		char c;

		send_byte(p->client_out, (char)i);
		if (!recv_byte(p->client_in, &c) || c != (char)(i + 1))
			die("the byte that came back", 0);
	}
	end = now_ns();
	/* shutdown for a socket, close for a pipe: both give the server its end of file. */
	if (p->client_out == p->client_in)
		must_sys(shutdown(p->client_out, SHUT_WR));
	else
		must_sys(close(p->client_out));
	must(pthread_join(id, NULL));
	return (double)(end - start);
}

static double pipe_round_trips(long n, const struct bench *b)
{
	int to[2], from[2];
	double ns;

	(void)b;
	must_sys(pipe(to));
	must_sys(pipe(from));
	ns = fd_round_trips(n, &(struct fd_pair){from[0], to[1], to[0], from[1]});
	close(to[0]);
	close(from[0]);
	close(from[1]);
	return ns;
}

void bench_pipe(const struct bench *b)
{
	measure(b, pipe_round_trips, 1000);
}

static double socketpair_round_trips(long n, const struct bench *b)
{
	int s[2];
	double ns;

	(void)b;
	must_sys(socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	ns = fd_round_trips(n, &(struct fd_pair){s[0], s[0], s[1], s[1]});
	close(s[0]);
	close(s[1]);
	return ns;
}

void bench_socketpair(const struct bench *b)
{
	measure(b, socketpair_round_trips, 1000);
}

/* Two counters, each read by one side; a count of LAST ends it. */
enum { LAST = 1000 };

static void add_count(int fd, uint64_t n)
{
	if (write(fd, &n, sizeof(n)) != sizeof(n))
		die("write", errno);
}

static uint64_t take_count(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) != sizeof(n))
		die("read", errno);
	return n;
}

static void *count_server(void *arg)
{
	const int *fds = arg;
	uint64_t n;

	while ((n = take_count(fds[0])) != LAST)
		add_count(fds[1], n + 1);
	return NULL;
}

static double eventfd_round_trips(long n, const struct bench *b)
{
	int fds[2] = { eventfd(0, 0), eventfd(0, 0) };
	pthread_t id;
	uint64_t start, end;

	(void)b;
	must_sys(fds[0]);
	must_sys(fds[1]);
	must(pthread_create(&id, NULL, count_server, fds));
	start = now_ns();
	for (long i = 0; i < n; i++) {
		uint64_t sent = (uint64_t)i % 100 + 1;

		add_count(fds[0], sent);
		if (take_count(fds[1]) != sent + 1)
			die("the count that came back", 0);
	}
	end = now_ns();
	add_count(fds[0], LAST);
	must(pthread_join(id, NULL));
	close(fds[0]);
	close(fds[1]);
	return (double)(end - start);
}

void bench_eventfd(const struct bench *b)
{
	measure(b, eventfd_round_trips, 1000);
}
