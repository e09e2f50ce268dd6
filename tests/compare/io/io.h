/*
 * io.h: what one case of the comparison of I/O calls is made of.
 *
 * A case is a point of four tables: KIND of descriptor x MODE of it x CALL made on it x what the
 * PEER does meanwhile.  The call runs on a fresh thread against fresh descriptors; the main thread
 * is the peer.  One line tells all that a program could have seen.  The program knows nothing of
 * weft: its output on libc is the oracle, and must not depend on how fast anybody was.
 */
#ifndef COMPARE_IO_H
#define COMPARE_IO_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "../lib/cases.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {			/* what a kind of descriptor can do */
	READS = 1,	/* read() may wait, and feed() ends the wait */
	FILLS = 2,	/* write() may wait: it has a buffer that can be filled, and drained at the peer */
	SOCK = 4,	/* a socket */
	STREAM = 8,	/* without message boundaries */
	LISTENS = 16,
	CONNECTS = 32,	/* a socket to be connected to test.addr */
	PIPE = 64,
	TCP = 128,
	EVENTS = 256,	/* only pollable: read() fails at once */
	PASSIVE = 512,	/* nothing waits: files, devices, descriptors that are none */
	TEXT = 1024,	/* bytes read are the bytes fed: print them */
};

enum {			/* what a call is */
	IN = 1,		/* waits for input */
	OUT = 2,	/* waits for room */
	POLLS = 4,	/* only waits */
	OF_SOCK = 8,	/* fails at once on what is no socket; likewise the next */
	OF_LISTEN = 16,
	OF_CONNECT = 32,
	OF_PIPE = 64,
	TIMED = 128,	/* gives up by itself, after timeout_ms() */
	BIG = 256,	/* more bytes than any buffer here holds: the count is not the same each time */
	NOWAIT = 512,	/* never waits */
	SPLICES = 1024,	/* may fail at once: not every kind can */
};

enum mode { BLOCKING, NONBLOCK, DUPED, TIMEO, MODES };

#define SENTINEL 4095	/* errno before the call: one that succeeds leaves it alone */
#define FED SIGRTMIN + 3

struct test {
	const struct kind *kind;
	const struct call *call;
	const struct action *action;
	enum mode mode;

	int fd;			/* under test; the caller's alone until done */
	int peer;		/* the other end, or -1 */
	int other[4];		/* whatever else must be closed */
	pid_t child;
	char path[64];		/* of a fifo, socket or directory */
	struct sockaddr_storage addr;
	socklen_t addrlen;

	long ret;		/* of the call */
	int err;
	long long took;		/* ms */
	long moved;		/* bytes that the call wrote, as it told; -1: not a writing call */
	char note[160];		/* what else it gave */
	char buf[512];

	long filled;		/* bytes that waited at the peer before the call */
	long got;		/* bytes that the peer took */
	bool mine;		/* fd is still the descriptor under test */
	bool blocked, cancelled;
	int sigpipe, hits;	/* signals that the caller's handler saw */
	atomic_int started, done;
	pthread_t thread;
};

struct kind {
	const char *name;
	int flags;
	int want;		/* bytes to read at once */
	void (*make)(struct test *t);
	void (*feed)(struct test *t, const char *data, int n);
};

struct call {
	const char *name;
	int flags;
	void (*make)(struct test *t);
};

struct action {
	const char *name;
	int needs;		/* flags of the kind, all of them */
	int on;			/* flags of the call, one of them */
	int modes;		/* bits */
	void (*before)(struct test *t);
	void (*act)(struct test *t);
};

extern const struct kind kinds[];
extern const struct call calls[];
extern const struct action actions[];

void feed_bytes(struct test *t, const char *data, int n);
void fill(struct test *t);
void drain(struct test *t);	/* at the peer */
long left(struct test *t);	/* to be read from fd */

bool wait_done(struct test *t, int ms);
int timeout_ms(const struct test *t);	/* of what gives up by itself */
void say_note(struct test *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The one call that counts: its result and errno, nothing that came before or after. */
#define DO(t, expr)                                                                                \
	do {                                                                                       \
		long long began_ = now_ms();                                                       \
                                                                                                   \
		errno = SENTINEL;                                                                  \
		(t)->ret = (long)(expr);                                                           \
		(t)->err = errno;                                                                  \
		(t)->took = now_ms() - began_;                                                     \
	} while (0)

#endif
