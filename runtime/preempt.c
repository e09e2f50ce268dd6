/*
 * preempt: taking the CPU away from a G that computes.
 *
 * sysmon looks at every P (preempt_look) and asks one to give way by signal 32 to its M.  The
 * switch happens inside the handler: an M's kernel mask and alternate stack are always those of the
 * G it runs, so a G that is resumed in its handler on any M returns through it, and sigreturn
 * restores every register, vector and x87 state included, from the frame on the G's own stack.  FS
 * is not part of that frame.
 *
 * Nobody may see EINTR or a short transfer because of us, so an M is only signalled while its G
 * computes:
 *
 *	sysmon         Prunning -> Psignal, notes the P in m->sigp, sends the signal
 *	the handler    takes m->sigp, Psignal -> Prunning: its first act, wherever it finds the M
 *	anybody else   who takes a P out of Prunning does so by compare-and-swap (p_leave) and waits, on its
 *	               own M, until the handler has run
 *
 * So at most one signal is on its way to an M, an M never sleeps with one coming, and m->p cannot
 * change between the asking and the handler's first act.  What remains is a libc function that
 * blocks without our seeing: the kernel is asked first whether the thread runs.
 *
 * A signal can get lost: where the stack has no room for its frame, the kernel delivers SIGSEGV
 * instead.  A program that handles its stack overflows on an alternate stack must not take that for
 * one (runtime_signal_lost); who waits for the signal notices (p_leave_slow), and sysmon sends it
 * again.
 *
 * Who is asked.  A G that had its slice (option slice), when something waits that its P could run:
 * preempting it for nobody costs two microseconds and brings nothing.  It goes to the tail of the
 * global queue, as Go's.
 *
 * And, beyond Go, a G that had `wakeslice`, when another is woken without a P at hand (by a timer,
 * a system call that ends, a foreign thread: globrunqwoken) and every P computes: a thread that
 * sleeps or serves is then late by microseconds instead of the slices of all who compute.  The one
 * that computes longest gives way.  It goes to its local tail and keeps what it used of its slice,
 * or a busy sleeper would let some run for ever while others wait in the global queue.  sysmon must
 * then be there when a timer is due: as long as some P computes for long it sleeps no longer than
 * to that P's first timer, and is woken for what comes sooner (preempt_alarm).
 *
 * Safe points.  Everything of the runtime that depends on its M or P is pinned (lock.h), and the
 * shim tells by the PC whether a lock of libc may be held; the handler then leaves a wish, which is
 * honoured at the next cheap moment (runtime_wish), and sysmon asks again.
 *
 * Must never: be asked for by anybody but sysmon; switch on g0, pinned, or inside entersyscall.
 */
#include "runtime/gmp.h"

enum {
	RETRY = 1000000,       /* ns between two requests to a G that could not give way */
	RETRY_URGENT = 100000, /* the same when somebody urgent waits */
	RESEND = 10000000,     /* ns after which a signal without effect is sent again */
	FORCE = 20000000,      /* ns after which the PC no longer counts */
	STAY = 50000000,       /* ns for which a P counts as computing after it last did for wakeslice */
	LOOK_MIN = 50000,      /* ns between two looks, at least, while some P computes */
	RAN_MAX = 500000,      /* ns; who ran longer had to wait for its CPU, and is owed it */
	SLEPT_MIN = 20000,     /* ns of sleep that prove something about who ran meanwhile */
	SWITCHES = 10000,      /* and what of it two switches of a CPU take, usually at most */
	PATIENT = 10,          /* wakeslices that an urgent one waits where all run for long */
	SERVES = 8,            /* schedules between two looks of a P that serves */
};

void p_leave_slow(struct p *pp, uint32_t to)
{
	struct m *mp = getm();

	for (unsigned spins = 1;; spins++) {
		uint32_t s = Prunning;

		if (atomic_compare_exchange_strong(&pp->status, &s, to))
			return;
		if (s != Psignal)
			throw("p%d: status %u while its M runs", pp->id, s);
		arch_pause();
		if (spins % 10000 || !atomic_load(&pp->asksent))
			continue;
		/*
		 * Somebody may have blocked it by a system call that nobody saw.  If it does not
		 * come now that we return from the kernel, it never will.
		 */
		os_sigunblock(SIGPREEMPT);
		if (atomic_load(&pp->status) == Psignal && atomic_exchange(&mp->sigp, NULL) == pp)
			atomic_store(&pp->status, Prunning);
	}
}

/* ---- the M that is asked --------------------------------------------------------------------- */

