/*
 * rwslot: readers in lanes: the writer's search for them, and the reader that finds its count elsewhere.
 *
 * A lock gets lanes (RW_LANES) when two readers met in its word, twice in a row.  It loses them to a writer
 * that found that few were read in since the writer before.  The word of a new lock where another one was says
 * that it has none, and slots that still bear its address have no reader.  Had the old lock's readers never
 * left, the new one gets no lanes.  In the child of a fork the slots are as in the parent, as the words are.
 *
 * Must never: wait for a thread.
 */
#include "runtime/sched/policy.h"
#include "shim/sync/rwslot.h"

struct rwlane rwlanes[RWLANES];
_Atomic uint32_t rwlanes_open;

void rwslot_open(uint32_t lane)
{
	uint32_t n = load_relaxed(&rwlanes_open);

	/* seq_cst: before the caller's slot, and its look at the word; pairs with the load in found() */
	while (n <= lane && !cas_seqcst(&rwlanes_open, &n, lane + 1))
		;
}

void rwslot_begin(pthread_rwlock_t *rw)
{
	uint32_t n = load_seqcst(&rwlanes_open); /* seq_cst: as in found() */

	if (rw->__data.__flags == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP || (uint64_t)(uintptr_t)rw >> 48)
		return;
	/* A lock without lanes has no reader there: it is left over from one that was at this place. */
	for (uint32_t i = 0; i < n; i++) {
		uint64_t v = load_relaxed(rwslot_in(i, rw));

		if ((v ^ rwslot_of(rw)) >> SLOT_ADDR == 0 && v & SLOT_COUNT)
			return;
	}
	fetch_or_relaxed(rwword(rw), RW_LANES);
}

/* ---- the writer ------------------------------------------------------------------------------ */

struct readers {
	uint32_t now;  /* that are there */
	uint32_t read; /* lanes with SLOT_READ */
};

/* take: the readers are taken out, for the word, and SLOT_READ with them. */
static struct readers found(const pthread_rwlock_t *rw, uint32_t n, bool take)
{
	struct readers r = {0, 0};

	for (uint32_t i = 0; i < n; i++) {
		_Atomic uint64_t *slot = rwslot_in(i, rw);
		uint64_t v = load_seqcst(slot); /* seq_cst: see rwslot_take() */

		do {
			if ((v ^ rwslot_of(rw)) >> SLOT_ADDR)
				v = 0;
		} while (take && v & (SLOT_COUNT | SLOT_READ) &&
			 !cas_acquire(slot, &v, v & SLOT_COUNT ? 0 : rwslot_of(rw)));
		r.now += v & SLOT_COUNT;
		r.read += (v & SLOT_READ) != 0;
	}
	return r;
}

bool rwslot_read(const pthread_rwlock_t *rw)
{
	return found(rw, load_seqcst(&rwlanes_open), false).now != 0; /* seq_cst: as in rwslot_revoke() */
}

/* Is it this writer's turn to look where was read?  A lock that no one P alone reads has a use for lanes. */
static bool judges(void)
{
	static _Atomic uint32_t turns[RWLANES];
	_Atomic uint32_t *turn = &turns[getg() ? rwlane_here() : 0];

	store_relaxed(turn, load_relaxed(turn) + 1);
	return load_relaxed(turn) % RWLOCK_TURNS == 0;
}

bool rwslot_revoke(pthread_rwlock_t *rw)
{
	uint32_t n = load_seqcst(&rwlanes_open); /* seq_cst: after the word, before the slots */
	uint32_t *word = rwword(rw), v, next;
	struct readers r;
	bool judge;

	for (int i = 0; i < RWLOCK_PAUSES; i++) {
		r = found(rw, n, false);
		if (!r.now && !(load_relaxed(word) & RW_READERS))
			break;
		arch_pause();
	}
	judge = judges();
	if (r.now || judge)
		r = found(rw, n, true);
	v = load_relaxed(word);
	do {
		next = (v & ~(RW_READERS | RW_REVOKING)) | ((v + r.now * RW_READER) & RW_READERS);
		if (next & RW_READERS)
			next &= ~RW_WRITER;
		else if (judge && (r.read < 2 || r.read * RWLOCK_READ_IN < n))
			next &= ~RW_LANES;
	} while (!cas_acq_rel(word, &v, next));
	return next & RW_WRITER;
}

/* ---- the reader ------------------------------------------------------------------------------ */

static bool drop_any(const pthread_rwlock_t *rw)
{
	uint32_t n = load_seqcst(&rwlanes_open); /* seq_cst: as in found() */

	for (uint32_t i = 0; i < n; i++)
		if (rwslot_drop(rwslot_in(i, rw), rw))
			return true;
	return false;
}

/*
 * True: it was counted down, and nobody is to be woken.  False: the word has its count.
 *
 * The counts of one lock may move while they are looked for: a reader that leaves takes any, and its own stays
 * for others.  So one that found none looks as a writer does, while none can come to a lane: then its count is
 * in the word (the model rwlanes).  No count at all, or a writer that has the lock: the caller does not hold
 * it, and changes nothing.
 */
bool rwslot_leave(pthread_rwlock_t *rw)
{
	uint32_t *word = rwword(rw), v;

	for (;;) {
		v = load_acquire(word);
		if (v & RW_REVOKING) {
			if (cas_release(word, &v, (v & ~RW_READERS) | ((v - RW_READER) & RW_READERS)))
				return true;
		} else if (v & RW_WRITER) {
			return true;
		} else if (v & RW_READERS) {
			return false;
		} else if (!(v & RW_LANES) || drop_any(rw)) {
			return true;
		} else if (cas_seqcst(word, &v, v | RW_WRITER | RW_REVOKING) && /* seq_cst: as in try_write() */
			   rwslot_revoke(rw)) {
			/* Those who queued meanwhile are woken by its release, as a reader's. */
			fetch_add_release(word, RW_READER - RW_WRITER);
			return false;
		}
	}
}
