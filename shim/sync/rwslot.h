/*
 * rwslot: where readers of a read-write lock stand that share nothing: a table of slots, a lane for each P.
 *
 * A lock whose word says RW_LANES may be read-locked by counting up a slot of the caller's own lane, while
 * the word stays as it is.  A slot belongs to one lock at a time, by the lock's address; where it is in a lane
 * follows from the address, too, so that a writer has one slot of each lane to look at.  A slot without readers
 * is anyone's.
 *
 * The counts are nobody's by name: a reader that moved to another P counts down whatever slot of its lock has a
 * reader, or the word.  What holds is the sum: the word's count and those of all slots are the readers that
 * hold the lock, and those that tried and have not yet counted down again.
 *
 * The reader: counts up, then looks at the word: RW_LANES there and no RW_WRITER, or it counts down again.
 * The writer: sets RW_WRITER, then looks at the slots.  Both are sequentially consistent, so one of the two
 * sees the other.  A writer that finds readers moves them into the word, where they wake it.
 *
 * Must never: touch the lock once its reader was counted down.
 */
#ifndef WEFT_SHIM_RWSLOT_H
#define WEFT_SHIM_RWSLOT_H

#include "shim/sync/sync.h"

/*
 * Bits of the word, libc's __readers.  libc never sets the two highest: its count has no overflow there.
 * RW_REVOKING: with RW_WRITER: the writer still looks for readers; the count may be below 0 for the moment,
 * modulo its width.
 */
enum {
	RW_WRITER = 2u,
	RW_QUEUED = 4u,
	RW_READER = 8u,
	RW_READERS = 0x3ffffff8u,
	RW_REVOKING = 0x40000000u,
	RW_LANES = 0x80000000u,
};

enum {
	RWLANES = 64,         /* a P's is its number modulo this */
	RWSLOTS = 16,         /* of a lane: two cache lines, which the CPU fetches together */
	SLOT_COUNT = 0x7fff,
	SLOT_READ = 0x8000,   /* a reader was there since a writer looked */
	SLOT_ADDR = 16,       /* the lock's address, from this bit on */
};

/* Written by readers on the P, and by a writer that finds readers or SLOT_READ. */
struct rwlane {
	_Atomic uint64_t slot[RWSLOTS];
} __attribute__((aligned(128)));

extern struct rwlane rwlanes[RWLANES] hidden;

/* A lane above those that writers look at so far. */
void rwslot_open(uint32_t lane) hidden;
extern _Atomic uint32_t rwlanes_open hidden;
/* A reader leaves, with its own lane's slot looked at.  False: the word has its count, and waiters perhaps. */
bool rwslot_leave(pthread_rwlock_t *rw) hidden;
/* The caller has set RW_WRITER and RW_REVOKING.  False: readers hold the lock, and RW_WRITER is gone. */
bool rwslot_revoke(pthread_rwlock_t *rw) hidden;
/* Is a reader in a lane?  Changes nothing. */
bool rwslot_read(const pthread_rwlock_t *rw) hidden;
/* The caller holds rw as a reader by the word, and met another: from now on they use lanes. */
void rwslot_begin(pthread_rwlock_t *rw) hidden;

/* seq_cst: RW_WRITER is set before the slots are looked at; a reader counts its slot up before it looks here. */
static inline uint32_t *rwword(pthread_rwlock_t *rw)
{
	return &rw->__data.__readers;
}

static inline uint64_t rwslot_of(const pthread_rwlock_t *rw)
{
	return (uint64_t)(uintptr_t)rw << SLOT_ADDR;
}

/* Locks are 56 bytes long, and lie side by side or in objects of their own. */
static inline _Atomic uint64_t *rwslot_in(uint32_t lane, const pthread_rwlock_t *rw)
{
	uintptr_t a = (uintptr_t)rw;

	return &rwlanes[lane % RWLANES].slot[(a >> 3 ^ a >> 7 ^ a >> 12) % RWSLOTS];
}

static inline uint32_t rwlane_here(void)
{
	return g_seen(getg())->lane % RWLANES;
}

/* NULL: the caller is no G. */
static inline _Atomic uint64_t *rwslot_here(const pthread_rwlock_t *rw)
{
	return likely(getg()) ? rwslot_in(rwlane_here(), rw) : NULL;
}

/* Counts down a slot of rw that has a reader. */
static inline bool rwslot_drop(_Atomic uint64_t *slot, const pthread_rwlock_t *rw)
{
	uint64_t v = load_relaxed(slot);

	while ((v ^ rwslot_of(rw)) >> SLOT_ADDR == 0 && v & SLOT_COUNT)
		if (cas_release(slot, &v, v - 1))
			return true;
	return false;
}

/* MOVED: it has not got the lock, and its count went elsewhere, from where it must leave as one that holds the lock. */
enum rwslot { SLOT_NONE, SLOT_TAKEN, SLOT_MOVED };

/* A reader in its lane; the word had RW_LANES and no RW_WRITER a moment ago. */
static inline __attribute__((always_inline)) enum rwslot rwslot_take(pthread_rwlock_t *rw)
{
	uint64_t mine = rwslot_of(rw) | SLOT_READ;
	_Atomic uint64_t *slot;
	uint32_t lane;
	uint64_t v;

	if (unlikely(!getg()))
		return SLOT_NONE;
	lane = rwlane_here();
	if (unlikely(lane >= load_relaxed(&rwlanes_open)))
		rwslot_open(lane);
	slot = rwslot_in(lane, rw);
	v = load_relaxed(slot);
	do {
		if ((v ^ mine) >> SLOT_ADDR == 0)
			mine |= v & SLOT_COUNT;
		else if (v & SLOT_COUNT)
			return SLOT_NONE; /* another lock is read there */
		if (unlikely((mine & SLOT_COUNT) == SLOT_COUNT))
			return SLOT_NONE;
		/* seq_cst: with the load of the word below; rwslot_revoke() sets the word, then looks here */
		if (likely(cas_seqcst(slot, &v, mine + 1)))
			break;
		mine = rwslot_of(rw) | SLOT_READ;
	} while (true);
	if (likely((load_seqcst(rwword(rw)) & (RW_LANES | RW_WRITER)) == RW_LANES))
		return SLOT_TAKEN;
	return rwslot_drop(slot, rw) ? SLOT_NONE : SLOT_MOVED;
}

#endif
