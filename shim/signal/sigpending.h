/*
 * sigpending.h: signals that wait for one thread, in the order in which it will have them.
 *
 * The kernel's order: lowest number first, and of each number as they came (POSIX 2.4.1 asks that of
 * real-time signals; signal(7)).  Thousands may wait while one at a time is taken, so a step costs no
 * more than the numbers there are.
 *
 * Must never: be used by two at a time; the caller sees to that (thread.h, taking).
 */
#ifndef WEFT_SIGPENDING_H
#define WEFT_SIGPENDING_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "shim/time/overrun.h"

struct signode {
	struct signode *next;
	struct signode *last;       /* of the first of its number: the last one */
	_Atomic uint32_t used;
	bool shared;                /* sent to the process: outlives the thread */
	uint64_t life;              /* of the G, for which it is meant unless shared */
	int sig;
	uint32_t round;             /* sigforget.c's */
	struct overrun of;          /* the timer that sent it */
	siginfo_t info;
};

void sigpending_put(struct signode **held, struct signode *n) hidden;
/* The first whose number is in set, out of the list; NULL: none. */
struct signode *sigpending_take(struct signode **held, uint64_t set) hidden;
/* The first of those that were sent to the process. */
struct signode *sigpending_take_shared(struct signode **held, uint64_t set) hidden;
/* The number of set that comes next; 0: none. */
int sigpending_first(const struct signode *held, uint64_t set) hidden;
/* All their numbers. */
uint64_t sigpending_set(const struct signode *held) hidden;
/* Is there one of this number that was sent to the process (shared), or to the thread? */
bool sigpending_has(const struct signode *held, int sig, bool shared) hidden;


struct thread;
/* signode.c: NULL: more are queued than are allowed, or there is no memory. */
struct signode *signode_get(void) hidden;
void signode_put(struct signode *n) hidden;
void signode_drop(struct signode *n) hidden; /* it was not taken */
uint64_t signals_waiting(void) hidden; /* on all threads together */
void signode_fork_child(void) hidden;
/* sigtake.c, for the calling thread.  While taking: what has arrived comes to held, oldest first. */
void signode_collect(struct thread *th) hidden;
/* One of sig is off its list; there is another only if a timer sent one of them. */
void signode_gone(struct thread *th, int sig, bool shared) hidden;
/*
 * sigsend.c: a standard signal is pending once: for the thread, and once more if it was sent to the process.  It is
 * from before it is queued until it is taken, whichever list it is in.
 */
bool signode_first(struct thread *th, int sig, bool shared) hidden;
/* The next signal of set, out of its node, and taking is still set; 0: none. */
int signode_take(uint64_t set, siginfo_t *si) hidden;
uint64_t signode_queued(struct thread *th) hidden; /* all numbers */
/* sigsend.c: a list that its thread will not take: what was sent to the process goes to another thread. */
void signode_abandon(struct signode *n) hidden;

#endif
