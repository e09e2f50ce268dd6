/*
 * signal: signals directed at a thread, and taking them.
 *
 * A signal directed at another G is queued on it (taken in the kernel's order, standard signals at most once) and the G is
 * made to look.  It runs the handler itself, on its own stack, at its next look: the mask,
 * SA_NODEFER, SA_RESETHAND and the default actions are applied here as the kernel would.
 *
 * Must never: run a handler while runtime_busy().
 */
#include "shim/signal/waitmask.h"
#include "shim/signal/handlerframe.h"
#include "shim/thread/tid.h"
#include "shim/signal/sigforget.h"
#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

/*
 * From memory of our own: a sender may be a handler.  More undelivered signals than NODES is EAGAIN,
 * as RLIMIT_SIGPENDING.  They are mapped by the PART, as more are used at once.
 */
enum { NODES = 8192, PART = 256 };

static void *_Atomic nodes[NODES / PART];
static _Atomic uint32_t nodes_there; /* mapped: whole parts, from the first on */
static _Atomic uint32_t rover;
/* at least so many: a sender that finds them all taken need not look at each */
/* seq_cst with the mailboxes: a node is counted here before it is queued there; sigforget() reads this first */
static _Atomic int32_t nodes_used;

static struct signode *node_at(uint32_t i)
{
	struct signode *part = load_acquire(&nodes[i / PART]);

	return &part[i % PART];
}

/* There are want, or as many as there is memory for: how many. */
static uint32_t nodes_for(uint32_t want)
{
	uint32_t there;

	while ((there = load_acquire(&nodes_there)) < want &&
	       runtime_part(&nodes[there / PART], PART * sizeof(struct signode)))
		cas_acq_rel(&nodes_there, &there, there + PART);
	return there;
}

static struct signode *node_get(void)
{
	uint32_t mine = (uint32_t)fetch_add_seqcst(&nodes_used, 1) + 1;

	if (mine > NODES || nodes_for(mine) < mine) {
		fetch_sub_seqcst(&nodes_used, 1);
		return NULL;
	}
	/*
	 * One of the nodes that are mapped now is free, or about to be.  A caller that is overtaken
	 * while it searches goes round again.
	 */
	for (;;) {
		struct signode *n = node_at(fetch_add_relaxed(&rover, 1) % load_acquire(&nodes_there));
		uint32_t unused = 0;

		if (!load_relaxed(&n->used) &&
		    cas_acq_rel(&n->used, &unused, 1))
			return n;
	}
}

static void node_put(struct signode *n)
{
	store_release(&n->used, 0);
	fetch_sub_seqcst(&nodes_used, 1);
}

/* It was not taken. */
static void node_drop(struct signode *n)
{
	overrun_dropped(n->of);
	node_put(n);
}

bool signals_queued(void)
{
	return load_seqcst(&nodes_used) != 0;
}

/* ---- pending ---------------------------------------------------------------------------------- */

/*
 * A set of the calling kernel thread's status, or unknown: what is pending for it alone, or for the
 * process alone, the kernel shows nowhere else.
 */
uid_t own_uid(void)
{
	static _Atomic long last = -1; /* for when a filter forbids the call */
	long r = own3(SYS_getuid, 0, 0, 0);

	if (r >= 0)
		store_relaxed(&last, r);
	else
		r = load_relaxed(&last);
	return (uid_t)(r >= 0 ? r : (long)__getauxval(AT_UID));
}

