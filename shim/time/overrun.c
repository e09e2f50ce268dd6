/*
 * overrun: a timer that names a thread queues one signal on it, which tells how often the timer has
 * expired since.
 *
 * The kernel's signal goes to the signal thread (posix_timer.c), which takes it at once; so the kernel
 * never sees it wait and queues another for the next expiration.  Each timer has a word: whether its
 * signal is queued on its thread, the count of further expirations, and a turn that tells one queued
 * signal from the next.  The signal thread counts, the named thread takes count and signal.
 *
 * Setting or deleting the timer begins a new turn: the signal that waits is dropped when its thread
 * looks (POSIX leaves that open; Linux drops it since 6.13).
 *
 * Must never: leave a word QUEUED whose signal is on no queue: the timer would be silent for good.
 */
#include "shim/time/overrun.h"

#include "shim/signal/signote.h"
#include "shim/syscall/tablepart.h"

#define COUNT UINT64_C(0x7fffffff) /* at most what si_overrun can say */
#define QUEUED UINT64_C(0x80000000)
#define TURN 32                    /* the turn is above */

struct words {
	_Atomic uint64_t word;
	_Atomic int last;
};
static void *_Atomic overruns[SIGNOTE_LEVELS]; /* as the notes of the timers (signal/signote.h) */

static struct words *of_slot(int slot)
{
	struct words *level = load_acquire(&overruns[signote_level(slot)]);

	return &level[signote_place(slot)];
}

bool overrun_room(int slot)
{
	int k = signote_level(slot);

	return tablepart(&overruns[k], ((size_t)SIGNOTE_FIRST << k) * sizeof(struct words));
}

static uint64_t waiting(struct overrun of)
{
	return (uint64_t)of.turn << TURN | QUEUED;
}

bool overrun_begins(int slot, int more, struct overrun *out)
{
	uint64_t was = load_acquire(&of_slot(slot)->word), now;

	do {
		if (was & QUEUED) {
			now = (was & COUNT) + 1 + (uint64_t)more;
			now = (was & ~COUNT) | (now < COUNT ? now : COUNT);
		} else {
			now = ((was >> TURN) + 1) << TURN | QUEUED | (uint64_t)more;
		}
	} while (!cas_weak_acq_rel(&of_slot(slot)->word, &was, now));
	*out = (struct overrun){ slot, (uint32_t)(now >> TURN) };
	return !(was & QUEUED);
}

bool overrun_stale(struct overrun of)
{
	return of.slot >= 0 && (load_acquire(&of_slot(of.slot)->word) & ~COUNT) != waiting(of);
}

/* The word is QUEUED no more. */
static int off_queue(struct overrun of)
{
	uint64_t was = load_acquire(&of_slot(of.slot)->word);

	do {
		if ((was & ~COUNT) != waiting(of))
			return -1;
	} while (!cas_weak_acq_rel(&of_slot(of.slot)->word, &was, (uint64_t)of.turn << TURN));
	return (int)(was & COUNT);
}

int overrun_taken(struct overrun of)
{
	int more = off_queue(of);

	if (more >= 0)
		store_relaxed(&of_slot(of.slot)->last, more);
	return more;
}

void overrun_dropped(struct overrun of)
{
	if (of.slot >= 0)
		off_queue(of);
}

bool overrun_anew(int slot)
{
	uint64_t was = load_acquire(&of_slot(slot)->word);

	while (!cas_weak_acq_rel(&of_slot(slot)->word, &was, ((was >> TURN) + 1) << TURN))
		;
	store_relaxed(&of_slot(slot)->last, 0);
	return was & QUEUED;
}

int overrun_last(int slot)
{
	return load_relaxed(&of_slot(slot)->last);
}
