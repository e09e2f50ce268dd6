/*
 * futex: futex(2) by number, which some run-times use instead of pthreads.
 *
 *	private		on the lot: FUTEX_WAIT and its relatives block a G, not an M
 *	else		the kernel's, with the P given away
 *
 * A private futex and a pthread object never share a word, so futex words have keys of their own
 * kind.  The word is read in place, so usermem.c is asked first whether it is there.  A call that only
 * looks for waiters reads nothing, and takes any address that a program can have.
 *
 * A native thread uses the lot too: the thread that will wake it may be a G.
 *
 * A few calls wait for private words in the kernel (futex2.c).  From the first of them on, a private
 * wake-up or requeue that the lot's waiters did not use up goes on to the kernel.
 *
 * Words that hold their owner's id (inheriting): futexpi.c.
 */
#include "shim/sync/eintr.h"
#include "shim/sync/futex.h"

#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

_Atomic bool futex_in_kernel;

int futex_differs(void *word)
{
	struct futexword *w = word;

	return load_acquire(w->at) != w->value;
}

long futex_until(int clock, const struct timespec *user, struct park *pk)
{
	struct timespec ts;

	if (!user)
		return 0;
	if (!user_get(&ts, user, sizeof(ts)))
		return -EFAULT;
	if (bad_nsec(&ts) || ts.tv_sec < 0)
		return -EINVAL;
	return -(clock == FUTEX_RELATIVE ? deadline_in(&ts, &pk->deadline) : park_until(clock, &ts, pk));
}

bool futex_bad_word(const uint32_t *w, long *err)
{
	if ((uintptr_t)w % sizeof(*w))
		*err = -EINVAL;
	else if ((intptr_t)w < 0) /* the kernel's half */
		*err = -EFAULT;
	else
		return false;
	return true;
}

static bool is_there(const uint32_t *at)
{
	return user_word_readable(at);
}

long futex_wait(uint32_t *at, uint32_t value, uint32_t bits, struct park *pk, bool ends)
{
	struct futexword w = {at, value};
	uint64_t mark = eintr_mark();

	if (!is_there(at))
		return -EFAULT;
	if (futex_differs(&w)) /* and a fault comes here, before the lot's lock is taken */
		return -EAGAIN;
	park_on(pk, lot_key(at, KEY_OTHER), futex_differs, &w, WaitFutex, bits);
	for (;;) {
		enum eintr what;
		int err = eintr_park(pk, mark);

		if (err != -EINTR)
			return err < 0 ? err : 0;
		what = eintr_in_call(&mark);
		if (what == INTR_ENDS || (what == INTR_RESTARTS && ends))
			return -EINTR;
		/* Moved to another word's queue, it begins anew at its own, as in the kernel. */
		if (pk->at != pk->addr)
			pk->turn = 0;
	}
}

static long wait_by_op(uint32_t *at, uint32_t value, int op, const struct timespec *user,
		       uint32_t bits)
{
	int clock = (op & FUTEX_CMD_MASK) == FUTEX_WAIT ? FUTEX_RELATIVE :
		    op & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	struct park pk = park_time(WaitFutex);
	long r = futex_until(clock, user, &pk);

	if (!r && !bits)
		r = -EINVAL;
	return r ? r : futex_wait(at, value, bits, &pk, user != NULL);
}

/*
 * A waiter in the kernel read the word after it set futex_in_kernel; the waker changed the word
 * before it took the lot's lock, which is a full barrier, and reads futex_in_kernel after it.
 */
static bool also_in_kernel(void)
{
	return unlikely(load_relaxed(&futex_in_kernel));
}

long futex_wake(uint32_t *at, unsigned n, uint32_t bits)
{
	unsigned woken = lot_wake(lot_key(at, KEY_OTHER), n, bits, READY_NEXT, NULL, NULL);
	long more = 0;

	if (woken < n && also_in_kernel())
		more = direct(SYS_futex, (long)at, FUTEX_WAKE_BITSET_PRIVATE, n - woken, 0, 0, bits);
	return more > 0 ? woken + more : woken;
}

static long wake_by_op(uint32_t *at, int n, uint32_t bits)
{
	if (!bits)
		return -EINVAL;
	return futex_wake(at, n > 1 ? (unsigned)n : 1, bits); /* the kernel counts after it woke one */
}

long futex_requeue(uint32_t *from, int nwake, int nmove, uint32_t *to, const uint32_t *value)
{
	struct futexword w = {from, value ? *value : 0};
	unsigned moved = 0;
	long more = 0;
	int woken;

	if (nwake < 0 || nmove < 0)
		return -EINVAL;
	if (value && !is_there(from))
		return -EFAULT;
	if (value && futex_differs(&w))
		return -EAGAIN;
	woken = lot_requeue(lot_key(from, KEY_OTHER), lot_key(to, KEY_OTHER), (unsigned)nwake,
			    (unsigned)nmove, value ? futex_differs : NULL, NULL, &w, &moved);
	if (woken < 0)
		return woken;
	if ((woken < nwake || moved < (unsigned)nmove) && also_in_kernel())
		more = direct(SYS_futex, (long)from, FUTEX_REQUEUE_PRIVATE, nwake - woken,
			      (long)((unsigned)nmove - moved), (long)to, 0);
	return woken + (long)moved + (more > 0 ? more : 0);
}

/* The operation of FUTEX_WAKE_OP on *at: its old value.  seq_cst, as the kernel's are. */
static bool wake_op(uint32_t *at, int code, int arg, uint32_t *old)
{
	switch (code) {
	case FUTEX_OP_SET:
		*old = exchange_seqcst(at, (uint32_t)arg);
		return true;
	case FUTEX_OP_ADD:
		*old = fetch_add_seqcst(at, (uint32_t)arg);
		return true;
	case FUTEX_OP_OR:
		*old = fetch_or_seqcst(at, (uint32_t)arg);
		return true;
	case FUTEX_OP_ANDN:
		*old = fetch_and_seqcst(at, ~(uint32_t)arg);
		return true;
	case FUTEX_OP_XOR:
		*old = fetch_xor_seqcst(at, (uint32_t)arg);
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
	if (!user_word_writable(at2))
		return -EFAULT;
	if (wake_cmp(cmp, 0, 0) < 0 || !wake_op(at2, op, arg, &old))
		return -ENOSYS;
	also = wake_cmp(cmp, (int)old, cmparg);
	woken = wake_by_op(at, n, FUTEX_BITSET_MATCH_ANY);
	if (also > 0)
		woken += wake_by_op(at2, n2, FUTEX_BITSET_MATCH_ANY);
	return woken;
}

static long futex_private(const struct call *x)
{
	uint32_t *at = (uint32_t *)x->a, *at2 = (uint32_t *)x->e;
	int op = (int)x->b, n = (int)x->c, n2 = (int)x->d;
	uint32_t value = (uint32_t)x->c, value3 = (uint32_t)x->f;
	const struct timespec *ts = (const struct timespec *)x->d;
	long err;

	if (futex_bad_word(at, &err))
		return err;
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
		return wait_by_op(at, value, op, ts, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAIT_BITSET:
		return wait_by_op(at, value, op, ts, value3);
	case FUTEX_WAKE:
		return wake_by_op(at, n, FUTEX_BITSET_MATCH_ANY);
	case FUTEX_WAKE_BITSET:
		return wake_by_op(at, n, value3);
	}
	if (futex_bad_word(at2, &err))
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
	if (unlikely(futexpi_is((int)x->b)))
		return futexpi_call(x);
	return on_g() ? call_blocks(x) : call_plain(x);
}
