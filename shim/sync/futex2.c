/*
 * futex2: the futex calls that came after futex(2): futex_waitv, futex_wake, futex_wait,
 * futex_requeue.
 *
 *	futex_waitv	the kernel's, with the P given away, whatever its words are: one call waits
 *			for private and shared words at once.  futex_in_kernel tells private wakers
 *			of it.
 *	the others	private words on the lot, where the wakers of futex(2) find them; else the
 *			kernel's
 *
 * A kernel that lacks a call lacks it for private words, too: programs then take another way.
 *
 * Rejected: a wait for several words on the lot.  A shared word beside private ones would still need
 * the kernel, and a wait for one of many holds a kernel thread natively as well.
 */
#include "shim/sync/futex.h"

#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

/* From headers newer than those that weft is built with. */
enum { NR_WAKE = 454, NR_WAIT = 455, NR_REQUEUE = 456 };
struct word_of { /* struct futex_waitv of 5.16 */
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};
enum { SIZE_U32 = 2, PLAIN_PRIVATE = SIZE_U32 | FUTEX_PRIVATE_FLAG };

/* Words with other flags (of a NUMA node, for one) have queues of their own in the kernel. */
static bool on_lot(unsigned long flags)
{
	return (uint32_t)flags == PLAIN_PRIVATE;
}

/* Has the kernel these three?  It has, when what it says of flags that none knows is not ENOSYS. */
static bool kernel_has(void)
{
	static _Atomic int has; /* 0: not asked yet */
	int known = load_relaxed(&has);

	if (!known) {
		known = direct4(NR_WAKE, 0, 0, 0, ~0u) == -EINVAL ? 1 : -1;
		store_relaxed(&has, known);
	}
	return known > 0;
}

long waits_futexes(const struct call *x)
{
	/* Full barrier: pairs with also_in_kernel(). */
	store_seqcst(&futex_in_kernel, true);
	return on_g() ? call_blocks(x) : call_plain(x);
}

/* futex_wake(word, mask, n, flags) */
long wakes_futex2(const struct call *x)
{
	uint32_t *at = (uint32_t *)x->a;
	int n = (int)x->c;
	long err;

	if (!on_lot((unsigned long)x->d))
		return call_plain(x);
	if (!kernel_has())
		return -ENOSYS;
	if ((unsigned long)x->b > UINT32_MAX || !x->b)
		return -EINVAL;
	if (futex_bad_word(at, &err))
		return err;
	return n > 0 ? futex_wake(at, (unsigned)n, (uint32_t)x->b) : 0;
}

/* futex_wait(word, value, mask, flags, time-out, clock) */
long waits_futex2(const struct call *x)
{
	uint32_t *at = (uint32_t *)x->a;
	const struct timespec *ts = (const struct timespec *)x->e;
	struct park pk = park_time(WaitFutex);
	long err;

	if (!on_lot((unsigned long)x->d))
		return on_g() ? call_blocks(x) : call_plain(x);
	if (!kernel_has())
		return -ENOSYS;
	if ((unsigned long)x->b > UINT32_MAX || (unsigned long)x->c > UINT32_MAX || !x->c)
		return -EINVAL;
	if (ts && !wait_clock((clockid_t)x->f))
		return -EINVAL;
	err = futex_until((clockid_t)x->f, ts, &pk);
	if (err)
		return err;
	if (futex_bad_word(at, &err))
		return err;
	return futex_wait(at, (uint32_t)x->b, (uint32_t)x->c, &pk, false);
}

/*
 * futex_requeue(two words, flags, how many to wake, how many to move).  The lot cannot hand a waiter
 * to the kernel: one that is to wait for a word there is woken instead, as if by chance.
 */
long moves_futex2(const struct call *x)
{
	struct word_of w[2];
	uint32_t *from, *to, value;
	int nwake = (int)x->c, nmove = (int)x->d;
	long err;

	if (!user_get(w, (const void *)x->a, sizeof(w)) || (!on_lot(w[0].flags) && !on_lot(w[1].flags)))
		return call_plain(x);
	if (!kernel_has())
		return -ENOSYS;
	if (!on_lot(w[0].flags)) {
		store_seqcst(&futex_in_kernel, true);
		return call_plain(x);
	}
	from = (uint32_t *)w[0].uaddr;
	to = (uint32_t *)w[1].uaddr;
	value = (uint32_t)w[0].val;
	if (x->b || nwake < 0 || nmove < 0 || w[0].val > UINT32_MAX || w[0].reserved || w[1].reserved)
		return -EINVAL;
	if (futex_bad_word(from, &err) || futex_bad_word(to, &err))
		return err;
	if (on_lot(w[1].flags))
		return futex_requeue(from, nwake, nmove, to, &value);
	if (!user_word_readable(from))
		return -EFAULT;
	if (load_acquire(from) != value)
		return -EAGAIN;
	return nwake | nmove ? futex_wake(from, (unsigned)nwake + (unsigned)nmove,
					  FUTEX_BITSET_MATCH_ANY)
			     : 0;
}
