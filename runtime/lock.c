/*
 * lock: slow paths of the runtime's mutex, and the rank check of debug builds.
 *
 * Spins briefly first (the holder runs on another CPU and is about to leave), then sleeps in the kernel.
 */
#include "runtime/lock.h"

#include "runtime/arch/arch.h"
#include "runtime/gmp.h"
#include "runtime/os/os.h"

enum { SPINS = 4, PAUSES = 30 };

void lock_slow(struct lock *l)
{
	for (int i = 0; i < SPINS; i++) {
		uint32_t free = 0;

		for (int k = 0; k < PAUSES; k++)
			arch_pause();
		if (__atomic_compare_exchange_n(&l->word, &free, 1, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
	}
	while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0)
		os_futex_wait(&l->word, 2, 0);
}

void unlock_slow(struct lock *l)
{
	/* The address only: l's memory may already belong to somebody else. */
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
