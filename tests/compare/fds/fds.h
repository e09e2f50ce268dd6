/*
 * fds.h: what one case of the comparison of descriptors is made of.
 *
 * A case is a point of three tables: KIND of descriptor x STATE of a thread that uses it x EVENT
 * that happens to it.  The thread is brought into its state, the main thread makes the event
 * happen, and one line tells what the thread saw of it, then and when something comes, and how the
 * number serves afterwards.  Every system call that makes, ends or changes a descriptor has its
 * event, by libc's function and by number.  The program knows nothing of weft: its output on libc
 * is the oracle.
 */
#ifndef COMPARE_FDS_H
#define COMPARE_FDS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "../lib/cases.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { /* of a kind, and needed by a state or an event */
	READS = 1,    /* a read waits until it is fed */
	WRITES = 2,   /* a write waits when it is full */
	SOCKET = 4,
	STREAM = 8,
	LISTENS = 16,
	PIPE = 32,
	TIMES = 64,   /* SO_RCVTIMEO counts */
};

struct test {
	const struct kind *kind;
	const struct state *state;
	const struct event *event;
	int fd, peer;    /* peer: the other end, or what is sent to */
	int other;       /* of the file that has the number now; -1: the same as before */
	int extra[4];    /* to be closed in the end */
	FILE *file;      /* made of fd by the event's preparation */
	char path[64];
	sem_t go;
	long ret;
	int err;
	atomic_int entered, done;
	pthread_t thread;
};

struct kind {
	const char *name;
	int flags;
	void (*make)(struct test *t);
	void (*feed)(struct test *t, int peer);
};

struct state {
	const char *name;
	int needs;
	long (*call)(struct test *t); /* NULL: no thread */
	bool late;                    /* after the event, two calls that waited before it */
};

struct event {
	const char *name;
	int needs;
	void (*prepare)(struct test *t); /* before the thread is there */
	void (*happen)(struct test *t);
	bool unseen; /* not for threads that wait meanwhile */
};

extern const struct kind kinds[];
extern const struct event events[];

void ok(long r, const char *what); /* or the program ends */

#endif
