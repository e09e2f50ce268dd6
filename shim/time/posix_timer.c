/*
 * posix_timer: timer_create with SIGEV_THREAD_ID names a thread, and a G's id is none of the kernel's.
 *
 * The kernel sends the signal thread signal 32 instead, which that never keeps out, with the
 * timer's number in the siginfo; it directs the signal that was asked for at the G that was named.
 * (Rejected: that signal itself.  Where all keep it out, for a sigwait, the signal thread does too,
 * and it stayed there.)  A timer that names main, and was made before weft started, sends main's
 * kernel thread its own signal; its slot here tells the G that runs there that the signal is
 * main's.  SIGEV_SIGNAL is the process's, SIGEV_THREAD runs on a thread of libc's own (native)
 * : both stay as they are.
 *
 * A timer on the CPU time of a thread: cputimer.c.
 *
 * Must never: look at the G through a pointer kept since creation: it may have ended; its id is
 * looked up.
 */
#include "shim/time/cputimer.h"
#include "shim/time/overrun.h"
#include "shim/thread/tid.h"
#include "shim/signal/sigforget.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

/* Slots are taken and freed by compare-and-swap on target; number is written while it is TIMER_BUSY. */
enum { TIMER_FREE = 0, TIMER_BUSY = 1 };
static struct {
	_Atomic long target; /* a G's id */
	_Atomic int number;
	_Atomic int sig;
	_Atomic uint8_t sends; /* what it was last set to, before the kernel is told; the signal thread: ONCE to NOTHING */
} named[TIMERS];
enum { NOTHING, ONCE, OFTEN };
static _Atomic int rows; /* the first ones, that have ever been taken */

static int reserve(void)
{
	for (int i = 0; i < TIMERS; i++) {
		long none = TIMER_FREE;

		if (!cas_acq_rel(&named[i].target, &none, TIMER_BUSY))
			continue;
		for (int n = load_acquire(&rows); n <= i && !cas_weak_acq_rel(&rows, &n, i + 1);)
			;
		return i;
	}
	return -1;
}

/*
 * ev names a G, main included: a slot, and *to is the event for the kernel.  TIMER_NONE: it does not;
 * else -errno.
 */
enum { TIMER_NONE = TIMERS };
static int reroute(const struct sigevent *ev, struct sigevent *to)
{
	int slot, sig = ev ? ev->sigev_signo : SIGALRM;

	activate_for(ev);
	if ((!ev || ev->sigev_notify == SIGEV_SIGNAL) && sig >= 1 && sig <= NSIG_)
		sigmask_counted(SIGBIT(sig));
	if (!ev || ev->sigev_notify != SIGEV_THREAD_ID)
		return TIMER_NONE;
	*to = *ev;
	if (!weft_on) {
		slot = ev->_sigev_un._tid == (pid_t)direct3(SYS_getpid, 0, 0, 0) ? reserve() : TIMER_NONE;
		return slot < 0 ? TIMER_NONE : slot;
	}
	if (ev->_sigev_un._tid < G_ID_MIN && !thread_by_id(ev->_sigev_un._tid))
		return TIMER_NONE;
	if (!thread_by_id(ev->_sigev_un._tid) || ev->sigev_signo < 1 || ev->sigev_signo > NSIG_)
		return -EINVAL;
	slot = reserve();
	if (slot < 0)
		return -EAGAIN;
	to->_sigev_un._tid = sigroute_tid();
	to->sigev_signo = SIGWEFT;
	return slot;
}

/* r: what became of the timer; its number is read only if it was made. */
static void name_it(int slot, const struct sigevent *ev, long r, const int *number)
{
	if (r == 0) {
		store_release(&named[slot].number, *number);
		store_release(&named[slot].sig, ev->sigev_signo);
		store_release(&named[slot].sends, NOTHING);
		overrun_anew(slot);
	}
	store_release(&named[slot].target, r == 0 ? ev->_sigev_un._tid : TIMER_FREE);
}

