/*
 * signals.h: what one case of the comparison of signals is made of.
 *
 * A case is a point of four tables: the WAIT that a fresh thread is in x the DISPOSITION of the
 * signal x the thread's MASK x how it is SENT.  The main thread sends, sees whether that ended the
 * wait, and then lets the thread go on.  One line tells what ran where with which information, and
 * what the interrupted call returned.  The program knows nothing of weft: libc's line is the
 * oracle.
 */
#ifndef COMPARE_SIGNALS_H
#define COMPARE_SIGNALS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "../lib/cases.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OTHER SIGUSR2		/* what a handler's mask keeps out while it runs */
#define AWAITED (SIGRTMIN + 5)	/* what a sigwait waits for */

struct wait {
	const char *name;
	void (*begin)(void);	/* main, before the thread is made; may be NULL */
	long (*call)(void);	/* the thread: the call that waits; result, errno */
	void (*release)(void);	/* main: lets it return */
	bool self;		/* does not wait: the thread sends the signal itself */
};

struct disposition {
	const char *name;
	int sig;		/* which one it is shown with */
	int flags;		/* of sigaction, or: */
	bool dfl, ign;
	bool raises;		/* the handler raises the same signal once more */
	bool masks;		/* sa_mask has OTHER, and the handler raises it */
	bool blocks;		/* the handler waits itself, for 2 ms */
};

struct send {
	const char *name;
	int (*send)(pthread_t to, int sig);
	bool process;
};

extern const struct wait waits[];
extern char note[160];		/* what a call gave besides its result */
extern pthread_t target;

void send_here(void);		/* by the thread itself, in the way of the case */
bool over(int ms);	/* the call has returned, within so long */
void say_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
