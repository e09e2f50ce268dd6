/*
 * clock: the CPU time of a thread.
 *
 * The kernel counts for kernel threads; a G's time is what its Ms used while it was on them
 * (runtime/cputime.c). Counting costs a system call at each switch, so it starts with the first
 * question; a program that asked before it made a thread is counted from then on.
 *
 * Clocks of other threads have numbers.  The kernel's end in 0..6 (kinds of process and thread
 * clocks, and of descriptors); ours end in 7 and carry the thread's id without its high bits, which
 * are the same in all.
 */
#include "shim/ids.h"

#include "shim/sync.h"

enum { KIND_BITS = 3, OUR_KIND = 7, ID_BITS = 28, MAIN = (1 << ID_BITS) - 1 };

static bool asked; /* before there were threads */

static clockid_t clock_of(struct thread *th)
{
	uint32_t id = th->g == g_main() ? MAIN : g_tid(th->g) & ((1u << ID_BITS) - 1);

	return (clockid_t)(1u << 31 | id << KIND_BITS | OUR_KIND);
}

static bool our_clock(clockid_t clock)
{
	return clock < 0 && (clock & OUR_KIND) == OUR_KIND;
}

/* NULL: over, or never was. */
static struct g *g_of_clock(clockid_t clock)
{
	uint32_t id = (uint32_t)clock >> KIND_BITS & ((1u << ID_BITS) - 1), i = 0;
	struct g *gp;

	if (id == MAIN)
		return g_main();
	while ((gp = g_next(&i))) {
		struct thread *th = g_data(gp);

		if (gp != g_main() && (g_tid(gp) & ((1u << ID_BITS) - 1)) == id && th &&
		    !(atomic_load(&th->state) & TH_EXITED))
			return gp;
	}
	return NULL;
}

bool clock_call(clockid_t clock, struct timespec *ts, long *r)
{
	struct g *gp = NULL;
	uint64_t ns;

	if (weft_on && our_clock(clock))
		gp = g_of_clock(clock);
	else if (clock == CLOCK_THREAD_CPUTIME_ID && on_g())
		gp = getg();
	else
		return false;
	*r = -EINVAL;
	if (!gp)
		return true;
	cputime_enable();
	ns = g_cputime(gp);
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	*r = 0;
	return true;
}

/*
 * For a timer on the caller's own clock.  The kernel runs such timers for kernel threads alone, and
 * counts what these use whoever is on them: from here on the caller has one of its own.
 */
clockid_t clock_of_own_thread(clockid_t clock)
{
	bool mine = clock == CLOCK_THREAD_CPUTIME_ID ||
		    (clock < 0 && weft_on && our_clock(clock) && g_of_clock(clock) == getg());

	if (!on_g() || !mine)
		return clock;
	osthread_own(false);
	return CLOCK_THREAD_CPUTIME_ID;
}

/* Sleeps until gp's clock shows ns: never sooner than that takes at full speed. */
static int sleep_on(clockid_t clock, int64_t ns)
{
	enum { TICK = 4000000 }; /* ns: as exact as the kernel, which looks at each tick of 250 Hz */
	struct park pk = { .reason = WaitSleep };
	struct timespec now;
	long r;

	for (;;) {
		uint64_t done = self_thread.sigdone;
		int64_t left;

		if (!clock_call(clock, &now, &r) || r)
			return EINVAL;
		left = ns - (now.tv_sec * 1000000000LL + now.tv_nsec);
		if (left <= 0)
			return 0;
		pk.deadline = nanotime() + (uint64_t)(left > TICK ? left : TICK);
		if (lot_sleep(&pk) == -EINTR)
			testcancel();
		if (self_thread.sigdone != done)
			return EINTR;
	}
}

bool clock_sleep(clockid_t clock, int flags, const struct timespec *req, struct timespec *rem, int *err)
{
	struct timespec now;
	int64_t until;
	long r;

	if (clock >= 0 || !our_clock(clock))
		return false;
	*err = EINVAL;
	if (req->tv_nsec < 0 || req->tv_nsec >= 1000000000 || req->tv_sec < 0 ||
	    g_of_clock(clock) == getg() || !clock_call(clock, &now, &r) || r)
		return true; /* one's own does not go on while one sleeps: as the kernel */
	until = flags & TIMER_ABSTIME ? 0 : now.tv_sec * 1000000000LL + now.tv_nsec;
	if (__builtin_add_overflow(until, (int64_t)req->tv_nsec, &until) || req->tv_sec > INT32_MAX ||
	    __builtin_add_overflow(until, req->tv_sec * 1000000000LL, &until))
		until = INT64_MAX;
	testcancel();
	*err = sleep_on(clock, until);
	if (*err == EINTR && rem && !(flags & TIMER_ABSTIME) && clock_call(clock, &now, &r) && !r) {
		int64_t left = until - (now.tv_sec * 1000000000LL + now.tv_nsec);

		left = left > 0 ? left : 0;
		*rem = (struct timespec){ left / 1000000000, left % 1000000000 };
	}
	return true;
}

void clock_init(void)
{
	if (asked)
		cputime_enable();
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
	long r;

	if (likely(clock >= 0 && clock != CLOCK_THREAD_CPUTIME_ID))
		return real.clock_gettime(clock, ts);
	if (!weft_on)
		asked = true;
	if (!clock_call(clock, ts, &r))
		return real.clock_gettime(clock, ts);
	return (int)syscall_ret(r);
}

EXPORT int clock_getres(clockid_t clock, struct timespec *ts)
{
	if (!weft_on || !our_clock(clock))
		return real.clock_getres(clock, ts);
	if (!g_of_clock(clock))
		return (int)syscall_ret(-EINVAL);
	return real.clock_getres(CLOCK_THREAD_CPUTIME_ID, ts);
}

EXPORT int pthread_getcpuclockid(pthread_t t, clockid_t *clock)
{
	struct thread *th = weft_on ? thread_of(t) : NULL;

	if (!th || !th->g) {
		asked = true;
		return real.pthread_getcpuclockid(t, clock);
	}
	if (atomic_load(&th->state) & TH_EXITED)
		return ESRCH;
	cputime_enable();
	*clock = clock_of(th);
	return 0;
}