/* The row of the timer of this number; -1: it names no thread. */
static int row_of(int number)
{
	for (int i = 0; i < load_acquire(&rows); i++)
		if (load_acquire(&named[i].target) > TIMER_BUSY &&
		    load_acquire(&named[i].number) == number)
			return i;
	return -1;
}

/*
 * What it has sent and its thread has not taken is nothing any more; it sends no more itself.  What is still
 * between the kernel and the signal thread's handler would count for the next setting.
 */
static void take_back(int row)
{
	if (load_acquire(&named[row].sends) == NOTHING)
		sigroute_flush(); /* what its last expirations sent is queued now */
	else
		sigroute_catch_up();
	store_release(&named[row].sends, NOTHING);
	if (overrun_anew(row))
		sigforget_timer(thread_by_id(load_acquire(&named[row].target)), load_acquire(&named[row].sig));
}

static void forget(int number)
{
	int row = row_of(number);

	cputimer_forget((timer_t)(intptr_t)number);
	if (row >= 0) {
		take_back(row);
		store_release(&named[row].target, TIMER_FREE);
	}
}

/*
 * The thread whose CPU time clock is, and the clock to ask the kernel for; NULL: it is no thread's.
 */
static struct thread *cpu_clock(clockid_t *clock)
{
	struct thread *th = clock_thread(*clock);

	if (!th)
		return NULL;
	if (th == &self_thread)
		threadstate_own(false);
	*clock = th == &self_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
	return th;
}

static int create(clockid_t clock, struct sigevent *to, timer_t *timer)
{
	struct thread *th = cpu_clock(&clock);
	int r = real.timer_create(clock, to, timer);

	if (r == 0 && th && !cputimer_note(*timer, th)) {
		real.timer_delete(*timer);
		return (int)syscall_ret(-EAGAIN);
	}
	return r;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *ev, timer_t *timer)
{
	struct sigevent to;
	int slot = reroute(ev, &to), number, r;

	if (slot < 0)
		return (int)syscall_ret(slot);
	r = create(clock, slot == TIMER_NONE ? ev : &to, timer);
	number = r ? 0 : (int)(intptr_t)*timer;
	if (slot != TIMER_NONE)
		name_it(slot, ev, r, &number);
	return r;
}

EXPORT int timer_delete(timer_t timer)
{
	int r = real.timer_delete(timer);

	if (r == 0) {
		forget((int)(intptr_t)timer);
		cputimer_forget(timer); /* with SIGEV_THREAD it is no number, but libc's address */
	}
	return r;
}

/*
 * What waits of a timer that is set is the old setting's, and is nothing any more.  So the timer is
 * stopped first: what comes later is the new one's.  *was: what it had left.  False: no such timer, or
 * the new setting is none.
 */
static bool stop(timer_t timer, const struct itimerspec *new, struct itimerspec *was)
{
	static const struct itimerspec never;
	int row = likely(!load_acquire(&rows)) ? -1 : row_of((int)(intptr_t)timer);
	struct itimerspec asked;

	if (row < 0 || !user_read(&asked, new, sizeof(asked)) || !timer_valid(&asked) ||
	    direct4(SYS_timer_settime, timer, 0, &never, was))
		return false;
	take_back(row);
	if (asked.it_value.tv_sec || asked.it_value.tv_nsec)
		store_release(&named[row].sends, asked.it_interval.tv_sec || asked.it_interval.tv_nsec ? OFTEN : ONCE);
	return true;
}

EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec *new,
			 struct itimerspec *old)
{
	struct itimerspec shifted, was;
	bool stopped = stop(timer, new, &was);
	long r;

	if (cputimer_set(timer, flags, &new, old, &shifted, &r))
		return (int)syscall_ret(r);
	r = real.timer_settime(timer, flags, new, stopped ? NULL : old);
	if (stopped && !r && old && !user_write(old, &was, sizeof(was)))
		return (int)syscall_ret(-EFAULT);
	return (int)r;
}