bool runtime_signalled(void)
{
	bool busy = runtime_busy(), wanted = false;
	struct m *mp;
	struct p *pp;

	/* The next signal may come at any instruction. */
	hold();
	mp = getm();
	pp = mp ? atomic_exchange(&mp->sigp, NULL) : NULL;
	if (pp) {
		/* Scheduled meanwhile: whoever runs now is not the one that had its slice. */
		wanted = pp->asktick ==
			 atomic_load_explicit(&pp->schedtick, memory_order_relaxed);
		atomic_store(&pp->status, Prunning);
		if (wanted && busy)
			weft_tls.preempt = 1;
	}
	unpin();
	return wanted && !busy;
}

bool runtime_signal_lost(void)
{
	struct m *mp;
	struct p *pp;

	if (__atomic_load_n(&weft_tls.nop, __ATOMIC_RELAXED) == NOP_KICKED) {
		/* The other of our signals (handoff.c), and still no P: nothing to look for. */
		__atomic_store_n(&weft_tls.nop, NOP_TAKEN, __ATOMIC_RELEASE);
		return true;
	}
	hold();
	mp = getm();
	pp = mp ? atomic_exchange(&mp->sigp, NULL) : NULL;
	if (pp)
		atomic_store(&pp->status, Prunning);
	unpin();
	return pp != NULL;
}

bool runtime_forced(void)
{
	struct p *pp = getp();

	return pp && atomic_load_explicit(&pp->askforce, memory_order_relaxed);
}

static void gopreempt0(void *arg)
{
	struct g *gp = arg;
	struct p *pp = weft_tls.m->p;

	atomic_store_explicit(&gp->sliceused, pp->askused, memory_order_relaxed);
	offm(gp);
	/* sysmon need not come to see when the next slice began. */
	atomic_store_explicit(&pp->switchwhen, nanotime(), memory_order_relaxed);
	atomic_store_explicit(&pp->switchtick, atomic_load(&pp->schedtick) + 1,
			      memory_order_release);
	if (pp->askused) {
		runqput(pp, gp, false);
	} else {
		lock(&sched.lock);
		globrunqput(gp, false);
		unlock(&sched.lock);
	}
	schedule(NULL);
}

/* The calling G gives way, pinned; false: it has no P, or the urgent one has found another. */
static bool give_way(struct g *gp, struct p *pp)
{
	if (gp->sysdepth || !pp || (pp->askused && atomic_load(&sched.urgentsize) == 0))
		return false;
	mcall(gopreempt0);
	return true;
}

void runtime_preempt(void)
{
	pin();
	/*
	 * Asked of the kernel: our handler may have been interrupted by its like, and moved in
	 * there.  The return from that gave this M the mask of the handler, perhaps of the
	 * program's below it, and told nobody.
	 */
	getm()->sigmask = os_sigmask_get();
	give_way(weft_tls.g, getp());
	unpin();
}

void runtime_wish(void)
{
	struct g *gp = weft_tls.g;
	struct p *pp;

	if (!gp || runtime_busy() || weft_tls.depth)
		return;
	weft_tls.preempt = 0;
	pin();
	pp = getp();
	/* Its slice may have ended by itself since. */
	if (pp && pp->asktick == atomic_load_explicit(&pp->schedtick, memory_order_relaxed))
		give_way(gp, pp);
	unpin();
}

/* ---- sysmon: asking -------------------------------------------------------------------------- */

static uint64_t next_look; /* when something is to be done at the latest; 0: nothing is known */
static uint64_t last_look;
static int32_t seen_urgent; /* at the last look: what was asked for them is asked */
static bool computing;     /* some P computes for long: sysmon is interested in what is woken */
static uint64_t slept, woke; /* sysmon, last time */
static bool alarmed;       /* it was woken before its time */
static bool serving;       /* and one that did serves now: it hears the descriptors soon */
static bool works;         /* some P works off what the poller brings, and each takes long */

static void send(struct p *pp, struct m *mp)
{
	/* EAGAIN: too many signals wait in the kernel (RLIMIT_SIGPENDING). */
	if (os_tgkill(os_getpid(), mp->ostid, SIGPREEMPT) == 0) {
		atomic_store(&pp->asksent, true);
	} else if (atomic_exchange(&mp->sigp, NULL) == pp) {
		atomic_store(&pp->status, Prunning);
	}
}

/* Of a signal that was sent: is it lost? */
static void resend(struct p *pp, uint64_t now)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);

	if (now - pp->mon_askwhen < RESEND || !mp || atomic_load(&mp->sigp) != pp)
		return;
	pp->mon_askwhen = now;
	send(pp, mp);
}

