/*
 * arrivals.h: what one case of the comparison of arrivals is made of.
 *
 * A case is a point of four tables: what MAIN does x what the WORKER, the only other thread that may
 * take the signal, does x the signal's DISPOSITION x how it is SENT.  One line tells which thread
 * handled it, which waits it ended and how, and what is pending at the end.  Each case is a process
 * of its own, for the state of main is the matter.  The program knows nothing of weft: libc's line
 * is the oracle.
 */
#ifndef COMPARE_ARRIVALS_H
#define COMPARE_ARRIVALS_H

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
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { MAIN, WORKER, AGENT, ROLES };

struct state {
	const char *name;
	long (*call)(int role); /* what it does; result, errno.  NULL: the thread does not exist */
	bool shut;              /* with the signal kept out */
	bool computes;
	bool waits;             /* sigwait: takes it without a handler */
	bool inside;            /* in a handler of the very signal: kept out likewise */
};

struct sender {
	const char *name;
	int sig;                /* 0: SIGUSR1 */
	void (*send)(void);     /* the agent, which keeps all signals out; NULL: the driver */
	int (*outside)(pid_t pid, int sig, int terminal);
	int prepares;           /* the role that calls prepare() first; ROLES: none */
	void (*prepare)(void);
	int named;              /* the role it is sent to; ROLES: the process */
	bool computing;         /* goes to whoever computes: just one does */
	bool kernel;            /* waits in the kernel for main's kernel thread */
	bool timer;             /* the kernel may give it to any thread that runs at the time */
};

extern const struct state states[];
extern const struct sender senders[];
extern int sig;
extern pthread_t thread_of[ROLES];
extern _Atomic pid_t tid_of[ROLES];
void await_agent(void); /* main makes it last: the worker may be first to name it */
void enter_handler(int role); /* a handler of sig that waits */

#endif