static uint64_t status_set(const char *field, uint64_t unknown)
{
	char text[4096], *at;
	uint64_t set = 0;
	long fd = own4(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return unknown;
	n = direct3(SYS_read, fd, text, sizeof(text) - 1);
	direct3(SYS_close, fd, 0, 0);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, field);
	if (!at)
		return unknown;
	for (at += strlen(field); (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
		set = set << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	return set;
}

/*
 * What waits in the kernel for the process is every thread's.  What waits there for a kernel thread
 * is main's, whose id names M0, whatever G runs on M0 now.
 */
EXPORT int sigpending(sigset_t *set)
{
	uint64_t kept = 0;
	int r;

	if (on_g()) {
		/* In this order: it goes from a thread to the ring, and from there to the kernel. */
		kept = signals_kept(sigmask_of(getg()));
		sigroute_settle(sigmask_of(getg()));
	}
	r = real.sigpending(set);
	if (r || !on_g())
		return r;
	if (unlikely(sigs_of(set)) && getg() != g_main())
		*(uint64_t *)(void *)set &= status_set("ShdPnd:\t", ~0ULL);
	*(uint64_t *)(void *)set |= signals_pending() | kept;
	return 0;
}
TWIN(sigpending);

/* ---- sending --------------------------------------------------------------------------------- */

/*
 * A standard signal is pending once: for the thread, and once more if it was sent to the process.
 * It is from before it is queued until it is taken, whichever list it is in.
 */
static bool first_of(struct thread *th, int sig, bool shared)
{
	return sig >= 34 || !(fetch_or_acq_rel(&th->pending[shared], SIGBIT(sig)) & SIGBIT(sig));
}

/* One is off its list; there is another only if a timer sent one of them. */
void signode_gone(struct thread *th, int sig, bool shared)
{
	if (sig < 34 && !sigpending_has(th->held, sig, shared))
		fetch_and_acq_rel(&th->pending[shared], ~SIGBIT(sig));
}

static bool ignored(int sig)
{
	struct sigaction sa;

	return real.sigaction(sig, NULL, &sa) == 0 && action_ignores(sig, &sa);
}

/*
 * A list that its thread will not take: signals that were sent to the process go to any thread that
 * lets them in.
 */
void signode_abandon(struct signode *n)
{
	while (n) {
		struct signode *next = n->next;
		struct signode was = *n;
		struct g *gp;

		node_drop(n);
		if (was.shared && !sigforget_stale(&was)) {
			gp = sigroute_choose(was.sig, &was.info, NULL);
			if ((!gp || thread_signal(g_shim(gp)->thread, was.sig, &was.info, true)) &&
			    !sigroute_requeue(was.sig, &was.info))
				sigroute_defer(was.sig, &was.info);
		}
		n = next;
	}
}

/*
 * TH_ENDING is set before the last look at the mailbox.  A sender that pushed too late sees it, and
 * takes the list back.
 */
void signals_end(void)
{
	struct thread *th = &self_thread;
	struct signode *n;

	sigroute_flush();
	fetch_or_seqcst(&th->state, TH_ENDING);
	signals_deliver();
	sigroute_blocked(~sigmask_of(getg()));
	n = th->held;
	th->held = NULL;
	signode_abandon(n);
}

/*
 * A signalfd is read in the kernel, which knows nothing of what is held here for one thread.  So a
 * signal that some signalfd is for, and that no thread lets in, waits in the kernel, for the
 * process.  (Its si_code is then that of kill(); and should another thread let it in first, that
 * one has it.)
 */
static _Atomic uint64_t described;

static bool for_descriptor(struct thread *th, int sig)
{
	return unlikely(load_acquire(&described) & SIGBIT(sig)) && (thread_mask(th) & SIGBIT(sig)) &&
	       !(th->waitset & SIGBIT(sig)) && !sigroute_choose(sig, NULL, NULL);
}

static bool to_descriptor(int sig, const siginfo_t *info)
{
	pid_t pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);

	if (info && info->si_code < 0 && info->si_code != SI_TKILL)
		return !direct3(SYS_rt_sigqueueinfo, pid, sig, info);
	return !direct3(SYS_kill, pid, sig, 0);
}

void signals_described(uint64_t set)
{
	siginfo_t info;

	fetch_or_acq_rel(&described, set);
	sigmask_counted(set);
	if (!on_g())
		return;
	/*
	 * Also what was sent to the caller before: all signals of a number, or those up to the
	 * first that stays with it.
	 */
	for (int sig = 1; sig <= NSIG_; sig++)
		while ((set & SIGBIT(sig)) && for_descriptor(&self_thread, sig) &&
		       signals_take(SIGBIT(sig), &info) > 0)
			if (!to_descriptor(sig, &info)) {
				thread_kill(&self_thread, sig, &info);
				break;
			}
}

int thread_kill(struct thread *th, int sig, const siginfo_t *info)
{
	return thread_signal(th, sig, info, false);
}

/* To a thread whose G was gp.  False: nothing is to be queued, and *err is the answer. */
static bool to_queue(struct thread *th, const struct g *gp, int sig, const siginfo_t *info, bool shared,
		     int *err)
{
	*err = 0;
	if (sig < 0 || sig > NSIG_ || sig == 32 || sig == 33) {
		*err = EINVAL;
		return false;
	}
	/* As glibc since 2.34: a thread that has ended, or is ending, ignores it. */
	if (sig == 0 || !gp || (load_seqcst(&th->state) & TH_EXITED)) {
		*err = shared ? ESRCH : 0;
		return false;
	}
	/* These act on the process whatever its threads do; and it is not stopped, for the caller runs. */
	if (sig == SIGKILL || sig == SIGSTOP) {
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), direct3(SYS_gettid, 0, 0, 0), sig);
		return false;
	}
	sigforget_opposite(sig);
	/* As the kernel: what is ignored and not blocked is not even queued. */
	if (!(thread_mask(th) & SIGBIT(sig)) && !(th->waitset & SIGBIT(sig)) && ignored(sig))
		return false;
	return !(for_descriptor(th, sig) && to_descriptor(sig, info));
}