EXPORT int timer_getoverrun(timer_t timer)
{
	int row = likely(!load_acquire(&rows)) ? -1 : row_of((int)(intptr_t)timer);

	return row >= 0 ? overrun_last(row) : real.timer_getoverrun(timer);
}

EXPORT int timer_gettime(timer_t timer, struct itimerspec *it)
{
	long r;

	return cputimer_get(timer, it, &r) ? (int)syscall_ret(r) : real.timer_gettime(timer, it);
}

/* The same by number, where a timer is an int. */
static long makes(const struct call *x, const struct sigevent *ev)
{
	struct call y = *x;
	clockid_t clock = (clockid_t)x->a;
	struct thread *th = cpu_clock(&clock);
	long r;

	y.a = clock;
	y.b = (long)ev;
	r = call_plain(&y);
	if (r == 0 && th && !cputimer_note((timer_t)(intptr_t)*(const int *)x->c, th)) {
		direct3(SYS_timer_delete, *(const int *)x->c, 0, 0);
		return -EAGAIN;
	}
	return r;
}

long makes_timer(const struct call *x)
{
	struct sigevent to, asked;
	const struct sigevent *ev = x->b ? &asked : NULL;
	int slot;
	long r;

	if (ev && !user_read(&asked, (const void *)x->b, sizeof(asked)))
		return -EFAULT;
	slot = reroute(ev, &to);
	if (slot < 0)
		return slot;
	r = makes(x, slot == TIMER_NONE ? ev : &to);
	if (slot != TIMER_NONE)
		name_it(slot, ev, r, (const int *)x->c);
	return r;
}

long sets_timer(const struct call *x)
{
	const struct itimerspec *new = (const struct itimerspec *)x->c;
	struct itimerspec shifted, was;
	bool stopped = stop((timer_t)x->a, new, &was);
	struct call y = *x;
	long r;

	if (cputimer_set((timer_t)x->a, (int)x->b, &new, (struct itimerspec *)x->d, &shifted, &r))
		return r;
	y.c = (long)new;
	if (stopped)
		y.d = 0;
	r = call_plain(&y);
	if (stopped && !r && x->d && !user_write((void *)x->d, &was, sizeof(was)))
		return -EFAULT;
	return r;
}

long counts_overruns(const struct call *x)
{
	int row = row_of((int)x->a);

	return row >= 0 ? overrun_last(row) : call_plain(x);
}

long reads_timer(const struct call *x)
{
	long r;

	return cputimer_get((timer_t)x->a, (struct itimerspec *)x->b, &r) ? r : call_plain(x);
}

long ends_timer(const struct call *x)
{
	long r = call_plain(x);

	if (r == 0)
		forget((int)x->a);
	return r;
}

int timer_row(const siginfo_t *si)
{
	return si->si_code == SI_TIMER ? row_of(si->si_timerid) : -1;
}

struct thread *timer_target(const siginfo_t *si)
{
	int row = timer_row(si);

	return row < 0 ? NULL : thread_by_id(load_acquire(&named[row].target));
}

/* Signal 32 of a timer, in the signal thread's handler. */
void timer_fired(const siginfo_t *si)
{
	siginfo_t meant = *si;
	int row = timer_row(si);
	long target = row < 0 ? TIMER_FREE : load_acquire(&named[row].target);
	uint8_t once = ONCE;

	if (target <= TIMER_BUSY)
		return; /* deleted meanwhile */
	meant.si_signo = load_acquire(&named[row].sig);
	sigroute_defer_at(target, meant.si_signo, &meant);
	cas_acq_rel(&named[row].sends, &once, NOTHING);
}

/* Timers are not inherited, and the numbers of the child's begin anew. */
void timer_fork_child(void)
{
	for (int i = 0; i < load_relaxed(&rows); i++)
		store_relaxed(&named[i].target, TIMER_FREE);
	cputimer_fork_child();
}
