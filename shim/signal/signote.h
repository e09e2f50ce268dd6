/* signote: files and timers that send their signals to a thread which the program named; see signote.c. */
#ifndef WEFT_SHIM_SIGNOTE_H
#define WEFT_SHIM_SIGNOTE_H

#include "shim/shim.h"

/* Taken and freed by compare-and-swap on target; the rest is written by the thread that took it. */
struct signote {
	_Atomic long target; /* a G's id, or enum signote_state */
	_Atomic int number;  /* of the file or the timer */
	_Atomic int sig;     /* that was asked for; 0: none was, of a file: SIGIO */
	_Atomic int mark;    /* what its user notes besides */
};
enum signote_state { SIGNOTE_FREE = 0, SIGNOTE_BUSY = 1 };

/* Level k has room for FIRST << k notes, and is mapped when those before it have no room for a number. */
enum { SIGNOTE_FIRST = 256, SIGNOTE_LEVELS = 13 };

struct signotes {
	void *_Atomic level[SIGNOTE_LEVELS];
};

/* The note i is in this level, at this place. */
static inline int signote_level(int i)
{
	return 31 - __builtin_clz((unsigned)i / SIGNOTE_FIRST + 1);
}

static inline int signote_place(int i)
{
	return i - SIGNOTE_FIRST * ((1 << signote_level(i)) - 1);
}

static inline struct signote *signote_at(const struct signotes *n, int i)
{
	struct signote *level = load_acquire(&n->level[signote_level(i)]);

	return &level[signote_place(i)];
}

/* A note for that number, which is not found as yet; -1: there is no memory. */
int signote_take(struct signotes *n, int number) hidden;
/* Everything else of it has been written: from now on it is found. */
static inline void signote_name(struct signotes *n, int i, long id)
{
	store_release(&signote_at(n, i)->target, id);
}

static inline void signote_give(struct signotes *n, int i)
{
	store_release(&signote_at(n, i)->target, SIGNOTE_FREE);
}

static inline bool signote_none(const struct signotes *n)
{
	return likely(!load_acquire(&n->level[0]));
}

/* -1: that number names no thread. */
int signote_find(const struct signotes *n, int number) hidden;
int signote_sig(const struct signotes *n, int i) hidden;
struct thread *signote_thread(const struct signotes *n, int i) hidden; /* NULL: it has ended */
/* Signal 32 of the note i (-1: of none), in the signal thread's handler.  False: it was given back meanwhile. */
bool signote_fired(const struct signotes *n, int i, const siginfo_t *si) hidden;
/* All are free. */
void signote_fork_child(struct signotes *n) hidden;

#endif