/* Before sysmon sleeps: what each M that computes has used. */
static void note_sleep(void)
{
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);

		pp->mon_sleepm = NULL;
		if (atomic_load(&pp->mon_computes) && mp &&
		    !os_thread_cpu(mp->ostid, &pp->mon_sleepcpu))
			pp->mon_sleepm = mp;
	}
	slept = nanotime();
}

/*
 * It computed all the time that we slept, and runs, or would but for us: we took its CPU.  (It may
 * have blocked in the last microseconds, as it may after any other proof.)  Asked first: to ask the
 * kernel means to wake another thread and wait for it, and at the end of that sysmon may be without
 * a CPU until the next tick.
 */
static bool computed(struct p *pp, struct m *mp)
{
	uint64_t cpu;

	return pp->mon_sleepm == mp && woke - slept >= SLEPT_MIN && !os_thread_cpu(mp->ostid, &cpu) &&
	       cpu - pp->mon_sleepcpu + SWITCHES >= (woke - slept) / 32 * 31;
}

/* used: of its slice, to be kept; 0: the slice is over. */
static void ask(struct p *pp, uint64_t now, uint64_t used)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	uint32_t s = Prunning;

	if (!mp || now - pp->mon_askwhen < (used ? RETRY_URGENT : RETRY) ||
	    !(computed(pp, mp) || aside_runs(mp->ostid)))
		return;
	if (!atomic_compare_exchange_strong(&pp->status, &s, Psignal))
		return;
	/*
	 * From here on the P stays with its M; the back link of one that just came back may be
	 * missing yet.
	 */
	if (__atomic_load_n(&pp->m, __ATOMIC_RELAXED) != mp ||
	    atomic_load(&pp->schedtick) != pp->mon_schedtick) {
		atomic_store(&pp->status, Prunning);
		return;
	}
	pp->mon_askwhen = now;
	pp->asktick = pp->mon_schedtick;
	pp->askused = used;
	atomic_store(&pp->asksent, false);
	atomic_store_explicit(&pp->askforce,
			      now - pp->mon_schedwhen > (uint64_t)weft_opt.slice + FORCE,
			      memory_order_relaxed);
	atomic_store(&mp->sigp, pp);
	send(pp, mp);
}

/* ---- sysmon: looking ------------------------------------------------------------------------- */

static void look_by(uint64_t when)
{
	if (!next_look || when < next_look)
		next_look = when;
}

/* Something waits that pp would run next. */
static bool work_waits(struct p *pp, uint64_t now)
{
	uint64_t t = atomic_load(&pp->timer0);

	return !runqempty(pp) || atomic_load(&sched.runqsize) > 0 || (t && t <= now) ||
	       pp->id >= atomic_load(&gomaxprocs);
}

static uint64_t used_before(struct p *pp)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	struct g *gp = mp ? __atomic_load_n(&mp->curg, __ATOMIC_RELAXED) : NULL;

	return gp ? atomic_load_explicit(&gp->sliceused, memory_order_relaxed) : 0;
}

/* Whatever computed for long on pp, it has run many since. */
static bool serves(const struct p *pp)
{
	return pp->mon_servewhen > pp->mon_longwhen;
}

/*
 * A busy server's P: Gs that the poller brought run for tens of microseconds each, and now and then
 * the queue is worked off.  They are all alike.  To interrupt one for another, and to be woken for
 * each of them, takes a sixth of a database's CPU (MariaDB, 16 connections) and makes nobody faster.
 */
static bool works_off(struct p *pp, uint64_t now)
{
	return now - atomic_load_explicit(&pp->workedwhen, memory_order_relaxed) < STAY &&
	       atomic_load_explicit(&pp->burst, memory_order_relaxed) >= BURST_LONG;
}

/* How long who computes may go on although an urgent one waits. */
static uint64_t urgency(void)
{
	return (works ? PATIENT : 1) * (uint64_t)weft_opt.wakeslice;
}

uint64_t preempt_pollgap(uint64_t usual)
{
	return works ? urgency() : usual;
}

static void note(struct p *pp, uint32_t tick, uint64_t now)
{
	bool told = tick && atomic_load_explicit(&pp->switchtick, memory_order_acquire) == tick;

	if (tick - pp->mon_schedtick >= SERVES)
		pp->mon_servewhen = now;
	pp->mon_schedtick = tick;
	pp->mon_schedwhen =
		told ? atomic_load_explicit(&pp->switchwhen, memory_order_relaxed) : now;
	pp->mon_used = used_before(pp);
	pp->mon_fresh = true;
	pp->mon_quick = !told;
	pp->mon_askwhen = 0;
}