/* After first_of(). */
static int enqueue(struct thread *th, struct g *gp, int sig, const siginfo_t *info, bool shared,
		   struct overrun of)
{
	struct signode *n = node_get();
	void *first;

	if (!n) {
		if (sig < 34)
			fetch_and_acq_rel(&th->pending[shared], ~SIGBIT(sig));
		overrun_dropped(of);
		return EAGAIN;
	}
	n->sig = sig;
	n->shared = shared;
	n->of = of;
	n->life = g_id(gp);
	n->round = sigforget_round(sig); /* after first_of(): see sigforget.c */
	if (info) {
		n->info = *info;
	} else {
		memset(&n->info, 0, sizeof(n->info));
		n->info.si_signo = sig;
		n->info.si_code = SI_TKILL;
		n->info.si_pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);
		n->info.si_uid = own_uid();
	}
	first = load_seqcst(&g_shim(gp)->mailbox);
	do
		n->next = first;
	while (!cas_weak_seqcst(&g_shim(gp)->mailbox, &first, n));
	if (unlikely((load_seqcst(&th->state) & (TH_ENDING | TH_EXITED)) ||
		     load_relaxed(&th->g) != gp) && th != &self_thread) {
		signode_abandon(exchange_seqcst(&g_shim(gp)->mailbox, NULL));
		return 0;
	}
	store_seqcst(&th->look, true);
	if (th == &self_thread && on_g() && !signals_busy()) {
		signals_deliver();
		return 0;
	}
	if (!shared && (thread_mask(th) & SIGBIT(sig)) && !(th->waitset & SIGBIT(sig)))
		return 0; /* masked: it will look when it unblocks */
	sigroute_kick(gp);
	if (load_seqcst(&g_shim(gp)->mailbox))
		sigroute_watch();
	return 0;
}

int thread_signal(struct thread *th, int sig, const siginfo_t *info, bool shared)
{
	static const struct overrun no_timer = { -1, 0 };
	struct g *gp = th ? load_relaxed(&th->g) : NULL;
	int err;

	if (!to_queue(th, gp, sig, info, shared, &err) || !first_of(th, sig, shared))
		return err;
	return enqueue(th, gp, sig, info, shared, no_timer);
}

int thread_timer(struct thread *th, int slot, const siginfo_t *info)
{
	struct g *gp = load_relaxed(&th->g);
	int sig = info->si_signo, err;
	struct overrun of;

	if (!to_queue(th, gp, sig, info, false, &err) || !overrun_begins(slot, info->si_overrun, &of))
		return err;
	first_of(th, sig, false); /* a timer's own is queued beside another that waits: as the kernel */
	return enqueue(th, gp, sig, info, false, of);
}

/*
 * A signal to one's own process is queued at once on a thread that lets it in: as natively, that
 * thread has it before it does anything else, and it is not lost to threads that end meanwhile.
 * What the kernel must act on goes to the kernel.  True: done, *err is 0 or an errno value.
 */
