/*
 * sigroute: decides which thread takes a signal, and brings it there.
 *
 * A process-directed signal reaches any kernel thread that lets it in: one that runs another G than
 * the kernel would have chosen (which is main, if main lets it in), an idle M, a busy scheduler,
 * or, when every M blocks it, the signal thread below, whose mask starts as main's.  All of them
 * put it into a ring (sigroute_defer()).  The signal thread takes it out and directs it at the G
 * that sigroute_choose() names.  When no G lets it in, the signal goes back to the process and the
 * signal thread blocks it too, so that it stays pending as POSIX wants; a G that unblocks it later
 * gets it from the kernel.
 *
 * A G with something queued is made to look: parked interruptibly, by g_interrupt; running or in a
 * system call, by signal 32 to its M.  A kick that meets the G in the runtime is lost, so the
 * signal thread kicks again, each millisecond, until nothing is left undelivered (and then sleeps
 * for good).
 *
 * Signals should queue in the kernel, where senders meet a limit.  So the signal thread takes a
 * real-time signal only while it can pass it on.  Otherwise it blocks the signal (ENOUGH), and
 * while all places for queued signals are taken it waits, to keep the order.  A thread that is busy
 * in the runtime cannot wait, for it must return to where it was with the mask it had.  For such
 * threads the ring holds as many signals as the kernel allows a user (RLIMIT_SIGPENDING, by
 * default).
 *
 * Must never: be waited for by a thread that it may need; call a program's handler.
 */
#include "runtime/base/log.h"
#include "runtime/process.h"
#include "runtime/sched/policy.h"
#include "shim/fd/fdowner.h"
#include "shim/signal/sigroute.h"

#include "shim/time/cputimer.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>

/* A block is what is given back to the kernel when it was used: whole pages. */
enum { RING = 131072, BLOCK = 512, ENOUGH = 32, EMPTY = 0, FULL };