/* Asks pp to give way if its slice is over and anybody gains by it. */
static void look_slice(struct p *pp, uint64_t now)
{
	uint64_t end = pp->mon_schedwhen - pp->mon_used + (uint64_t)weft_opt.slice;

	if (!weft_opt.slice || !work_waits(pp, now))
		return;
	if (end > now) {
		look_by(end);
		return;
	}
	ask(pp, now, 0);
	look_by(now + RETRY);
}

/* The timers of a P that computes: nobody else runs them. */
static void look_timers(struct p *pp, uint64_t now)
{
	bool ran = false;
	uint64_t t;

	atomic_store(&pp->mon_computes, now - pp->mon_longwhen < STAY);
	if (!pp->mon_computes)
		return;
	computing = true;
	if (serves(pp)) {
		serving = true;
		look_by(now + urgency());
	}
	t = timers_check(pp, now, &ran);
	if (t)
		look_by(t);
}

/*
 * Its G computes: the CPU clock of its M moved by half a wakeslice while schedtick stood still.
 * Time alone says that of an M that waits for its CPU as well.
 */
static void look_long(struct p *pp, uint64_t now)
{
	struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);
	bool known = now - pp->mon_longwhen < STAY / 4 && !serves(pp);
	uint64_t cpu;

	if (known || now - pp->mon_schedwhen < (uint64_t)weft_opt.wakeslice / 2 || !mp ||
	    os_thread_cpu(mp->ostid, &cpu))
		return;
	if (pp->mon_longtick != pp->mon_schedtick || cpu < pp->mon_longcpu) {
		pp->mon_longtick = pp->mon_schedtick;
		pp->mon_longcpu = cpu;
		look_by(now + (uint64_t)weft_opt.wakeslice);
	} else if (cpu - pp->mon_longcpu >= (uint64_t)weft_opt.wakeslice / 2) {
		pp->mon_longwhen = now;
	}
}

static uint64_t ripe(struct p *pp)
{
	return pp->mon_schedwhen + urgency();
}

/*
 * The P that computes longest; of those that may be asked, rather one whose M is on a CPU.  sysmon
 * has just taken a CPU from one of them: that one has to be asked after in /proc, and runs the
 * handler only when we sleep again.  NULL: one is about to schedule anyway.
 */
static struct p *longest(uint64_t now)
{
	struct p *any = NULL, *moving = NULL;

	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		struct m *mp = __atomic_load_n(&pp->m, __ATOMIC_RELAXED);

		if (atomic_load(&pp->status) != Prunning || !mp)
			continue;
		if (pp->mon_quick)
			return NULL;
		if (!any || pp->mon_schedwhen < any->mon_schedwhen)
			any = pp;
		if (ripe(pp) <= now && (!moving || pp->mon_schedwhen < moving->mon_schedwhen) &&
		    aside_moves(mp->ostid))
			moving = pp;
	}
	return moving ? moving : any;
}

/* Somebody urgent waits: somebody is asked, unless it still has to compute for wakeslice. */
static void look_urgent(uint64_t now)
{
	struct p *pp = longest(now);
	uint64_t used;

	if (!pp) {
		look_by(now + (works ? urgency() : RETRY_URGENT));
		return;
	}
	if (ripe(pp) > now) {
		look_by(ripe(pp));
		return;
	}
	used = pp->mon_used + (now - pp->mon_schedwhen);
	ask(pp, now, weft_opt.slice && used >= (uint64_t)weft_opt.slice ? 0 : used);
	look_by(now + RETRY_URGENT);
}

/* Chaos: anybody, at any time, with or without a reason. */
static void look_chaos(struct p *pp, uint64_t now)
{
	static uint64_t rng;

	if (!rng)
		rng = (uint64_t)weft_opt.chaos | 1;
	if (nextrand(&rng) % 2) {
		pp->mon_askwhen = 0;
		ask(pp, now, nextrand(&rng) % 2);
	}
	look_by(now + nextrand(&rng) % 400000);
}

void preempt_look(uint64_t now)
{
	last_look = now;
	next_look = 0;
	computing = serving = works = false;
	for (int i = 0; weft_opt.wakeslice && i < MAXPROCS && allp[i]; i++)
		works |= works_off(allp[i], now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		uint32_t tick = atomic_load(&pp->schedtick), status = atomic_load(&pp->status);

		pp->mon_quick = false;
		if (tick != pp->mon_schedtick || !pp->mon_schedwhen)
			note(pp, tick, now);
		if (status == Psignal)
			resend(pp, now);
		if (status != Prunning)
			continue;
		if (weft_opt.wakeslice) {
			look_long(pp, now);
			look_timers(pp, now);
		}
	}
	/* First: to ask may mean to wait for /proc. */
	seen_urgent = atomic_load(&sched.urgentsize);
	if (seen_urgent > 0 && atomic_load(&sched.npidle) == 0)
		look_urgent(now);
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		if (atomic_load(&allp[i]->status) != Prunning)
			continue;
		if (unlikely(weft_opt.chaos))
			look_chaos(allp[i], now);
		else
			look_slice(allp[i], now);
	}
}

