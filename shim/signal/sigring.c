/*
 * sigring: signals that a handler could not bring to their thread, on their way to the signal thread.
 *
 * Producers are handlers, on any kernel thread (sigroute_defer()).  The one consumer is the signal thread, or
 * the G that stands in for it (nosigthread.c).  A signal is in the ring until the consumer is done with it:
 * a thread that must not overtake it waits in sigroute_flush().
 *
 * Signals should queue in the kernel, where senders meet a limit.  So the signal thread takes a real-time
 * signal only while it can pass it on.  Otherwise it blocks the signal (ENOUGH), and while all places for
 * queued signals are taken it waits, to keep the order.  A thread that is busy in the runtime cannot wait,
 * for it must return to where it was with the mask it had.  For such threads the ring holds as many signals
 * as the kernel allows a user (RLIMIT_SIGPENDING, by default).
 *
 * Must never: let a producer wait.
 */
#include "runtime/base/log.h"
#include "runtime/process.h"
#include "runtime/base/moment.h"
#include "shim/signal/sigring.h"
#include "shim/syscall/tablepart.h"

#include <linux/futex.h>
#include <string.h>

/* A block is what is given back to the kernel when it was used: whole pages. */
enum { RING = 131072, BLOCK = 512, ENOUGH = 32, EMPTY = 0, FULL };

struct deferred {
	_Atomic uint32_t state; /* seq_cst with arm_state in nosigthread.c */
	int sig;
	long named; /* the thread that it is for, whatever has become of its source; 0: as info says */
	siginfo_t info;
};

static void *_Atomic ring[RING / BLOCK]; /* blocks, mapped when first needed */
_Static_assert(BLOCK * sizeof(struct deferred) % 4096 == 0 && RING % BLOCK == 0,
	       "blocks are whole pages");
/* seq_cst with wakeups in sigroute_defer(), and with tail and limit, which bound it */
static _Atomic uint32_t head; /* producers */
/* seq_cst with head in sigroute_defer() */
static _Atomic uint32_t tail; /* the signal thread writes it */
/* seq_cst with head in sigroute_defer() */
static _Atomic uint32_t limit; /* tail, rounded down to a block: producers stay RING below it */
/* seq_cst with rounds: flushed() reads this one after it counted itself in flushers */
static _Atomic uint32_t routed; /* as tail, but when it is done with the slot's signal */
/* seq_cst with wakeups: added to before, taken after it was read */
static _Atomic uint64_t coalesced; /* standard signals that found the ring full */

/*
 * seq_cst with all that it announces: a producer writes that, then adds here; sigthread_main()
 * reads this first
 */
static _Atomic uint32_t wakeups;   /* futex: work for the signal thread */
/* seq_cst with flushers in sigring_round(): each side writes its own, then reads the other */
static _Atomic uint32_t rounds;    /* futex: it has looked at all there was */
/* seq_cst with rounds in sigring_round() */
static _Atomic uint32_t flushers;  /* sleep on rounds */
/* the signal thread's own: signals that it blocks until it has taken what is in the ring */
static uint64_t held_back;

/* seq_cst with head: see sigring.h */
struct helper sigthread = { .name = "stack of the signal thread" };
_Atomic bool sigthread_is_made;
__thread bool is_sigthread __attribute__((tls_model("initial-exec")));

bool sigroute_is_sigthread(void)
{
	return is_sigthread;
}

bool sigroute_started(void)
{
	return helper_started(&sigthread);
}

