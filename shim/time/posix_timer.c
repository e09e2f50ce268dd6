/*
 * posix_timer: timer_create with SIGEV_THREAD_ID names a thread, and a G's id is none of the kernel's.
 *
 * The kernel sends the signal thread signal 32 instead, which directs the signal that was asked for at the
 * G that was named (signal/signote.c).  A timer that names main, and was made before weft started, sends
 * main's kernel thread its own signal; its note here tells the G that runs there that the signal is
 * main's.  SIGEV_SIGNAL is the process's, SIGEV_THREAD runs on a thread of libc's own (native)
 * : both stay as they are.
 *
 * A timer on the CPU time of a thread: cputimer.c.
 *
 * Must never: have the kernel send a G's signal to a kernel thread.
 */
#include "shim/time/cputimer.h"
#include "shim/time/overrun.h"
#include "shim/thread/tid.h"
#include "shim/signal/sigforget.h"
#include "shim/signal/signote.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

static struct signote rows[TIMERS];
static struct signotes named = { .at = rows, .size = TIMERS };
/* What a row was last set to, before the kernel is told; the signal thread: ONCE to NOTHING. */
static _Atomic uint8_t sends[TIMERS];
enum { NOTHING, ONCE, OFTEN };

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
		slot = ev->_sigev_un._tid == (pid_t)direct3(SYS_getpid, 0, 0, 0) ? signote_take(&named) : TIMER_NONE;
		return slot < 0 ? TIMER_NONE : slot;
	}
	if (ev->_sigev_un._tid < G_ID_MIN && !thread_by_id(ev->_sigev_un._tid))
		return TIMER_NONE;
	if (!thread_by_id(ev->_sigev_un._tid) || ev->sigev_signo < 1 || ev->sigev_signo > NSIG_)
		return -EINVAL;
	slot = signote_take(&named);
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
		store_release(&rows[slot].number, *number);
		store_release(&rows[slot].sig, ev->sigev_signo);
		store_release(&sends[slot], NOTHING);
		overrun_anew(slot);
		signote_name(&named, slot, ev->_sigev_un._tid);
	} else {
		signote_give(&named, slot);
	}
}

/* The row of the timer of this number; -1: it names no thread. */
static int row_of(int number)
{
	return signote_none(&named) ? -1 : signote_find(&named, number);
}

/*
 * What it has sent and its thread has not taken is nothing any more; it sends no more itself.  What is still
 * between the kernel and the signal thread's handler would count for the next setting.
 */
static void take_back(int row)
{
	if (load_acquire(&sends[row]) == NOTHING)
		sigroute_flush(); /* what its last expirations sent is queued now */
	else
		sigroute_catch_up();
	store_release(&sends[row], NOTHING);
	if (overrun_anew(row))
		sigforget_timer(signote_thread(&named, row), signote_sig(&named, row));
}

static void forget(int number)
{
	int row = row_of(number);

	cputimer_forget((timer_t)(intptr_t)number);
	if (row >= 0) {
		take_back(row);
		signote_give(&named, row);
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
	int row = row_of((int)(intptr_t)timer);
	struct itimerspec asked;

	if (row < 0 || !user_read(&asked, new, sizeof(asked)) || !timer_valid(&asked) ||
	    direct4(SYS_timer_settime, timer, 0, &never, was))
		return false;
	take_back(row);
	if (asked.it_value.tv_sec || asked.it_value.tv_nsec)
		store_release(&sends[row], asked.it_interval.tv_sec || asked.it_interval.tv_nsec ? OFTEN : ONCE);
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
	int row = row_of((int)(intptr_t)timer);

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

	return row < 0 ? NULL : signote_thread(&named, row);
}

/* Signal 32 of a timer, in the signal thread's handler. */
void timer_fired(const siginfo_t *si)
{
	int row = timer_row(si);
	uint8_t once = ONCE;

	if (signote_fired(&named, row, si)) /* else it was deleted meanwhile */
		cas_acq_rel(&sends[row], &once, NOTHING);
}

/* Timers are not inherited, and the numbers of the child's begin anew. */
void timer_fork_child(void)
{
	for (int i = 0; i < load_relaxed(&named.used); i++)
		store_relaxed(&rows[i].target, SIGNOTE_FREE);
	cputimer_fork_child();
}
