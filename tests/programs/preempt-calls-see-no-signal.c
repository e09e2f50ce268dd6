/*
 * However threads are made to take turns, a call must not show it: no EINTR where no signal handler
 * ran, no short transfer, no changed errno.  Every call here would be ended by a signal, with
 * SA_RESTART or without.
 *
 * Some threads compute all the time; the others make the calls, round after round.  The first
 * argument is the number of rounds (each about forty calls in each of the threads).
 */
#include "check.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>

enum { SPINNERS = 3, BIG = 65536 };

static atomic_int stop;
static int rounds = 40;
static sigset_t quiet;

static void *spin(void *arg)
{
	unsigned long *sum = arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
		(*sum)++;
	return NULL;
}

static void *times_out(void *arg)
{
	struct timespec us = { 0, 50000 }, left;
	struct sembuf down = { 0, -1, 0 };
	struct epoll_event ev;
	struct pollfd pfd;
	int ep = epoll_create1(0), p[2], id = semget(IPC_PRIVATE, 1, 0600);
	sem_t sem;

	CHECK(ep >= 0 && pipe(p) == 0 && id >= 0 && sem_init(&sem, 0, 0) == 0);
	for (int i = 0; i < rounds; i++) {
		struct timespec at;

		left.tv_nsec = 7;
		errno = 77;
		CHECK_SYS(nanosleep(&us, &left));
		CHECK_EQ(left.tv_nsec, 7);
		CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, 0, &us, NULL), 0);
		pfd = (struct pollfd){ .fd = p[0], .events = POLLIN };
		CHECK_EQ(poll(&pfd, 1, 1), 0);
		CHECK_EQ(ppoll(&pfd, 1, &us, NULL), 0);
		CHECK_EQ(poll(NULL, 0, 0), 0);
		CHECK_EQ(select(0, NULL, NULL, NULL, &(struct timeval){ 0, 50 }), 0);
		CHECK_EQ(epoll_wait(ep, &ev, 1, 1), 0);
		CHECK_EQ(epoll_wait(ep, &ev, 1, 0), 0);
		CHECK_EQ(errno, 77);
		CHECK_ERR(sigtimedwait(&quiet, NULL, &us), EAGAIN);
		CHECK_ERR(semtimedop(id, &down, 1, &us), EAGAIN);
		at = after_ms(CLOCK_REALTIME, 0);
		CHECK_ERR(sem_timedwait(&sem, &at), ETIMEDOUT);
	}
	CHECK_SYS(semctl(id, 0, IPC_RMID));
	close(ep);
	close(p[0]);
	close(p[1]);
	return arg;
}

struct pair {
	int to, from;
};

/* Writes whole blocks, which the pipe takes in pieces. */
static void *writes(void *arg)
{
	struct pair *d = arg;
	char *block = malloc(BIG);

	for (int i = 0; i < rounds; i++) {
		memset(block, i, BIG);
		CHECK_EQ(write(d->to, block, BIG), BIG);
	}
	free(block);
	return NULL;
}

static void *reads(void *arg)
{
	struct pair *d = arg;
	char *block = malloc(BIG);

	for (int i = 0; i < rounds; i++) {
		for (size_t got = 0; got < BIG;) {
			ssize_t n = read(d->from, block + got, BIG - got);

			CHECK_SYS(n);
			CHECK(n > 0);
			got += (size_t)n;
		}
		for (int k = 0; k < BIG; k++)
			CHECK_EQ((unsigned char)block[k], (unsigned char)i);
	}
	free(block);
	return NULL;
}

/* A stream socket: all or nothing by MSG_WAITALL, under a time-out that never comes. */
static void *receives(void *arg)
{
	struct pair *d = arg;
	struct timeval tv = { 3600, 0 };
	char *block = malloc(BIG);

	CHECK_SYS(setsockopt(d->from, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
	for (int i = 0; i < rounds; i++)
		CHECK_EQ(recv(d->from, block, BIG, MSG_WAITALL), BIG);
	free(block);
	return NULL;
}

struct letter {
	long type;
	char text[8];
};

static void *mails(void *arg)
{
	int id = *(int *)arg;
	struct letter l = { 1, "text" };

	for (int i = 0; i < rounds * 4; i++)
		CHECK_SYS(msgsnd(id, &l, sizeof l.text, 0));
	return NULL;
}

static void *gets_mail(void *arg)
{
	int id = *(int *)arg;
	struct letter l;

	for (int i = 0; i < rounds * 4; i++)
		CHECK_EQ(msgrcv(id, &l, sizeof l.text, 1, 0), (long)sizeof l.text);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long sum[SPINNERS] = { 0 };
	pthread_t spinner[SPINNERS], t[8];
	struct pair pipes, socks;
	int fd[2], id = msgget(IPC_PRIVATE, 0600), n = 0;

	if (argc > 1)
		rounds = atoi(argv[1]);
	sigemptyset(&quiet);
	sigaddset(&quiet, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &quiet, NULL));
	CHECK(id >= 0);
	CHECK_SYS(pipe(fd));
	pipes = (struct pair){ fd[1], fd[0] };
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
	socks = (struct pair){ fd[1], fd[0] };
	for (int i = 0; i < SPINNERS; i++)
		spinner[i] = spawn(spin, &sum[i]);
	t[n++] = spawn(times_out, NULL);
	t[n++] = spawn(times_out, NULL);
	t[n++] = spawn(writes, &pipes);
	t[n++] = spawn(reads, &pipes);
	t[n++] = spawn(writes, &socks);
	t[n++] = spawn(receives, &socks);
	t[n++] = spawn(mails, &id);
	t[n++] = spawn(gets_mail, &id);
	while (n > 0)
		join(t[--n]);
	atomic_store(&stop, 1);
	for (int i = 0; i < SPINNERS; i++)
		join(spinner[i]);
	CHECK_SYS(msgctl(id, IPC_RMID, NULL));
	passed("no call saw how threads take turns");
	return 0;
}