void sigroute_ring(void)
{
	fetch_add_seqcst(&wakeups, 1);
	direct3(SYS_futex, &wakeups, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

static struct deferred *slot_in(struct deferred *block, uint32_t i)
{
	return block ? &block[i % BLOCK] : NULL;
}

/* The slot of number i; NULL: its block was never needed. */
static struct deferred *slot_at(uint32_t i)
{
	return slot_in(load_acquire(&ring[i % RING / BLOCK]), i);
}

/* The signal thread is done with what came before the slot upto. */
static bool flushed(uint32_t upto)
{
	return !keepout_asked() &&
	       (int32_t)(load_seqcst(&routed) - upto) >= 0;
}

static bool another_round(uint32_t since)
{
	return load_seqcst(&rounds) != since;
}

/* The signal thread waits for no thread; the bound is there because nothing here is worth a hang. */
static void await_asleep(bool (*over)(uint32_t), uint32_t since, int sleeps, long ns)
{
	struct timespec most = { 0, ns };

	if (!load_acquire(&sigthread_is_made))
		/*
		 * the caller may have interrupted the thread that makes it; a fork child may never
		 * have one
		 */
		return;
	fetch_add_seqcst(&flushers, 1); /* before the look: pairs with sigring_round() */
	for (int i = 0; i < sleeps; i++) {
		uint32_t round = load_seqcst(&rounds);

		if (over(since))
			break;
		direct4(SYS_futex, &rounds, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, round, &most);
	}
	fetch_sub_seqcst(&flushers, 1);
}

/* On a busy machine the signal thread may have to wait for a CPU, so yielding alone is not enough. */
static void await_sigthread(bool (*over)(uint32_t), uint32_t since)
{
	for (struct moment w = { 0 }; w.yields < MOMENT_YIELDS; moment_wait(&w))
		if (over(since))
			return;
	await_asleep(over, since, STANDSTILL_NS / FLUSH_SLEEP_NS, FLUSH_SLEEP_NS);
}

/*
 * Waits until the signal thread has directed what was in the ring: a thread that ends, has just
 * sent a signal or lets one in must not overtake it.
 */
void sigroute_flush(void)
{
	await_sigthread(flushed, load_seqcst(&head));
}

/* The signal in slot i is the caller's, or not known yet; what was read counts if the consumer was not done then. */
static bool may_be_own(uint32_t i)
{
	struct deferred *slot = slot_at(i), copy;

	if (!slot || load_acquire(&slot->state) != FULL)
		return true; /* a producer fills it */
	memcpy(&copy, slot, sizeof(copy));
	fence_acquire(); /* what was copied comes before the look at routed */
	if ((int32_t)(load_seqcst(&routed) - i) > 0)
		return false;
	return signal_for_caller(copy.named, copy.sig, &copy.info);
}

static bool flushed_own(uint32_t upto)
{
	uint32_t i = load_seqcst(&routed);

	while ((int32_t)(upto - i) > 0 && !may_be_own(i))
		i++;
	return (int32_t)(upto - i) <= 0 && !keepout_asked();
}

/*
 * For a thread that ends, and waits long only for what is its own.  Where CPUs are scarce it would otherwise stay on
 * its stack, because of signals for others, until the signal thread has had its turn: a stack that the program may use
 * again as soon as it has waited for the thread.  But for a moment it waits for theirs, too: who has joined the
 * thread finds natively that a signal which was sent before its end has been handled.
 */
void sigroute_flush_own(void)
{
	uint32_t upto = load_seqcst(&head);

	await_sigthread(flushed_own, upto);
	if (unlikely(!flushed(upto)))
		await_asleep(flushed, upto, FLUSH_OTHERS, FLUSH_OTHERS_NS);
}

/*
 * Between the ends of two rounds lies the signal thread's sleep, a system call, on the way out of which the
 * kernel runs the handlers of all that it has for that thread.  A round that has ended since the call need
 * not have begun since: so the second is waited for.
 */
void sigroute_catch_up(void)
{
	for (int i = 0; i < 2; i++) {
		uint32_t since = load_seqcst(&rounds);

		sigroute_ring(); /* afterwards: it does not go to sleep without a round's end */
		await_sigthread(another_round, since);
	}
	sigroute_flush();
}

void sigring_round(void)
{
	fetch_add_seqcst(&rounds, 1);
	if (load_seqcst(&flushers))
		direct3(SYS_futex, &rounds, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX);
}

void sigring_wake(void)
{
	if (unlikely(!sigroute_started()))
		nosigthread_arm();
	sigroute_ring();
}

/*
 * No caller may wait for room: it may hold a lock of the runtime that the signal thread wants.  Of
 * a standard signal one is enough, as when it is pending in the kernel.  Of real-time ones the
 * newest is lost, and said to be, once.
 */
static void defer_full(int sig)
{
	static _Atomic bool said;

	if (sig < 34)
		fetch_or_seqcst(&coalesced, SIGBIT(sig));
	else if (!exchange_relaxed(&said, true))
		weft_say("signal %d: %d signals wait already (this one is lost, and more may be)", sig, RING);
	sigring_wake();
}

/* The same, and the block is there afterwards; NULL: no memory. */
static struct deferred *slot_for(uint32_t i)
{
	return slot_in(tablepart(&ring[i % RING / BLOCK], BLOCK * sizeof(struct deferred)), i);
}

bool sigroute_defer(int sig, const siginfo_t *si)
{
	return sigroute_defer_at(0, sig, si);
}

bool sigroute_defer_at(long named, int sig, const siginfo_t *si)
{
	uint32_t i = load_seqcst(&head);
	struct deferred *slot;
	bool enough = sigroute_is_sigthread() && sig >= 34 && i - load_seqcst(&tail) >= ENOUGH;
	struct timespec transit = { 0, CHAOS_TRANSIT_NS };

	if (unlikely(weft_opt.chaos) && i % CHAOS_PART == 0)
		own3(SYS_nanosleep, &transit, NULL, 0);
	if (enough)
		held_back |= SIGBIT(sig);
	do {
		/* Signed: others may have taken i meanwhile, and the limit have passed it.  Then the exchange fails. */
		slot = (int32_t)(i - load_seqcst(&limit)) >= RING ? NULL : slot_for(i);
		if (!slot) {
			defer_full(sig);
			return enough;
		}
	} while (!cas_weak_seqcst(&head, &i, i + 1));
	/* The limit has passed this slot, so it is ours until it is FULL. */
	slot->sig = sig;
	slot->named = named;
	slot->info = *si;
	store_seqcst(&slot->state, FULL);
	sigring_wake();
	return enough;
}

/*
 * The block before tail is read: its memory goes back (and reads as EMPTY, which it is), then
 * others may have it.
 */
static void release_block(void)
{
	uint32_t first = load_seqcst(&limit);

	own3(SYS_madvise, slot_at(first), BLOCK * sizeof(struct deferred), MADV_DONTNEED);
	store_seqcst(&limit, first + BLOCK);
}

bool sigring_first(int *sig, siginfo_t *si, long *named)
{
	struct deferred *slot = slot_at(load_seqcst(&tail));

	if (!slot || load_seqcst(&slot->state) != FULL)
		return false;
	*sig = slot->sig;
	*named = slot->named;
	*si = slot->info;
	return true;
}

void sigring_done(void)
{
	store_release(&slot_at(load_seqcst(&tail))->state, EMPTY);
	fetch_add_seqcst(&tail, 1);
	fetch_add_seqcst(&routed, 1);
	if (load_seqcst(&tail) % BLOCK == 0)
		release_block();
}

uint64_t sigring_coalesced(void)
{
	return exchange_seqcst(&coalesced, 0);
}

void sigring_coalesce(int sig)
{
	fetch_or_seqcst(&coalesced, SIGBIT(sig));
}

bool sigring_full(void)
{
	return (int32_t)(load_seqcst(&head) - load_seqcst(&limit)) >= RING - BLOCK;
}

bool sigring_empty(void)
{
	return load_seqcst(&head) == load_seqcst(&routed);
}

bool sigring_waiting(void)
{
	return load_seqcst(&head) != load_seqcst(&tail) || load_seqcst(&coalesced);
}

uint64_t sigring_held_back(void)
{
	return exchange_relaxed(&held_back, 0); /* in one step: a handler here adds to it */
}

uint32_t sigring_seen(void)
{
	return load_seqcst(&wakeups);
}

void sigring_sleep(uint32_t seen, const struct timespec *most)
{
	direct4(SYS_futex, &wakeups, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, most);
}

void sigring_fork_child(void)
{
	/* A slot that a thread of the parent was about to fill is before head too. */
	for (uint32_t i = load_relaxed(&tail), end = load_relaxed(&head); i != end; i++) {
		struct deferred *slot = slot_at(i);

		if (slot)
			store_relaxed(&slot->state, EMPTY);
	}
	store_relaxed(&head, 0);
	store_relaxed(&tail, 0);
	store_relaxed(&limit, 0);
	store_relaxed(&routed, 0);
	store_relaxed(&coalesced, 0);
	store_relaxed(&flushers, 0);
	held_back = 0;
}
