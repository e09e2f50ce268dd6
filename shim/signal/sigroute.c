/*
 * sigroute: the signal thread, which brings signals to the thread that takes them.
 *
 * A process-directed signal reaches any kernel thread that lets it in: one that runs another G than
 * the kernel would have chosen (which is main, if main lets it in), an idle M, a busy scheduler,
 * or, when every M blocks it, the signal thread below, whose mask starts as main's.  All of them
 * put it into a ring (sigring.c).  The signal thread takes it out and directs it at the G
 * that sigroute_choose() names.  When no G lets it in, the signal goes back to the process and the
 * signal thread blocks it too (sigkeepout.c), so that it stays pending as POSIX wants; a G that unblocks it
 * later gets it from the kernel.
 *
 * Must never: be waited for by a thread that it may need; call a program's handler.
 */
#include "runtime/process.h"
#include "runtime/base/moment.h"
#include "shim/signal/sigring.h"
#include "shim/time/cputimer.h"
#include "shim/thread/tid.h"

#include <string.h>

enum { SIGTHREAD_STACK = 128 * 1024 };

static _Atomic int sigthread_tid; /* 0 until it runs */
/* seq_cst with wakeups in sigroute_stop() */
static _Atomic bool sigthread_quits; /* asked to end */

int sigroute_tid(void)
{
	int tid;

	for (struct moment w = { 0 }; !(tid = load_acquire(&sigthread_tid)); moment_wait(&w))
		sigroute_start();
	return tid;
}

enum given { GIVEN, WANTED, NO_ROOM };

/*
 * No G wants the signal now; or one does again.  A G that changes its mask reads blocked
 * afterwards; the signal thread changes blocked and reads the masks afterwards.
 */
static enum given give_back(int sig, siginfo_t *si)
{
	uint64_t mask = SIGBIT(sig);

	keepout_again(mask);
	if (sigroute_choose(sig, si, NULL)) {
		sigroute_unblocked(mask);
		return WANTED;
	}
	return sigroute_requeue(sig, si) ? GIVEN : NO_ROOM;
}

/* A G lets in what was just given back: what is sent from now on is queued on it at once, and must come later. */
static bool taken_back(int sig, siginfo_t *si)
{
	struct timespec zero = { 0, 0 };
	uint64_t set = SIGBIT(sig);

	if (likely(!sigroute_choose(sig, si, NULL)) ||
	    direct4(SYS_rt_sigtimedwait, &set, si, &zero, sizeof(set)) != sig)
		return false;
	sigroute_original(si);
	return true;
}

static int direct_at(struct thread *th, int sig, const siginfo_t *si, bool shared)
{
	int row = shared ? -1 : timer_row(si);

	return row >= 0 ? thread_timer(th, row, si) : thread_signal(th, sig, si, shared);
}

/* From a timer that was deleted meanwhile, or it names a thread that has ended: as in the kernel, nobody gets it. */
static bool is_void(long named, struct thread *th, const siginfo_t *si)
{
	if (named)
		return !th || (si->si_code == SI_TIMER && timer_row(si) < 0);
	return !th && signal_names_ended(si);
}

/* False: no room, again in a moment. */
static bool route(long named, int sig, siginfo_t *si)
{
	struct thread *th = named ? thread_by_id(named) : signal_named(si);

	if (is_void(named, th, si))
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
		if (given != WANTED && !(given == GIVEN && taken_back(sig, si)))
			return given == GIVEN;
	}
}

/* What waits goes to where it belongs, first come first.  False: not all of it could. */
bool sigroute_drain(void)
{
	siginfo_t si;
	uint64_t set;
	long named;
	int sig;

	while (sigring_first(&sig, &si, &named)) {
		if (!route(named, sig, &si))
			return false;
		sigring_done();
	}
	for (set = sigring_coalesced(); set; set &= set - 1) {
		sig = __builtin_ctzll(set) + 1;
		memset(&si, 0, sizeof(si));
		si.si_signo = sig;
		si.si_code = SI_USER;
		si.si_pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);
		if (!route(0, sig, &si))
			sigring_coalesce(sig);
	}
	return true;
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
	sigring_sleep(seen, now ? &ts : NULL);
}

static void *sigthread_main(void *arg)
{
	uint64_t nextkick = 0, held_back;

	(void)arg;
	own3(SYS_prctl, PR_SET_NAME, "weft-signals", 0);
	is_sigthread = true;
	store_release(&sigthread_tid, (int)direct3(SYS_gettid, 0, 0, 0));
	keepout_begin();
	for (;;) {
		uint32_t b = sigring_seen();
		uint64_t next;
		bool all;

		keepout_apply();
		all = sigroute_drain();
		if (unlikely(load_relaxed(&sigthread_quits)))
			return NULL;
		/* Signals that are blocked because no G wants them stay blocked. */
		if (all && (held_back = sigring_held_back()))
			keepout_let_in(held_back);
		sigring_round();
		/*
		 * Not at each wake-up: the kernel queues signal 32 as often as it is sent.
		 */
		if (sigkick_wanted() && nanotime() >= nextkick) {
			nextkick = nanotime() + REKICK_NS;
			sigkick_again();
		}
		next = cputimer_look();
		/*
		 * A handler that defers here counts the futex up too, so b is old then and the wait
		 * returns.
		 */
		wait_bell(b, sigkick_wanted() || !all, next);
	}
	return NULL;
}

static bool begin(void)
{
	/*
	 * A thread that comes while another starts the signal thread need not wait: the ring holds
	 * what is deferred.
	 */
	switch (helper_make(&sigthread, sigthread_main, SIGTHREAD_STACK)) {
	case HELPER_THERE:
		return true;
	case HELPER_MADE:
		store_release(&sigthread_is_made, true);
		sigmask_set_allblocked(keepout_by_all(~SIGS_OURS)); /* before an idle M0 looks at it */
		sigmask_sigthread_runs(true, ~SIGS_OURS);
		nosigthread_disarm();
		return true;
	case HELPER_NONE:
		break;
	}
	/* A producer that found it started has armed nothing: pairs with sigring_wake(). */
	if (sigring_waiting())
		nosigthread_arm();
	return false;
}

bool sigroute_start(void)
{
	return likely(sigroute_started()) || begin();
}

static void no_sigthread(void)
{
	keepout_reset();
	helper_forget(&sigthread);
	store_release(&sigthread_is_made, false);
	store_release(&sigthread_tid, 0);
	sigring_held_back();
	sigmask_sigthread_runs(false, 0);
}

/*
 * Main is alone, and keeps out all signals until it has returned from here.  What the ring has, and what
 * is queued on main, main finds by itself then (nosigthread.c).
 */
void sigroute_stop(void)
{
	if (!sigroute_started())
		return;
	store_seqcst(&sigthread_quits, true);
	sigroute_ring();
	helper_join(&sigthread);
	store_seqcst(&sigthread_quits, false);
	keepout_nobody();
	no_sigthread();
	/* After it is noted as not started: pairs with sigring_wake(), which reads it after the slot is FULL. */
	if (sigring_waiting())
		nosigthread_arm();
	sigkick_main();
}

void sigroute_fork_child(void)
{
	sigring_fork_child();
	sigkick_fork_child();
	store_relaxed(&sigthread_quits, false);
	no_sigthread();
	nosigthread_fork_child();
}
