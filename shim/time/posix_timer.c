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

static struct signotes named;
/* A row's mark: what it was last set to, before the kernel is told; the signal thread: ONCE to NOTHING. */
enum { NOTHING, ONCE, OFTEN };
static _Atomic int *sends(int row)
{
	return &signote_at(&named, row)->mark;
}

/*
 * ev names a G, main included: TIMER_NAMES, and *to is the event for the kernel.  TIMER_NONE: it does not; else
 * -errno.
 */
enum { TIMER_NONE, TIMER_NAMES };
static int reroute(const struct sigevent *ev, struct sigevent *to)
{
	int sig = ev ? ev->sigev_signo : SIGALRM;

	activate_for(ev);
	if ((!ev || ev->sigev_notify == SIGEV_SIGNAL) && sig >= 1 && sig <= NSIG_)
		sigmask_counted(SIGBIT(sig));
	if (!ev || ev->sigev_notify != SIGEV_THREAD_ID)
		return TIMER_NONE;
	*to = *ev;
	if (!weft_on)
		return ev->_sigev_un._tid == (pid_t)direct3(SYS_getpid, 0, 0, 0) ? TIMER_NAMES : TIMER_NONE;
	if (ev->_sigev_un._tid < G_ID_MIN && !thread_by_id(ev->_sigev_un._tid))
		return TIMER_NONE;
	if (!thread_by_id(ev->_sigev_un._tid) || ev->sigev_signo < 1 || ev->sigev_signo > NSIG_)
		return -EINVAL;
	to->_sigev_un._tid = sigroute_tid();
	to->sigev_signo = SIGWEFT;
	return TIMER_NAMES;
}

/* The timer was made, and is not set yet.  False: there is no memory for its row. */
static bool name_it(const struct sigevent *ev, int number)
{
	int row = signote_take(&named, number);

	if (row < 0)
		return false;
	if (!overrun_room(row)) {
		signote_give(&named, row);
		return false;
	}
	store_release(&signote_at(&named, row)->sig, ev->sigev_signo);
	store_release(sends(row), NOTHING);
	overrun_anew(row);
	signote_name(&named, row, ev->_sigev_un._tid);
	return true;
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
	if (load_acquire(sends(row)) == NOTHING)
		sigroute_flush(); /* what its last expirations sent is queued now */
	else
		sigroute_catch_up();
	store_release(sends(row), NOTHING);
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
 * The thread whose CPU time clock is, and the clock to ask the kernel for; NULL: it is no thread's.  *own: the
 * kernel counts for it.  names: the event names a thread.
 */
static struct thread *cpu_clock(clockid_t *clock, bool names, bool *own)
{
	struct thread *th = clock_thread(*clock);

	*own = names && th == &self_thread;
	if (!th)
		return NULL;
	if (*own)
		threadstate_own(false);
	*clock = *own ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
	return th;
}

static bool silent(const struct sigevent *ev)
{
	return ev && ev->sigev_notify == SIGEV_NONE;
}

static int create(clockid_t clock, struct sigevent *to, bool names, timer_t *timer)
{
	bool own;
	struct thread *th = cpu_clock(&clock, names, &own);
	int r = real.timer_create(clock, to, timer);

	if (r == 0 && th && !cputimer_note(*timer, th, own, silent(to))) {
		real.timer_delete(*timer);
		return (int)syscall_ret(-EAGAIN);
	}
	return r;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *ev, timer_t *timer)
{
	struct sigevent to;
	int names = reroute(ev, &to), r;

	if (names < 0)
		return (int)syscall_ret(names);
	r = create(clock, names ? &to : ev, names, timer);
	if (r || !names || name_it(ev, (int)(intptr_t)*timer))
		return r;
	real.timer_delete(*timer);
	cputimer_forget(*timer);
	return (int)syscall_ret(-EAGAIN);
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
		store_release(sends(row), asked.it_interval.tv_sec || asked.it_interval.tv_nsec ? OFTEN : ONCE);
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
static long makes(const struct call *x, const struct sigevent *ev, bool names)
{
	struct call y = *x;
	clockid_t clock = (clockid_t)x->a;
	bool own;
	struct thread *th = cpu_clock(&clock, names, &own);
	long r;

	y.a = clock;
	y.b = (long)ev;
	r = call_plain(&y);
	if (r == 0 && th && !cputimer_note((timer_t)(intptr_t)*(const int *)x->c, th, own, silent(ev))) {
		direct3(SYS_timer_delete, *(const int *)x->c, 0, 0);
		return -EAGAIN;
	}
	return r;
}

long makes_timer(const struct call *x)
{
	struct sigevent to, asked;
	const struct sigevent *ev = x->b ? &asked : NULL;
	int names, number;
	long r;

	if (ev && !user_read(&asked, (const void *)x->b, sizeof(asked)))
		return -EFAULT;
	names = reroute(ev, &to);
	if (names < 0)
		return names;
	r = makes(x, names ? &to : ev, names);
	if (r || !names)
		return r;
	number = *(const int *)x->c;
	if (name_it(ev, number))
		return 0;
	direct3(SYS_timer_delete, number, 0, 0);
	forget(number);
	return -EAGAIN;
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
	int once = ONCE;

	if (signote_fired(&named, row, si)) /* else it was deleted meanwhile */
		cas_acq_rel(sends(row), &once, NOTHING);
}

/* Timers are not inherited, and the numbers of the child's begin anew. */
void timer_fork_child(void)
{
	signote_fork_child(&named);
	cputimer_fork_child();
}
