/*
 * futexpi: FUTEX_LOCK_PI and its relatives by number.
 *
 * The word holds the owner's id as gettid() gives it, and a bit for waiters; the kernel, which
 * knows no G's id, would say ESRCH.  So waiters park on the lot, by the word's address, and the
 * word is kept as the kernel keeps it: a thread that takes or frees the word in user space meets
 * the waiters' bit, and comes here.  A word with this bit and no owner has just been given up for a
 * waiter that is on its way; the first thread that comes takes it.
 *
 * A thread that ends and owns words that others wait for gives them up, with FUTEX_OWNER_DIED.
 *
 * No priority is inherited: the owner goes on with its own, for nothing tells when it took the word by itself,
 * and it may be on any M (inherit.c).  Words that two processes share, and
 * whose owner is in another, are the kernel's as ever, which refuses.
 */
#include "shim/sync/eintr.h"
#include "shim/sync/futex.h"

#include "shim/thread/tid.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

/* The waiters, for owners that end: each is on its waiter's stack. */
struct waits {
	uint32_t *at;
	struct listlink link;
};

static struct shimlock lock = SHIMLOCK(Futexpi);
listhead futexpi_waits;

void futexpi_fork_child(void)
{
	shimlock_fork_child(&lock);
	store_relaxed(&futexpi_waits, NULL);
}

/*
 * seq_cst with the load in futexpi_thread_ends(): an owner that ends sees this, or is seen to end
 * afterwards.
 */
static void wait_begins(struct waits *w, uint32_t *at)
{
	w->at = at;
	shimlock(&lock);
	list_put(&futexpi_waits, &w->link);
	shimunlock(&lock);
	fence_seqcst();
}

static void wait_ends(const struct waits *w)
{
	shimlock(&lock);
	list_take(&w->link);
	shimunlock(&lock);
}

static uint32_t own_tid(void)
{
	return on_g() ? weft_tls.tid : (uint32_t)direct3(SYS_gettid, 0, 0, 0);
}

/* Of this process: a thread of ours, or one that weft does not schedule. */
static bool lives(uint32_t tid)
{
	struct thread *th = thread_by_id((long)tid);

	if (th)
		return !(load_seqcst(&th->state) & (TH_ENDING | TH_EXITED));
	return (tid < G_ID_MIN && !direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), tid, 0));
}

/*
 * Takes the word if it has no owner: 0; or marks that somebody waits: -EAGAIN, and *seen is what the
 * word is now.  Else -errno.  seq_cst, as the kernel's own exchange of the word.
 */
static long take(uint32_t *at, uint32_t tid, bool wait, uint32_t *seen)
{
	uint32_t v = load_acquire(at), to;

	for (;;) {
		uint32_t owner = v & FUTEX_TID_MASK;

		if (owner == tid)
			return -EDEADLK;
		if (owner && !lives(owner)) {
			to = load_acquire(at);
			if (to == v)
				return -ESRCH;
			v = to; /* it gave the word up before it ended */
			continue;
		}
		if (owner && !wait)
			return -EAGAIN;
		to = owner ? v | FUTEX_WAITERS : v | tid;
		*seen = to;
		if (to == v)
			return -EAGAIN;
		if (cas_seqcst(at, &v, to))
			return owner ? -EAGAIN : 0;
	}
}

static long lock_word(uint32_t *at, struct park *pk)
{
	uint32_t tid = own_tid();
	struct futexword e = { .at = at };
	long r;

	park_on(pk, lot_key(at, KEY_OTHER), futex_differs, &e, WaitFutex, FUTEX_BITSET_MATCH_ANY);
	while ((r = take(at, tid, true, &e.value)) == -EAGAIN) {
		struct waits w;
		int err;

		wait_begins(&w, at);
		err = lives(e.value & FUTEX_TID_MASK) ? lot_park(pk) : -EAGAIN;
		wait_ends(&w);
		if (err == -ETIMEDOUT)
			return err;
		if (err == -EINTR)
			eintr_in_lock();
	}
	return r;
}

/* Under the lot's lock. */
struct giveup {
	uint32_t *at, tid, mark;
	bool done;
};

/* seq_cst, as the kernel's own exchange of the word. */
static int give_up(void *arg, unsigned woken, bool more)
{
	struct giveup *u = arg;
	uint32_t v = load_acquire(u->at);

	(void)more; /* the bit stays for them, and for the one that is on its way */
	while ((v & FUTEX_TID_MASK) == u->tid && !u->done)
		u->done = cas_seqcst(u->at, &v, (woken ? FUTEX_WAITERS : 0) | u->mark);
	return 0;
}

static bool unlock_word(uint32_t *at, uint32_t tid, uint32_t mark)
{
	struct giveup u = { .at = at, .tid = tid, .mark = mark };

	lot_wake(lot_key(at, KEY_OTHER), 1, 0, READY_NEXT, give_up, &u);
	return u.done;
}

