/*
 * cpuclock: the CPU time of a thread.
 *
 * The kernel counts for kernel threads; a G's time is what its Ms used while it was on them
 * (runtime/sched/cputime.c). Counting costs a system call at each switch, so it starts with the first
 * question; a program that asked before it made a thread is counted from then on.
 *
 * Clocks of other threads have numbers.  The kernel's end in 0..6 (kinds of process and thread
 * clocks, and of descriptors); ours end in 7 and carry the thread's id without its high bits, which
 * are the same in all.  A program may also make a number from a thread's id as the kernel's header
 * says, by hand: it ends in 6 and has the id's lowest 29 bits, inverted.  The kernel knows by such a number
 * threads of this process alone, so it is a G's if some G has those bits.
 */
#include "runtime/process.h"
#include "shim/sync/eintr.h"
#include "shim/thread/tid.h"

#include "shim/sync/sync.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

enum { KIND_BITS = 3, BY_HAND = 6, OUR_KIND = 7, ID_BITS = 28, MAIN = (1 << ID_BITS) - 1 };
enum { HAND_BITS = (1 << 29) - 1, KERNEL_CLOCKS = 16 /* numbers that are no thread's */ };

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

static bool by_hand(clockid_t clock)
{
	return (clock < 0 || clock >= KERNEL_CLOCKS) && (clock & OUR_KIND) == BY_HAND;
}

/* NULL: over, or never was. */
static struct g *g_of_clock(clockid_t clock)
{
	bool hand = by_hand(clock);
	uint32_t mask = hand ? HAND_BITS : (1u << ID_BITS) - 1, i = 0;
	uint32_t id = (hand ? ~(uint32_t)(clock >> KIND_BITS) : (uint32_t)clock >> KIND_BITS) & mask;
	struct g *gp;

	if (id == MAIN && !hand)
		return g_main();
	if (hand && id == g_tid(g_main()))
		return g_main();
	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		if (gp != g_main() && (g_tid(gp) & mask) == id && th &&
		    !(load_seqcst(&th->state) & TH_EXITED))
			return gp;
	}
	return NULL;
}

struct thread *clock_thread(clockid_t clock)
{
	struct g *gp = NULL;

	if (!weft_on)
		return NULL;
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		gp = getg();
	else if (our_clock(clock) || by_hand(clock))
		gp = g_of_clock(clock);
	return gp ? g_shim(gp)->thread : NULL;
}

bool cpuclock_call(clockid_t clock, struct timespec *ts, long *r)
{
	struct thread *th = clock_thread(clock);
	uint64_t ns;

	if (!th && !(weft_on && our_clock(clock)))
		return false;
	*r = -EINVAL;
	if (!th)
		return true;
	ns = g_cputime(th->g, NULL);
	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	*r = 0;
	return true;
}

/* Sleeps until gp's clock shows ns: never sooner than that takes at full speed. */
static int sleep_on(clockid_t clock, int64_t ns, bool cp)
{
	enum { CLOCK_TICK = 4000000 }; /* ns: as exact as the kernel, which looks at each tick of 250 Hz */
	struct park pk = park_time(WaitSleep);
	uint64_t mark = eintr_mark();
	struct timespec now;
	long r;

	for (;;) {
		int64_t left;

		if (!cpuclock_call(clock, &now, &r) || r)
			return EINVAL;
		left = ns - (now.tv_sec * 1000000000LL + now.tv_nsec);
		if (left <= 0)
			return 0;
		park_until_ns(&pk, nanotime() + (uint64_t)(left > CLOCK_TICK ? left : CLOCK_TICK));
		if (eintr_sleep(&pk, mark) == -EINTR) {
			if (cp)
				testcancel();
			else
				eintr_in_lock();
		}
		if (eintr_ran(mark))
			return EINTR;
	}
}

