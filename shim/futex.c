/*
 * futex: futex(2) by number, which some run-times use instead of pthreads.
 *
 *	private		on the lot: FUTEX_WAIT and its relatives block a G, not an M
 *	else		the kernel's, with the P given away
 *
 * A private futex and a pthread object never share a word, so futex words have keys of their own
 * kind.  The word is read in place: an address that is not mapped faults, where the kernel says
 * EFAULT.
 *
 * A foreign thread takes part too: who it waits for may be a G.
 *
 * Not here: inheriting futexes hold kernel ids, which gettid() on a G does not give.
 */
#include <linux/futex.h>

#include "shim/sync.h"
#include "shim/syscall.h"

struct word {
	uint32_t *at;
	uint32_t value;
};

static int differs(void *arg)
{
	struct word *w = arg;

	return load_acquire(w->at) != w->value;
}

static bool bad_word(const uint32_t *w, long *err)
{
	if ((uintptr_t)w % sizeof(*w))
		*err = -EINVAL;
	else if ((uintptr_t)w < 4096)
		*err = -EFAULT;
	else
		return false;
	return true;
}

static long futex_wait(uint32_t *at, uint32_t value, int op, const struct timespec *ts,
		       uint32_t bits)
{
	struct word w = {at, value};
	struct park pk = {
		.addr = lot_key(at, KEY_OTHER),
		.refuse = differs,
		.arg = &w,
		.bitset = bits,
		.reason = WaitFutex,
	};
	int clock = op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	int err = 0;

	if (!bits)
		return -EINVAL;
	if (ts && (bad_nsec(ts) || ts->tv_sec < 0))
		return -EINVAL;
	if (ts && (op & FUTEX_CMD_MASK) == FUTEX_WAIT)
		err = deadline_in(ts, &pk.deadline);
	else if (ts)
		err = deadline_of(clock, ts, &pk.deadline);
	if (err)
		return -err;
	for (;;) {
		enum interrupt what;

		err = lot_park(&pk);
		if (err != -EINTR)
			return err < 0 ? err : 0;
		what = interrupt_deliver();
		if (what == INTR_ENDS || (what == INTR_RESTARTS && ts))
			return -EINTR;
		/* Moved to another word's queue, it begins anew at its own, as in the kernel. */
		if (pk.at != pk.addr)
			pk.turn = 0;
	}
}

static long futex_wake(uint32_t *at, int n, uint32_t bits)
{
	if (!bits)
		return -EINVAL;
	/* The kernel looks at the count after it woke one. */
	return lot_wake(lot_key(at, KEY_OTHER), n > 1 ? (unsigned)n : 1, bits, READY_NEXT, NULL,
			NULL);
}

static long futex_requeue(uint32_t *from, int nwake, int nmove, uint32_t *to, const uint32_t *value)
{
	struct word w = {from, value ? *value : 0};
	unsigned moved = 0;
	int woken;

	if (nwake < 0 || nmove < 0)
		return -EINVAL;
	woken = lot_requeue(lot_key(from, KEY_OTHER), lot_key(to, KEY_OTHER), (unsigned)nwake,
			    (unsigned)nmove, value ? differs : NULL, NULL, &w, &moved);
	return woken < 0 ? woken : woken + (long)moved;
}

/* The operation of FUTEX_WAKE_OP on *at: its old value. */
static bool wake_op(uint32_t *at, int code, int arg, uint32_t *old)
{
	switch (code) {
	case FUTEX_OP_SET:
		*old = __atomic_exchange_n(at, (uint32_t)arg, __ATOMIC_SEQ_CST);
		return true;
	case FUTEX_OP_ADD:
		*old = __atomic_fetch_add(at, (uint32_t)arg, __ATOMIC_SEQ_CST);
		return true;
	case FUTEX_OP_OR:
		*old = __atomic_fetch_or(at, (uint32_t)arg, __ATOMIC_SEQ_CST);
		return true;
	case FUTEX_OP_ANDN:
		*old = __atomic_fetch_and(at, ~(uint32_t)arg, __ATOMIC_SEQ_CST);
		return true;
	case FUTEX_OP_XOR:
		*old = __atomic_fetch_xor(at, (uint32_t)arg, __ATOMIC_SEQ_CST);
		return true;
	}
	return false;
}

static int wake_cmp(int code, int old, int arg)
{
	switch (code) {
	case FUTEX_OP_CMP_EQ:
		return old == arg;
	case FUTEX_OP_CMP_NE:
		return old != arg;
	case FUTEX_OP_CMP_LT:
		return old < arg;
	case FUTEX_OP_CMP_LE:
		return old <= arg;
	case FUTEX_OP_CMP_GT:
		return old > arg;
	case FUTEX_OP_CMP_GE:
		return old >= arg;
	}
	return -1;
}

static long futex_wake_op(uint32_t *at, int n, int n2, uint32_t *at2, uint32_t code)
{
	int op = code >> 28 & 7, cmp = code >> 24 & 15;
	int arg = (int)(code << 8) >> 20, cmparg = (int)(code << 20) >> 20; /* 12 bits, signed */
	uint32_t old;
	long woken;
	int also;

	if (code >> 28 & FUTEX_OP_OPARG_SHIFT)
		arg = (int)(1u << (arg & 31));
	if (wake_cmp(cmp, 0, 0) < 0 || !wake_op(at2, op, arg, &old))
		return -ENOSYS;
	also = wake_cmp(cmp, (int)old, cmparg);
	woken = futex_wake(at, n, FUTEX_BITSET_MATCH_ANY);
	if (also > 0)
		woken += futex_wake(at2, n2, FUTEX_BITSET_MATCH_ANY);
	return woken;
}

static long futex_private(const struct call *x)
{
	uint32_t *at = (uint32_t *)x->a, *at2 = (uint32_t *)x->e;
	int op = (int)x->b, n = (int)x->c, n2 = (int)x->d;
	uint32_t value = (uint32_t)x->c, value3 = (uint32_t)x->f;
	const struct timespec *ts = (const struct timespec *)x->d;
	long err;

	if (bad_word(at, &err))
		return err;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return futex_wait(at, value, op, ts, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAIT_BITSET:
		return futex_wait(at, value, op, ts, value3);
	case FUTEX_WAKE:
		return futex_wake(at, n, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAKE_BITSET:
		return futex_wake(at, n, value3);
	}
	if (bad_word(at2, &err))
		return err;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_REQUEUE:
		return futex_requeue(at, n, n2, at2, NULL);
	case FUTEX_CMP_REQUEUE:
		return futex_requeue(at, n, n2, at2, &value3);
	}
	return futex_wake_op(at, n, n2, at2, value3);
}

long waits_futex(const struct call *x)
{
	switch ((int)x->b & ~FUTEX_CLOCK_REALTIME) {
	case FUTEX_WAIT_PRIVATE:
	case FUTEX_WAIT_BITSET_PRIVATE:
	case FUTEX_WAKE_PRIVATE:
	case FUTEX_WAKE_BITSET_PRIVATE:
	case FUTEX_REQUEUE_PRIVATE:
	case FUTEX_CMP_REQUEUE_PRIVATE:
	case FUTEX_WAKE_OP_PRIVATE:
		return futex_private(x);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_WAKE_OP:
		return call_plain(x);
	}
	return on_g() ? call_blocks(x) : call_plain(x);
}