static bool to_self(pid_t pid, int sig, const siginfo_t *si, int *err)
{
	struct g *gp;

	if (!on_g() || sig < 1 || sig > NSIG_ || runtime_busy() ||
	    pid != (pid_t)direct3(SYS_getpid, 0, 0, 0) || !(action_handled() & SIGBIT(sig)))
		return false;
	gp = sigroute_choose(sig, si, getg());
	*err = gp ? thread_signal(g_shim(gp)->thread, sig, si, true) : ESRCH;
	if (*err != ESRCH)
		return true;
	if (!sigroute_started())
		return false; /* one kernel thread, which keeps it out as its G does */
	/* All keep it out, perhaps for a handler's time only: the signal thread waits for that. */
	*err = 0;
	sigroute_defer(sig, si);
	sigroute_flush();
	return true;
}

EXPORT int kill(pid_t pid, int sig)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_USER };
	int err;

	si.si_pid = pid = tid_process(pid);
	si.si_uid = own_uid();
	if (!to_self(pid, sig, &si, &err))
		return real.kill(pid, sig);
	return err ? (errno = err, -1) : 0;
}
TWIN(kill);

EXPORT int sigqueue(pid_t pid, int sig, const union sigval value)
{
	siginfo_t si = { .si_signo = sig, .si_code = SI_QUEUE };
	int err;

	si.si_pid = pid = tid_process(pid);
	si.si_uid = own_uid();
	si.si_value = value;
	if (!to_self(pid, sig, &si, &err))
		return real.sigqueue(pid, sig, value);
	return err ? (errno = err, -1) : 0;
}

/*
 * Not the kernel's raise(): a signal that the mask keeps out would be pending on the M, and
 * delivered to the G that runs there by then.
 */
EXPORT int raise(int sig)
{
	int err;

	if (!on_g() || sig < 1 || sig > NSIG_)
		return real.raise(sig);
	err = thread_kill(&self_thread, sig, NULL);
	return err ? (errno = err, -1) : 0;
}
LINKER_NAME(raise, gsignal);

EXPORT int pthread_kill(pthread_t t, int sig)
{
	if (!weft_on || !g_of(t))
		return real.pthread_kill(t, sig);
	return thread_kill(thread_of(t), sig, NULL);
}

EXPORT int pthread_sigqueue(pthread_t t, int sig, const union sigval value)
{
	siginfo_t si;

	if (!weft_on || !g_of(t))
		return real.pthread_sigqueue(t, sig, value);
	if (has_ended(t))
		return ESRCH; /* in libc so, and another answer than pthread_kill()'s */
	memset(&si, 0, sizeof(si));
	si.si_signo = sig;
	si.si_code = SI_QUEUE;
	si.si_pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);
	si.si_uid = own_uid();
	si.si_value = value;
	return thread_kill(thread_of(t), sig, &si);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* What was held before signals were last forgotten is looked through once. */
static void forget(struct thread *th)
{
	uint32_t now = sigforget_count();
	struct signode *n = th->held;

	if (likely(th->forgot == now))
		return;
	th->forgot = now;
	th->held = NULL;
	while (n) {
		struct signode *next = n->next;

		if (sigforget_stale(n))
			node_drop(n);
		else
			sigpending_put(&th->held, n);
		n = next;
	}
}

/*
 * Moves what arrived to held, oldest first.  Between this and sigpending_take() no handler may come:
 * taking.
 */
void signode_collect(struct thread *th)
{
	struct signode *n, *fifo = NULL;

	forget(th);
	n = exchange_seqcst(mailbox(th), NULL);

	while (n) {
		struct signode *next = n->next;

		if ((n->shared || n->life == g_id(th->g)) && !sigforget_stale(n)) {
			n->next = fifo;
			fifo = n;
		} else {
			node_drop(n); /* forgotten, or for the thread that was here before */
		}
		n = next;
	}
	while (fifo) {
		n = fifo;
		fifo = n->next;
		sigpending_put(&th->held, n);
	}
}