bool clock_sleep(clockid_t clock, int flags, const struct timespec *req, struct timespec *rem, bool cp,
		 int *err)
{
	struct thread *th = clock_thread(clock);
	struct timespec now, want;
	int64_t until;
	long r;

	if (!th && !our_clock(clock))
		return false;
	*err = EFAULT;
	if (!user_get(&want, req, sizeof(want)))
		return true;
	*err = EINVAL;
	if (want.tv_nsec < 0 || want.tv_nsec >= 1000000000 || want.tv_sec < 0 || th == &self_thread ||
	    !cpuclock_call(clock, &now, &r) || r)
		return true; /* one's own does not go on while one sleeps: as the kernel */
	until = flags & TIMER_ABSTIME ? 0 : now.tv_sec * 1000000000LL + now.tv_nsec;
	if (__builtin_add_overflow(until, (int64_t)want.tv_nsec, &until) || want.tv_sec > INT32_MAX ||
	    __builtin_add_overflow(until, want.tv_sec * 1000000000LL, &until))
		until = INT64_MAX;
	if (cp)
		testcancel();
	*err = sleep_on(clock, until, cp);
	if (*err == EINTR && rem && !(flags & TIMER_ABSTIME) && cpuclock_call(clock, &now, &r) && !r) {
		int64_t left = until - (now.tv_sec * 1000000000LL + now.tv_nsec);

		left = left > 0 ? left : 0;
		now = (struct timespec){ left / 1000000000, left % 1000000000 };
		if (!user_put(rem, &now, sizeof(now)))
			*err = EFAULT;
	}
	return true;
}

void cpuclock_init(void)
{
	if (asked)
		runtime_fromnow(FROMNOW_CPUTIME);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ts)
{
	struct timespec now;
	long r;

	if (likely((unsigned int)clock < KERNEL_CLOCKS && clock != CLOCK_THREAD_CPUTIME_ID))
		return real.clock_gettime(clock, ts);
	if (!weft_on)
		asked = true;
	if (!cpuclock_call(clock, &now, &r))
		return real.clock_gettime(clock, ts);
	return (int)syscall_ret(r == 0 && !user_put(ts, &now, sizeof(now)) ? -EFAULT : r);
}

EXPORT int clock_getres(clockid_t clock, struct timespec *ts)
{
	struct thread *th = (unsigned int)clock < KERNEL_CLOCKS ? NULL : clock_thread(clock);

	return real.clock_getres(th ? CLOCK_THREAD_CPUTIME_ID : clock, ts);
}

/* Since glibc 2.43 there is a base that is the calling thread's CPU time; what libc gives is its kernel thread's. */
EXPORT int timespec_get(struct timespec *ts, int base)
{
	enum { THREAD_ACTIVE = 4 };
	int r = real.timespec_get(ts, base);
	struct timespec now;
	long e;

	if (unlikely(r == THREAD_ACTIVE)) {
		if (!weft_on)
			asked = true;
		if (cpuclock_call(CLOCK_THREAD_CPUTIME_ID, &now, &e) && !e)
			*ts = now;
	}
	return r;
}

long reads_clock(const struct call *x)
{
	struct timespec ts;
	long r;

	if (!cpuclock_call((clockid_t)x->a, &ts, &r))
		return call_plain(x);
	return r == 0 && !user_write((void *)x->b, &ts, sizeof(ts)) ? -EFAULT : r;
}

long reads_resolution(const struct call *x)
{
	struct call y = *x;

	if (clock_thread((clockid_t)x->a))
		y.a = CLOCK_THREAD_CPUTIME_ID;
	return call_plain(&y);
}

long sleeps_on_clock(const struct call *x)
{
	int err;

	return clock_sleep((clockid_t)x->a, (int)x->b, (const struct timespec *)x->c,
			   (struct timespec *)x->d, false, &err)
		       ? -err
		       : call_blocks(x);
}

EXPORT int pthread_getcpuclockid(pthread_t t, clockid_t *clock)
{
	struct thread *th = weft_on ? thread_of(t) : NULL;

	if (!th || !th->g) {
		asked = true;
		return real.pthread_getcpuclockid(t, clock);
	}
	if (load_seqcst(&th->state) & TH_EXITED)
		return ESRCH;
	runtime_fromnow(FROMNOW_CPUTIME);
	*clock = clock_of(th);
	return 0;
}