struct deferred {
	_Atomic uint32_t state; /* seq_cst with arm_state in nosigthread.c */
	int sig;
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
/* seq_cst with flushers in wake_flushers(): each side writes its own, then reads the other */
static _Atomic uint32_t rounds;    /* futex: it has looked at all there was */
/* seq_cst with rounds in wake_flushers() */
static _Atomic uint32_t flushers;  /* sleep on rounds */
/* seq_cst with the mailboxes: sigthread_main() clears this one, then looks at them in rekick() */
static _Atomic uint32_t watching;  /* 1: some G has undelivered signals */
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
static _Atomic int sigthread_started;
static _Atomic bool sigthread_made; /* its kernel thread is there, and will run */
static _Atomic int sigthread_tid; /* 0 until it runs */
/* seq_cst with wakeups in sigroute_stop() */
static _Atomic bool sigthread_quits; /* asked to end */
static uintptr_t sigthread_os;    /* for joining it */
/* the signal thread's own: signals that it blocks until it has taken what is in the ring */
static uint64_t held_back;
static __thread bool is_sigthread __attribute__((tls_model("initial-exec")));

bool sigroute_is_sigthread(void)
{
	return is_sigthread;
}

bool sigroute_started(void)
{
	return load_relaxed(&sigthread_started);
}

int sigroute_tid(void)
{
	int tid;

	while (!(tid = load_acquire(&sigthread_tid))) {
		sigroute_start();
		own3(SYS_sched_yield, 0, 0, 0);
	}
	return tid;
}

void sigroute_ring(void)
{
	fetch_add_seqcst(&wakeups, 1);
	direct3(SYS_futex, &wakeups, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

/* The signal thread is done with what came before the slot upto. */
static bool flushed(uint32_t upto)
{
	return !load_seqcst(&to_unblock) && !load_seqcst(&to_block) &&
	       (int32_t)(load_seqcst(&routed) - upto) >= 0;
}

/*
 * Waits until the signal thread has directed what was in the ring: a thread that ends, has just
 * sent a signal or lets one in must not overtake it.  On a busy machine the signal thread may have
 * to wait for a CPU, so yielding alone is not enough.  It waits for no thread; the bound is there
 * because nothing here is worth a hang.
 */
void sigroute_flush(void)
{
	struct timespec most = { 0, FLUSH_SLEEP_NS };
	uint32_t upto = load_seqcst(&head);

	for (int i = 0; i < FLUSH_YIELDS; i++) {
		if (flushed(upto))
			return;
		own3(SYS_sched_yield, 0, 0, 0);
	}
	if (!load_acquire(&sigthread_made))
		/*
		 * the caller may have interrupted the thread that makes it; a fork child may never
		 * have one
		 */
		return;
	fetch_add_seqcst(&flushers, 1); /* before the look: pairs with wake_flushers() */
	for (int i = 0; i < FLUSH_SLEEPS; i++) {
		uint32_t round = load_seqcst(&rounds);

		if (flushed(upto))
			break;
		direct4(SYS_futex, &rounds, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, round, &most);
	}
	fetch_sub_seqcst(&flushers, 1);
}

static void wake_flushers(void)
{
	fetch_add_seqcst(&rounds, 1);
	if (load_seqcst(&flushers))
		direct3(SYS_futex, &rounds, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT32_MAX);
}

static long pid(void)
{
	return direct3(SYS_getpid, 0, 0, 0);
}

static void wake_sigthread(void)
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
	wake_sigthread();
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

/* The same, and the block is there afterwards; NULL: no memory. */
static struct deferred *slot_for(uint32_t i)
{
	return slot_in(runtime_part(&ring[i % RING / BLOCK], BLOCK * sizeof(struct deferred)), i);
}

bool sigroute_defer(int sig, const siginfo_t *si)
{
	uint32_t i = load_seqcst(&head);
	struct deferred *slot;
	bool enough = is_sigthread && sig >= 34 && i - load_seqcst(&tail) >= ENOUGH;
	struct timespec transit = { 0, CHAOS_TRANSIT_NS };

	if (unlikely(weft_opt.chaos) && i % CHAOS_TRANSIT == 0)
		own3(SYS_nanosleep, &transit, NULL, 0);
	if (enough)
		held_back |= SIGBIT(sig);
	do {
		slot = i - load_seqcst(&limit) >= RING ? NULL : slot_for(i);
		if (!slot) {
			defer_full(sig);
			return enough;
		}
	} while (!cas_weak_seqcst(&head, &i, i + 1));
	/* The limit has passed this slot, so it is ours until it is FULL. */
	slot->sig = sig;
	slot->info = *si;
	store_seqcst(&slot->state, FULL);
	wake_sigthread();
	return enough;
}

/* th may still be given signals. */
static bool takes_signals(struct thread *th)
{
	return th && !(load_seqcst(&th->state) & (TH_ENDING | TH_EXITED));
}

/* As the kernel sees it: what a sigwait waits for is let in meanwhile. */
static bool wants(struct g *gp, int sig)
{
	struct thread *th = gp ? g_shim(gp)->thread : NULL;

	return takes_signals(th) && ((th->waitset | ~thread_mask(th)) & SIGBIT(sig));
}

/*
 * The thread that the kernel asks first: main, whose id is the process's; for the SIGCHLD of a
 * child's end, the thread that made the child.
 */
static struct g *asked_first(const siginfo_t *si)
{
	struct thread *th = si ? sigchild_parent(si) : NULL;

	return th ? th->g : g_main();
}

/*
 * The one choice, in the order of the kernel's complete_signal(): the thread that is asked first,
 * then the one that the kernel has chosen already (here: the thread that the signal has
 * interrupted, or NULL), then any other.
 */
struct g *sigroute_choose(int sig, const siginfo_t *si, struct g *here)
{
	struct g *gp = asked_first(si);
	uint32_t i = 0;

	if (wants(gp, sig))
		return gp;
	if (wants(here, sig))
		return here;
	while ((gp = g_next(&i)))
		if (wants(gp, sig))
			return gp;
	return NULL;
}

/*
 * The kernel gives these to the thread that caused them: a profiler's timer is for the thread that
 * computes, and a write that cannot be made is for its writer.
 */
static bool of_the_caller(int sig, const siginfo_t *si)
{
	switch (sig) {
	case SIGPROF:
	case SIGVTALRM:
	case SIGXCPU:
		return si->si_code == SI_KERNEL;
	case SIGPIPE:
	case SIGXFSZ:
		return si->si_code == SI_USER && si->si_pid == pid();
	case SIGABRT:
		/* abort() ends the process as soon as this returns, whichever kernel thread called it. */
		return si->si_code == SI_TKILL && si->si_pid == pid();
	}
	return false;
}

/*
 * The thread to which the signal was sent by id, whatever it keeps out; NULL: it was sent to the
 * process.  Of our kernel threads' ids another process knows main's alone, which is the process's.
 * Signals between our own threads do not come this way.
 */
static struct thread *named(const siginfo_t *si)
{
	if (si->si_code == SI_TKILL && si->si_pid != pid())
		return g_shim(g_main())->thread;
	return si->si_code == SI_TIMER ? timer_target(si) : fdowner_target(si);
}

/* It was sent to one thread, which has ended: as in the kernel, nobody gets it. */
static bool names_ended(const siginfo_t *si)
{
	return timer_row(si) >= 0 || fdowner_names_thread(si);
}

/*
 * In the handler, on a thread that might run the program's handler: is the signal for another
 * thread?  True: it is on its way there.  With many under way already the kernel should keep the
 * next ones, so that senders meet a limit.  But this thread lets them in, so it takes them.
 */
bool sigroute_pass_on(int sig, const siginfo_t *si)
{
	struct g *here = getg(), *gp;
	struct thread *th;

	if (weft_tls.unshared || of_the_caller(sig, si) || !sigroute_started() ||
	    (sig >= 34 && load_seqcst(&head) - load_seqcst(&tail) >= ENOUGH))
		return false;
	/* By tgkill(2) in this process, to a thread that weft does not schedule: it is that one's. */
	if (!here && si->si_code == SI_TKILL && si->si_pid == pid())
		return false;
	th = named(si);
	gp = th ? th->g : sigroute_choose(sig, si, here);
	/* A thread that weft does not schedule lets it in, and is as good as any but the first. */
	if (!gp || (!here && !th && gp != asked_first(si)))
		return false;
	/* What it keeps out waits for it: another thread was meant by the kernel, or its sigwait gets it. */
	if (gp == here && !(thread_mask(&self_thread) & SIGBIT(sig)))
		return false;
	sigroute_defer(sig, si);
	return true;
}

/* Called by the signal thread alone: it changes that thread's mask. */
static void keep_out(uint64_t set)
{
	direct4(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, 8);
	sigmask_set_allblocked(fetch_or_seqcst(&blocked, set) | set);
}

enum given { GIVEN, WANTED, NO_ROOM };

/*
 * No G wants the signal now; or one does again.  A G that changes its mask reads blocked
 * afterwards; the signal thread changes blocked and reads the masks afterwards.
 */
static enum given give_back(int sig, siginfo_t *si)
{
	uint64_t mask = SIGBIT(sig);

	keep_out(mask);
	if (sigroute_choose(sig, si, NULL)) {
		sigroute_unblocked(mask);
		return WANTED;
	}
	return sigroute_requeue(sig, si) ? GIVEN : NO_ROOM;
}

static int direct_at(struct thread *th, int sig, const siginfo_t *si, bool shared)
{
	int row = shared ? -1 : timer_row(si);

	return row >= 0 ? thread_timer(th, row, si) : thread_signal(th, sig, si, shared);
}

/* False: no room, again in a moment. */
static bool route(int sig, siginfo_t *si)
{
	struct thread *th = named(si);

	if (!th && names_ended(si))
		return true;
	for (;;) {
		struct g *gp = th ? th->g : sigroute_choose(sig, si, NULL);
		enum given given;
		int err;

		if (gp) {
			err = direct_at(g_shim(gp)->thread, sig, si, !th);
			if (err == ESRCH)
				continue; /* it has ended meanwhile */
			return err != EAGAIN;
		}
		given = give_back(sig, si);
		if (given != WANTED)
			return given == GIVEN;
	}
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

/* What waits goes to where it belongs, first come first.  False: not all of it could. */
bool sigroute_drain(void)
{
	uint64_t set;

	for (;;) {
		struct deferred *slot = slot_at(load_seqcst(&tail));
		siginfo_t si;
		int sig;

		if (!slot || load_seqcst(&slot->state) != FULL)
			break;
		sig = slot->sig;
		si = slot->info;
		if (!route(sig, &si))
			return false;
		store_release(&slot->state, EMPTY);
		fetch_add_seqcst(&tail, 1);
		fetch_add_seqcst(&routed, 1);
		if (load_seqcst(&tail) % BLOCK == 0)
			release_block();
	}
	for (set = exchange_seqcst(&coalesced, 0); set; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;
		siginfo_t si;

		memset(&si, 0, sizeof(si));
		si.si_signo = sig;
		si.si_code = SI_USER;
		si.si_pid = (pid_t)pid();
		if (!route(sig, &si))
			fetch_or_seqcst(&coalesced, SIGBIT(sig));
	}
	return true;
}

/* Signals that are blocked because no G wants them stay blocked. */
static void let_in_again(void)
{
	uint64_t set = held_back & ~load_seqcst(&blocked);

	held_back = 0;
	direct4(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, NULL, 8);
}

void sigroute_kick(struct g *gp)
{
	struct thread *th = g_shim(gp)->thread;
	int tid;

	if (g_interrupt(gp))
		return;
	/* One at a time: each is a frame on its stack, which may be small. */
	if (th && exchange_seqcst(&th->kicked, true))
		return;
	tid = g_ostid(gp);
	if (tid)
		direct3(SYS_tgkill, pid(), tid, SIGWEFT);
}

void sigroute_watch(void)
{
	if (exchange_seqcst(&watching, 1) == 0)
		wake_sigthread();
}

/* Kicks every G that has signals it lets in and has not taken. */
static bool rekick(void)
{
	bool left = false;
	struct g *gp;
	uint32_t i = 0;

	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		struct tcb *t = g_tls(gp);

		if (th && t && (load_seqcst(&g_shim(gp)->mailbox) || (th->held && th->waitset) ||
				(tcb_cancel_async(t) && tcb_cancel_pending(t)))) {
			left = true;
			store_seqcst(&th->kicked, false); /* that one came when it could not look */
			sigroute_kick(gp);
		}
	}
	return left;
}

static void apply_to_unblock(void)
{
	uint64_t set = load_seqcst(&to_unblock);

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
	wake_sigthread();
}

/* Of set, what no G lets in.  Nothing when all have ended: exit handlers run still. */
static uint64_t blocked_by_all(uint64_t set)
{
	struct g *gp = g_main();
	bool any = false;
	uint32_t i = 0;

	do {
		struct thread *th = g_shim(gp)->thread;

		if (takes_signals(th)) {
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
	keep_out(set);
	/* As in give_back(): a G that changes its mask reads blocked afterwards. */
	sigroute_unblocked(set & ~blocked_by_all(set));
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
	struct timespec moment = { 0, BLOCK_SLEEP_NS };

	for (int i = 0; i < BLOCK_TRIES && (set = blocked_by_all(set)) && !blocked_everywhere(set); i++) {
		if (!runtime_busy())
			gosched(); /* to one that ends */
		own3(SYS_nanosleep, &moment, NULL, 0);
	}
}

/*
 * For a signal with a handler the signal thread finds out that no G wants it when it gets one.  A
 * signal on which the kernel acts itself (it ends the process, or discards the signal) must not
 * even reach the signal thread.  All that this waits for comes by itself, a CPU provided; the bound
 * is there for the same reason as sigroute_flush()'s.
 */
void sigroute_keep_out(uint64_t set)
{
	set = blocked_by_all(let_in(set));
	if (likely(!set) || !sigroute_started())
		return;
	if (load_seqcst(&self_thread.state) & TH_ENDING)
		sigmask_set(getg(), sigmask_of(getg()) | set);
	fetch_or_seqcst(&to_block, set);
	wake_sigthread();
	sigroute_flush();
	await_blocked(set);
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
	set = blocked_by_all(set & action_handled());
	if (unlikely(let_in(set)))
		sigroute_keep_out(set);
	else if (set)
		await_blocked(set);
	/* Afterwards: what no kernel thread takes any more may still be about to be given back. */
	if (unlikely(load_seqcst(&head) != load_seqcst(&routed)))
		sigroute_flush();
}

/*
 * soon: there is something for which no thread wakes the signal thread.  next: nanotime() of the
 * next look, or 0.
 */
static void wait_bell(uint32_t seen, bool soon, uint64_t next)
{
	uint64_t now = soon || next ? nanotime() : 0, until = soon ? now + REKICK_NS : next;
	struct timespec ts;

	if (next && next < until)
		until = next;
	until -= until > now ? now : until;
	ts = (struct timespec){ (time_t)(until / 1000000000), (long)(until % 1000000000) };
	direct4(SYS_futex, &wakeups, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, now ? &ts : NULL);
}

static void *sigthread_main(void *arg)
{
	uint64_t mask, nextkick = 0;

	(void)arg;
	is_sigthread = true;
	mask = blocked_by_all(~SIGS_OURS);
	store_release(&sigthread_tid, (int)direct3(SYS_gettid, 0, 0, 0));
	store_seqcst(&blocked, mask);
	sigmask_set_allblocked(mask);
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	sigroute_unblocked(mask & ~blocked_by_all(mask)); /* as in give_back() */
	for (;;) {
		uint32_t b = load_seqcst(&wakeups);
		uint64_t next;
		bool all;

		apply_to_unblock();
		apply_to_block();
		all = sigroute_drain();
		if (unlikely(load_relaxed(&sigthread_quits)))
			return NULL;
		if (all && held_back)
			let_in_again();
		wake_flushers();
		/*
		 * Not at each wake-up: the kernel queues signal 32 as often as it is sent.
		 */
		if (load_seqcst(&watching) && nanotime() >= nextkick) {
			nextkick = nanotime() + REKICK_NS;
			store_seqcst(&watching, 0);
			if (rekick())
				store_seqcst(&watching, 1);
		}
		next = cputimer_look();
		/*
		 * A handler that defers here counts the futex up too, so b is old then and the wait
		 * returns.
		 */
		wait_bell(b, load_seqcst(&watching) || !all, next);
	}
	return NULL;
}

static bool begin(void)
{
	size_t size = runtime_ostack(128 * 1024);
	static void *stack;

	/*
	 * A thread that comes while another starts the signal thread need not wait: the ring holds
	 * what is deferred.
	 */
	if (exchange_acq_rel(&sigthread_started, 1))
		return true;
	if (!stack && !runtime_fault("stack of the signal thread"))
		stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		stack = NULL;
	if (stack && !thread_native(sigthread_main, NULL, stack, size, &sigthread_os)) {
		store_release(&sigthread_made, true);
		sigmask_set_allblocked(blocked_by_all(~SIGS_OURS)); /* before an idle M0 looks at it */
		sigmask_sigthread_runs(true, ~SIGS_OURS);
		nosigthread_disarm();
		return true;
	}
	store_release(&sigthread_started, 0);
	return false;
}

bool sigroute_start(void)
{
	return likely(sigroute_started()) || begin();
}

static void no_sigthread(void)
{
	store_seqcst(&to_unblock, 0);
	store_seqcst(&to_block, 0);
	sigmask_set_allblocked(0);
	store_release(&sigthread_started, 0);
	store_release(&sigthread_made, false);
	store_release(&sigthread_tid, 0);
	held_back = 0;
	sigmask_sigthread_runs(false, 0);
}

/*
 * Main is alone, and keeps out all signals until it has returned from here.  What the ring has, and what
 * is queued on main, main finds by itself then (nosigthread.c).
 */
void sigroute_stop(void)
{
	struct thread *th = g_shim(g_main())->thread;

	if (!sigroute_started())
		return;
	store_seqcst(&sigthread_quits, true);
	sigroute_ring();
	thread_native_join(sigthread_os);
	store_seqcst(&sigthread_quits, false);
	store_seqcst(&blocked, 0);
	no_sigthread();
	/* After sigthread_started is 0: pairs with wake_sigthread(), which reads it after the slot is FULL. */
	if (load_seqcst(&head) != load_seqcst(&tail) || load_seqcst(&coalesced))
		nosigthread_arm();
	if (exchange_seqcst(&watching, 0)) {
		store_seqcst(&th->kicked, false);
		sigroute_kick(g_main());
	}
}

void sigroute_fork_child(void)
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
	store_relaxed(&watching, 0);
	store_relaxed(&flushers, 0);
	store_relaxed(&sigthread_quits, false);
	no_sigthread();
	nosigthread_fork_child();
}