/* ---- sysmon: sleeping ------------------------------------------------------------------------ */

void preempt_alarm(uint64_t when)
{
	/*
	 * Pairs with preempt_sleep: it publishes monuntil, then looks at what we have changed
	 * before this.
	 */
	if (atomic_load(&sched.monuntil) <= when || atomic_exchange(&sched.monwake, 1) != 0)
		return;
	if (atomic_load(&sched.monpolls))
		netpoll_break();
	else
		os_futex_wake((uint32_t *)&sched.monwake, 1);
}

/* What came while nobody could know that sysmon wants to be told. */
static bool came(uint64_t until)
{
	if (atomic_load(&sched.urgentsize) > seen_urgent)
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		uint64_t t = atomic_load(&allp[i]->timer0);

		if (atomic_load(&allp[i]->mon_computes) && t && t < until)
			return true;
	}
	return false;
}

/* Nobody else hears the descriptors: sysmon does.  False: somebody does, or there are none. */
static bool sleep_polling(uint64_t until)
{
	struct os_event ev[NETPOLL_BATCH];
	int n = 0;

	if (!netpoll_watching() || atomic_load(&sched.lastpoll) == 0 ||
	    atomic_exchange(&sched.lastpoll, 0) == 0)
		return false;
	atomic_store(&sched.polluntil, until);
	atomic_store(&sched.monpolls, true);
	if (!atomic_load(&sched.monwake) && !came(until))
		n = netpoll_wait(ev, until);
	atomic_store(&sched.monpolls, false);
	atomic_store(&sched.polluntil, 0);
	/* Before anybody is readied, or we would ring our own bell. */
	atomic_store(&sched.monuntil, 0);
	atomic_store(&sched.lastpoll, nanotime());
	if (n > 0)
		netpoll_ready(ev, n);
	/* An M that went idle meanwhile left the polling, and all timers, to us. */
	if (atomic_load(&sched.npidle) > 0)
		wakep();
	return true;
}

static uint64_t sleep_until(uint64_t when)
{
	note_sleep();
	os_usleep(when > slept ? (uint32_t)((when - slept) / 1000) + 1 : 1);
	return woke = nanotime();
}

/*
 * Where alarms are frequent, sysmon sleeps for as long as it ran before it may be woken.  The kernel
 * (EEVDF, Linux 6.6) lets who has had more than its share wait, woken or not, and looks again only
 * at its next tick: up to 4 ms, in which nobody hears what is due.  By then it has its share again.
 */
static uint64_t sleep_off(uint64_t now)
{
	uint64_t ran = now - last_look;

	return sleep_until(now + (ran < RAN_MAX ? ran : RAN_MAX));
}

void preempt_sleep(uint32_t us)
{
	uint64_t now, until;

	if (!next_look && !computing) {
		os_usleep(us);
		return;
	}
	now = nanotime();
	until = now + us * 1000ULL;
	if (next_look && next_look < until)
		until = next_look;
	if (until < now + LOOK_MIN)
		until = now + LOOK_MIN;
	if (!computing) {
		os_usleep((uint32_t)((until - now) / 1000));
		return;
	}
	if (works) {
		/* Nobody rings (monuntil is 0), and poll_for_busy() polls. */
		sleep_until(until < now + urgency() ? until : now + urgency());
		alarmed = false;
		return;
	}
	if (alarmed)
		now = sleep_off(now);
	alarmed = true; /* whatever came, if it did before we sleep */
	atomic_store(&sched.monwake, 0);
	atomic_store(&sched.monuntil, until);
	if (now < until && !came(until)) {
		note_sleep();
		/*
		 * No polling while some P serves: it would find nothing to do, sleep and be woken for
		 * each, and each that we make ready is urgent.
		 */
		if (serving || !sleep_polling(until))
			os_futex_wait((uint32_t *)&sched.monwake, 0, until);
		woke = nanotime();
		alarmed = woke < until;
	}
	atomic_store(&sched.monuntil, 0);
	/* However many alarms there are, looking must not become a load of its own. */
	if (alarmed && woke < last_look + LOOK_MIN)
		sleep_until(last_look + LOOK_MIN);
}
