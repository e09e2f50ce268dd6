/*
 * lock: slow paths of the runtime's mutex, and the rank check of debug builds.
 *
 * Spins briefly first (the holder runs on another CPU and is about to leave), then sleeps in the
 * kernel.
 */
#include "runtime/lock.h"

#include "runtime/arch/arch.h"
#include "runtime/gmp.h"
#include "runtime/os/os.h"

/*
 * ns: see unlock().  Doubled each time: thousands that wait must not wake up for nothing all the
 * time.
 */
enum { SPINS = 4, PAUSES = 30, MISSED = 1000000, MISSED_MAX = 512000000 };

static bool take(struct lock *l)
{
	uint32_t free = 0;

	return __atomic_compare_exchange_n(&l->word, &free, 1, 0, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

void lock_slow(struct lock *l)
{
	for (int i = 0; i < SPINS; i++) {
		for (int k = 0; k < PAUSES; k++)
			arch_pause();
		if (take(l))
			return;
	}
	/* A full fence before the word is looked at again: pairs, but for MISSED, with unlock(). */
	__atomic_add_fetch(&l->sleepers, 1, __ATOMIC_SEQ_CST);
	for (uint64_t ns = MISSED; !take(l); ns = ns < MISSED_MAX ? ns * 2 : ns)
		os_futex_wait(&l->word, 1, os_nanotime() + ns);
	__atomic_sub_fetch(&l->sleepers, 1, __ATOMIC_RELAXED);
}

void unlock_slow(struct lock *l)
{
	os_futex_wake(&l->word, 1);
}

#ifdef WEFT_DEBUG
_Static_assert(NLOCKRANK <= sizeof(weft_tls.held) / sizeof(weft_tls.held[0]), "a count a rank");

void lockrank_take(struct lock *l)
{
	for (int r = l->rank + (l->rank == RankLot); r < NLOCKRANK; r++)
		if (weft_tls.held[r])
			throw("lock rank: taking %d while holding %d", l->rank, r);
	weft_tls.held[l->rank]++;
}

void lockrank_drop(struct lock *l)
{
	if (weft_tls.held[l->rank]-- == 0)
		throw("lock rank: dropping %d that is not held", l->rank);
}
#endif