void futexpi_give_up(void)
{
	uint32_t tid = own_tid();

	while (load_relaxed(&futexpi_waits)) {
		uint32_t *at = NULL;

		shimlock(&lock);
		LIST_EACH(struct waits, w, &futexpi_waits, link) {
			if ((load_acquire(w->at) & FUTEX_TID_MASK) != tid)
				continue;
			at = w->at;
			break;
		}
		shimunlock(&lock);
		if (!at)
			return;
		unlock_word(at, tid, FUTEX_OWNER_DIED);
	}
}

/* ---- waiting for one word, to own another --------------------------------------------------- */

static long wait_requeue(uint32_t *at, uint32_t value, uint32_t *to, struct park *pk)
{
	struct futexword e = { .at = at, .value = value };
	struct waits w;

	park_on(pk, lot_key(at, KEY_OTHER), futex_differs, &e, WaitFutex, FUTEX_BITSET_MATCH_ANY);
	for (;;) {
		bool moved;
		int err;

		wait_begins(&w, to);
		err = lot_park(pk);
		wait_ends(&w);
		moved = pk->at != pk->addr;
		if (err == -EINTR) {
			eintr_in_lock();
			if (moved)
				return -EAGAIN;
		} else if (err < 0) {
			return err;
		} else {
			pk->turn = 0;
			return lock_word(to, pk);
		}
	}
}

struct expects {
	struct futexword from; /* the first, as futex_differs() has it */
	uint32_t *to;
};

/* seq_cst, as the kernel's own exchange of the word. */
static void mark_waiters(void *arg, unsigned n)
{
	if (n)
		fetch_or_seqcst(((struct expects *)arg)->to, FUTEX_WAITERS);
}

/*
 * The first is woken and takes the word, if that is free; else it waits there as the others do.
 */
static long requeue(uint32_t *at, int nwake, int nmove, uint32_t *to, uint32_t value)
{
	struct expects e = { { at, value }, to };
	unsigned moved = 0;
	int woken;

	if (nwake != 1 || nmove < 0)
		return -EINVAL;
	woken = lot_requeue(lot_key(at, KEY_OTHER), lot_key(to, KEY_OTHER), 1, (unsigned)nmove, futex_differs,
			    mark_waiters, &e, &moved);
	return woken < 0 ? woken : woken + (long)moved;
}

/* ---- the calls ------------------------------------------------------------------------------- */

bool futexpi_is(int op)
{
	switch (op & FUTEX_CMD_MASK) {
	case FUTEX_LOCK_PI:
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
	case FUTEX_WAIT_REQUEUE_PI:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_LOCK_PI2:
		return true;
	}
	return false;
}

/* CMP_REQUEUE_PI and WAIT_REQUEUE_PI.  What the kernel would not look at is not looked at here. */
static long by_two_words(const struct call *x, uint32_t *at, uint32_t *to, int clock)
{
	struct park pk = park_time(WaitFutex);
	long r;

	if (futex_bad_word(to, &r))
		return r;
	if (!user_word_readable(at))
		return -EFAULT;
	if (at == to)
		return -EINVAL;
	if (((int)x->b & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE_PI)
		return user_word_readable(to)
			       ? requeue(at, (int)x->c, (int)x->d, to, (uint32_t)x->f)
			       : -EFAULT;
	r = futex_until(clock, (const struct timespec *)x->d, &pk);
	if (r)
		return r;
	if (load_acquire(at) != (uint32_t)x->c)
		return -EAGAIN;
	/* It will be the waiter's to take. */
	return user_word_writable(to) ? wait_requeue(at, (uint32_t)x->c, to, &pk) : -EFAULT;
}

static long by_op(const struct call *x)
{
	uint32_t *at = (uint32_t *)x->a, seen;
	int op = (int)x->b & FUTEX_CMD_MASK;
	int clock = x->b & FUTEX_CLOCK_REALTIME || op == FUTEX_LOCK_PI ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	const struct timespec *ts = (const struct timespec *)x->d;
	struct park pk = park_time(WaitFutex);
	long r;

	/* As the kernel, which reads the word before it looks at its address. */
	if (op == FUTEX_UNLOCK_PI && !user_word_readable(at))
		return -EFAULT;
	if (futex_bad_word(at, &r))
		return r;
	switch (op) {
	case FUTEX_UNLOCK_PI:
		return unlock_word(at, own_tid(), 0) ? 0 : -EPERM;
	case FUTEX_TRYLOCK_PI:
		return user_word_writable(at) ? take(at, own_tid(), false, &seen) : -EFAULT;
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
		r = futex_until(clock, ts, &pk);
		if (!r && !user_word_writable(at))
			r = -EFAULT;
		return r ? r : lock_word(at, &pk);
	}
	return by_two_words(x, at, (uint32_t *)x->e, clock);
}

long futexpi_call(const struct call *x)
{
	long r = by_op(x);

	/* Of another process, perhaps. */
	if (r == -ESRCH && !(x->b & FUTEX_PRIVATE_FLAG))
		r = on_g() ? call_blocks(x) : call_plain(x);
	return r;
}
