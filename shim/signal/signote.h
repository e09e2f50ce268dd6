/* signote: files and timers that send their signals to a thread which the program named; see signote.c. */
#ifndef WEFT_SHIM_SIGNOTE_H
#define WEFT_SHIM_SIGNOTE_H

#include "shim/shim.h"

/* Taken and freed by compare-and-swap on target; the rest is written by the thread that took it. */
struct signote {
	_Atomic long target; /* a G's id, or enum signote_state */
	_Atomic int number;  /* of the file or the timer */
	_Atomic int sig;     /* that was asked for; 0: none was, of a file: SIGIO */
};
enum signote_state { SIGNOTE_FREE = 0, SIGNOTE_BUSY = 1 };

struct signotes {
	struct signote *at;
	int size;
	_Atomic int used; /* the first ones, that have ever been taken */
};

/* A note that is nobody's as yet; -1: there is no room. */
int signote_take(struct signotes *n) hidden;
/* Everything else of it has been written: from now on it is found. */
static inline void signote_name(struct signotes *n, int i, long id)
{
	store_release(&n->at[i].target, id);
}

static inline void signote_give(struct signotes *n, int i)
{
	store_release(&n->at[i].target, SIGNOTE_FREE);
}

static inline bool signote_none(const struct signotes *n)
{
	return likely(!load_acquire(&n->used));
}

/* -1: that number names no thread. */
int signote_find(const struct signotes *n, int number) hidden;
int signote_sig(const struct signotes *n, int i) hidden;
struct thread *signote_thread(const struct signotes *n, int i) hidden; /* NULL: it has ended */
/* Signal 32 of the note i (-1: of none), in the signal thread's handler.  False: it was given back meanwhile. */
bool signote_fired(const struct signotes *n, int i, const siginfo_t *si) hidden;

#endif
