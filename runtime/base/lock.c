/*
 * lock: slow paths of the runtime's mutex, and the rank check of debug builds.
 *
 * Spins briefly first (the holder runs on another CPU and is about to leave), then sleeps in the
 * kernel.
 */
#include "runtime/base/lock.h"

#include "runtime/arch/arch.h"
#include "runtime/sched/gmp.h"
#include "runtime/os/os.h"

static bool lock_try(struct lock *l)
{
	uint32_t free = 0;

	return cas_acquire(&l->word, &free, 1);
}

void lock_slow(struct lock *l)
{
	bool fenced;

	for (int i = 0; i < LOCK_SPINS; i++) {
		for (int k = 0; k < LOCK_PAUSES; k++)
			arch_pause();
		if (lock_try(l))
			return;
	}
	/*
	 * seq_cst with word: unlock() stores it and loads sleepers, unfenced; here it is the other way.
	 * The fence that every thread passes makes either this look see the word free, or that load see
	 * this thread counted.  Without it (an old kernel, or one thread yet) an unlock may be missed.
	 */
	fetch_add_seqcst(&l->sleepers, 1);
	fenced = os_membarrier() == 0;
	for (uint64_t ns = LOCK_MISSED; !lock_try(l); ns = ns < LOCK_MISSED_MAX ? ns * 2 : ns)
		os_futex_wait(&l->word, 1, fenced ? 0 : os_nanotime() + ns);
	fetch_sub_relaxed(&l->sleepers, 1);
}

void unlock_slow(struct lock *l)
{
	os_futex_wake(&l->word, 1);
}

void shimlock(struct shimlock *l)
{
	lock(&l->lock);
}

void shimunlock(struct shimlock *l)
{
	unlock(&l->lock);
}

#ifdef WEFT_DEBUG
_Static_assert(NLOCKRANK <= sizeof(weft_tls.held) / sizeof(weft_tls.held[0]), "a count a rank");

/* Two buckets of the lot, the lower address first, and no third. */
static void lot_take(const struct lock *l)
{
	const struct lock **held = weft_tls.heldlot;

	if (held[0] && held[1])
		throw("lock rank: a third bucket");
	if ((held[0] && held[0] >= l) || (held[1] && held[1] >= l))
		throw("lock rank: a bucket is taken after one of a higher address");
	held[held[0] != NULL] = l;
}

static void lot_drop(const struct lock *l)
{
	const struct lock **held = weft_tls.heldlot;

	if (held[0] != l && held[1] != l)
		throw("lock rank: dropping a bucket that is not held");
	held[held[0] != l] = NULL;
}

void lockrank_take(struct lock *l)
{
	for (int r = l->rank + (l->rank == RankLot); r < NLOCKRANK; r++)
		if (weft_tls.held[r])
			throw("lock rank: taking %d while holding %d", l->rank, r);
	weft_tls.held[l->rank]++;
	if (l->rank == RankLot)
		lot_take(l);
}

void lockrank_drop(struct lock *l)
{
	if (weft_tls.held[l->rank]-- == 0)
		throw("lock rank: dropping %d that is not held", l->rank);
	if (l->rank == RankLot)
		lot_drop(l);
}

void lockrank_none(const char *what)
{
	for (int r = 0; r < NLOCKRANK; r++)
		if (weft_tls.held[r])
			throw("lock rank: %s while holding %d", what, r);
}
#endif