/*
 * As the kernel delivers: over uc, the handler adding to the mask that let the signal in: uc's,
 * unless a call has its own.  The mask stays as the handler left it.  Until the mask keeps it out,
 * taking stays set: else the next of the same number, by a signal 32 that comes now, would be
 * handled before it.
 */
static void act(int sig, siginfo_t *si, ucontext_t *uc, uint64_t let)
{
	struct sigaction sa;
	uint64_t during;
	struct thread *th = &self_thread;
	bool has_handler = action_handled() & SIGBIT(sig);

	if (has_handler) {
		action_get(sig, &sa);
		has_handler = action_claim(sig, &sa);
	}
	if (!has_handler) {
		taking_ends(~UINT64_C(0));
		if (!ignored(sig)) /* the kernel's own default action: terminate, stop, dump core */
			direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0),
				direct3(SYS_gettid, 0, 0, 0), sig);
		return;
	}
	during = let | sigs_of(&sa.sa_mask);
	if (!(sa.sa_flags & SA_NODEFER))
		during |= SIGBIT(sig);
	th->acting_on = (uint8_t)sig;
	th->leaving = false; /* from here on others may come on top, as the mask says */
	sigmask_set(getg(), during & ~SIGS_NEVER);
	th->acting_on = 0;
	taking_ends(~during);
	sigroute_mask_closed(during & ~let);
	frame_run(sig, si, uc, &sa);
	th->leaving = true;
	th->sigdone++;
	th->sigrestart = (sa.sa_flags & SA_RESTART) != 0;
}

/* Of how many expirations; false: the timer has been set anew since forget(). */
static bool timer_tells(const struct signode *n, siginfo_t *si)
{
	int more = overrun_taken(n->of);

	if (more >= 0 && si)
		si->si_overrun = more;
	return more >= 0;
}

/*
 * The next signal of set that is queued on the calling G, out of its node, and taking is still set;
 * 0: none.
 */
static int take_signal(uint64_t set, siginfo_t *si)
{
	struct thread *th = &self_thread;
	struct signode *n;
	int sig = 0;

	th->taking = true;
	fence_compiler();
	signode_collect(th);
	while (!sig && (n = sigpending_take(&th->held, set))) {
		sig = n->sig;
		if (si)
			*si = n->info;
		if (unlikely(n->of.slot >= 0) && !timer_tells(n, si))
			sig = 0;
		signode_gone(th, n->sig, n->shared);
		node_put(n);
	}
	fence_compiler();
	if (!sig)
		taking_ends(~UINT64_C(0));
	return sig;
}

int signals_take(uint64_t set, siginfo_t *si)
{
	int sig = take_signal(set, si);

	if (sig)
		taking_ends(~UINT64_C(0));
	return sig;
}

/* What is queued on the calling G, as a set. */
static uint64_t queued(struct thread *th)
{
	uint64_t set;

	th->taking = true;
	fence_compiler();
	signode_collect(th);
	set = sigpending_set(th->held);
	fence_compiler();
	taking_ends(~UINT64_C(0));
	return set;
}

/* The next of set, over the frame, with what let it in; 0: there is none. */
static int handle_next(struct delivery *d, uint64_t set, uint64_t let)
{
	struct thread *th = &self_thread;
	int sig = take_signal(set, &d->f->si);
	uint64_t done = th->sigdone;

	if (!sig)
		return 0;
	th->sigtaken++;
	act(sig, &d->f->si, (ucontext_t *)&d->f->uc, let);
	if (th->sigdone == done)
		return sig; /* no handler */
	if (!d->any)
		d->interrupts = !th->sigrestart;
	d->any = true;
	if (d->f->uc.mask != d->kernel)
		d->kernel = d->noted = d->f->uc.mask; /* the handler changed it */
	return sig;
}

/*
 * Two masks: this may have come between a change of the kernel's mask and its note, or when an
 * outer handler's return had noted what its sigreturn has yet to make true.  What either lets in is
 * about to be let in, and no other code will look for it.  From the last handler's end to sigreturn
 * no other may come on top of where that one ran (leaving): the stack is given back first, as by
 * the kernel.
 */
