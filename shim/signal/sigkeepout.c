/*
 * sigkeepout: what all threads keep out the kernel threads keep out, too, so that it stays pending.
 *
 * The signal thread has a mask like that of a thread: what no G lets in.  It finds out by itself when it gets
 * a signal that no G wants; of others, on which the kernel would act, it is told (to_block), as of what
 * some G lets in again (to_unblock).  blocked is what it keeps out now.
 *
 * Must never: let the signal thread wait for a G.
 */
#include "runtime/process.h"
#include "shim/signal/sigring.h"

/* signals that the signal thread blocks because every G does; written by it alone */
/*
 * seq_cst with to_unblock and to_block: asked in those, then read here; the signal thread the other
 * way
 */
static _Atomic uint64_t blocked;
/* of blocked, signals that some G lets in again: a request to the signal thread */
/* seq_cst with blocked in sigroute_unblocked(), and with wakeups */
static _Atomic uint64_t to_unblock;
/* signals that every G keeps out now: a request to the signal thread to do so too */
/* seq_cst with blocked in sigroute_blocked(), and with wakeups */
static _Atomic uint64_t to_block;

/* Called by the signal thread alone: it changes that thread's mask. */
void keepout_add(uint64_t set)
{
	direct4(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	sigmask_set_allblocked(fetch_or_seqcst(&blocked, set) | set);
}

/*
 * What nobody lets in any more stays kept out: unblocked, it would be in this thread's hands, on its way back
 * to the kernel, when a thread lets it in and is sent the next one.  The wish goes first, then the masks are
 * read: a G lets a signal in, then wishes.
 */
static uint64_t wished(void)
{
	uint64_t set = load_seqcst(&to_unblock), kept;

	if (likely(!set))
		return 0;
	kept = keepout_by_all(set);
	if (unlikely(kept)) {
		fetch_and_seqcst(&to_unblock, ~kept);
		set &= ~keepout_by_all(kept);
	}
	return set;
}

void keepout_again(uint64_t set)
{
	keepout_add(set);
	fetch_and_seqcst(&to_unblock, ~set);
}

static void apply_to_unblock(void)
{
	uint64_t set = wished();

	if (!set)
		return;
	sigmask_set_allblocked(fetch_and_seqcst(&blocked, ~set) & ~set);
	direct4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, 8);
	fetch_and_seqcst(&to_unblock, ~set); /* what was pending is in the ring: see sigroute_flush() */
}

void sigroute_unblocked(uint64_t set)
{
	set &= load_seqcst(&blocked);
	if (!set)
		return;
	fetch_or_seqcst(&to_unblock, set);
	sigring_wake();
}

/* Of set, what no G lets in.  Nothing when all have ended: exit handlers run still. */
uint64_t keepout_by_all(uint64_t set)
{
	struct g *gp = g_main();
	bool any = false;
	uint32_t i = 0;

	do {
		struct thread *th = g_shim(gp)->thread;

		if (thread_takes_signals(th)) {
			set &= thread_mask(th);
			any = true;
		}
	} while (set && (gp = g_next(&i)));
	return any ? set : 0;
}

static void apply_to_block(void)
{
	uint64_t set = load_seqcst(&to_block);

	if (!set)
		return;
	keepout_add(set);
	/* As in give_back(): a G that changes its mask reads blocked afterwards. */
	sigroute_unblocked(set & ~keepout_by_all(set));
	fetch_and_seqcst(&to_block, ~set);
}

/*
 * An ending thread no longer counts, but it may be off its CPU, and let a signal in when it runs
 * again.
 */
static bool blocked_by_the_ending(uint64_t set)
{
	struct g *gp;
	uint32_t i = 0;

	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		if (th && th != &self_thread &&
		    (load_seqcst(&th->state) & (TH_ENDING | TH_EXITED)) == TH_ENDING &&
		    (set & ~thread_mask(th)))
			return false;
	}
	return true;
}

/* In this order: an M may be between the end of a G and the next. */
static bool blocked_everywhere(uint64_t set)
{
	return !(set & ~load_seqcst(&blocked)) && blocked_by_the_ending(set) && sigmask_all_ms_block(set);
}

bool sigroute_kept_out(uint64_t set)
{
	/* Where a wish is left of a thread that let it in before, the signal thread may be about to take it. */
	if (keepout_by_all(set) != set || !blocked_everywhere(set) || load_seqcst(&to_unblock) & set)
		return false;
	if (unlikely(!sigring_empty()))
		sigroute_flush();
	return true;
}

/* Of set, what the signal thread lets in, or is about to. */
static uint64_t let_in(uint64_t set)
{
	/* In this order: what is let in again as asked is blocked no more, then asked no more. */
	uint64_t asked = load_seqcst(&to_unblock);

	return set & ~((load_seqcst(&blocked) & ~asked) | SIGS_NEVER);
}

/* Set, which all keep out, no kernel thread lets in any more. */
static void await_blocked(uint64_t set)
{
	struct moment w = { 0 };

	while (!moment_over(&w, STANDSTILL_NS) && (set = keepout_by_all(set)) && !blocked_everywhere(set))
		thread_turn(&w); /* to one that ends */
}

/*
 * For a signal with a handler the signal thread finds out that no G wants it when it gets one.  A
 * signal on which the kernel acts itself (it ends the process, or discards the signal) must not
 * even reach the signal thread.  All that this waits for comes by itself, a CPU provided; the bound
 * is there for the same reason as sigroute_flush()'s.
 */
void sigroute_keep_out(uint64_t set)
{
	set = keepout_by_all(let_in(set));
	if (likely(!set) || !sigroute_started())
		return;
	if (load_seqcst(&self_thread.state) & TH_ENDING)
		sigmask_set(getg(), sigmask_of(getg()) | set, false);
	fetch_or_seqcst(&to_block, set);
	sigring_wake();
	sigroute_flush();
	await_blocked(set);
}

uint64_t sigroute_waits(uint64_t set)
{
	return set & load_seqcst(&blocked) & action_handled();
}

void sigroute_blocked(uint64_t set)
{
	sigroute_keep_out(set & ~sigmask_finds_out());
}

/*
 * A signal with a handler that all keep out, and that a kernel thread has taken, is on its way back to
 * the kernel, and shows nowhere.  Once all kernel threads keep it out, what they had taken before is in
 * the ring, and is given back when that is routed.
 */
void sigroute_settle(uint64_t set)
{
	if (!sigroute_started())
		return;
	set = keepout_by_all(set & action_handled());
	if (unlikely(let_in(set)))
		sigroute_keep_out(set);
	else if (set)
		await_blocked(set);
	/* Afterwards: what no kernel thread takes any more may still be about to be given back. */
	if (unlikely(!sigring_empty()))
		sigroute_flush();
}

bool keepout_asked(void)
{
	return load_seqcst(&to_unblock) || load_seqcst(&to_block);
}

void keepout_begin(void)
{
	uint64_t mask = keepout_by_all(~SIGS_OURS);

	store_seqcst(&blocked, mask);
	sigmask_set_allblocked(mask);
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	sigroute_unblocked(mask & ~keepout_by_all(mask)); /* a G that changes its mask reads blocked afterwards */
}

void keepout_apply(void)
{
	apply_to_unblock();
	apply_to_block();
}

void keepout_let_in(uint64_t set)
{
	set &= ~load_seqcst(&blocked);
	direct4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, 8);
}

void keepout_nobody(void)
{
	store_seqcst(&blocked, 0);
}

void keepout_reset(void)
{
	store_seqcst(&to_unblock, 0);
	store_seqcst(&to_block, 0);
	sigmask_set_allblocked(0);
}