void signals_rest(struct delivery *d)
{
	struct thread *th = &self_thread;

	th->leaving = true;
	for (;;) {
		while (handle_next(d, ~(d->kernel & d->noted), d->f->uc.mask))
			;
		sigmask_note(d->noted & ~SIGS_NEVER);
		/* seq_cst with the mailbox in thread_signal(): it queues, then looks at the mask. */
		fence_seqcst();
		if (likely(!load_relaxed(mailbox(th))))
			break;
	}
	sigroute_unblocked(~d->noted);
	sigroute_mask_closed(d->noted & ~d->was);
}

int signals_next(void)
{
	struct thread *th = &self_thread;
	uint64_t out;

	if (likely(!load_relaxed(mailbox(th)) && !th->held))
		return 0;
	out = thread_mask(th) & sigmask_of(th->g);
	if (unlikely(load_relaxed(&th->pending[1]) & out))
		signals_hand_on(out & ~REALTIME); /* chosen for it before its mask changed */
	return queued(th) & ~out ? sigpending_first(th->held, ~out) : 0;
}

bool signals_over(struct sigframe *f)
{
	struct thread *th = &self_thread;
	uint64_t own = waitmask_own();
	struct delivery d = { f, f->uc.mask, own, false, false, own };
	struct waitmask_pause outer;
	bool again;

	if (unlikely(th->joined)) /* what a handler finds in its context, and leaves there */
		d.kernel = f->uc.mask = own;
	do {
		uint64_t mask = thread_mask(th), set;

		outer = waitmask_pause();
		/*
		 * A call's mask lets in what waits now, each number once; when the first handler returns,
		 * the G's own is back.
		 */
		if (outer.region && !outer.stop) {
			set = queued(th) & ~mask;
			for (int sig; (sig = handle_next(&d, set, mask));)
				set &= ~SIGBIT(sig);
		}
		if (!outer.region || d.any || outer.stop)
			signals_rest(&d);
		waitmask_resume(outer, d.any);
		/*
		 * A sender that read the mask in between may have left its signal without a kick.
		 */
		again = outer.region && !d.any && load_seqcst(mailbox(th));
	} while (again);
	if (unlikely(th->joined)) /* none ran */
		f->uc.mask = sigmask_of(th->g);
	return d.interrupts;
}

static void over_call(struct sigframe *f, void *arg)
{
	int saved = errno;

	f->uc.mask = sigmask_of(getg());
	*(bool *)arg = signals_over(f);
	errno = saved;
	frame_leave(f);
}

bool signals_deliver(void)
{
	bool ends = false;
	int sig = signals_next();

	if (sig)
		frame_call(action_flags(sig), over_call, &ends);
	return ends;
}

uint64_t signals_pending(void)
{
	return queued(&self_thread) & sigmask_of(getg());
}

/*
 * Signals raised and blocked before the first thread: pending for main's G, and not for another G
 * on its kernel thread.
 */
static void adopt_pending(void)
{
	struct timespec zero = { 0, 0 };
	uint64_t set;
	sigset_t any;
	siginfo_t si;
	int sig;

	if (real.sigpending(&any) || !sigs_of(&any))
		return;
	while ((set = status_set("SigPnd:\t", 0) & sigs_of(&any))) {
		sig = (int)direct4(SYS_rt_sigtimedwait, &set, &si, &zero, sizeof(set));
		if (sig <= 0 || thread_kill(&self_thread, sig, &si))
			return;
	}
}

void signal_init(void)
{
	altstack_adopt();
	action_adopt();
	runtime_sigstack(NULL);
	adopt_pending();
}

void signal_fork_child(void)
{
	/* Pending signals are not inherited (fork, POSIX); senders of the parent are gone. */
	uint32_t there = 0;

	/* Counted in a page that was copied late, the part's address in one that was copied before. */
	for (; there < NODES && load_relaxed(&nodes[there / PART]); there++)
		store_relaxed(&node_at(there)->used, 0);
	store_relaxed(&nodes_there, there);
	store_relaxed(&nodes_used, 0);
	store_relaxed(mailbox(&self_thread), NULL);
	self_thread.held = NULL;
	store_relaxed(&self_thread.pending[0], 0);
	store_relaxed(&self_thread.pending[1], 0);
	action_fork_child();
	sigroute_fork_child();
}
