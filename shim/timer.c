/*
 * timer: timer_create with SIGEV_THREAD_ID names a thread, and a G's id is none of the kernel's.
 *
 * The kernel sends such a timer's signal to the signal thread instead, which reads the timer's
 * number in the siginfo and directs it at the G that was named.  SIGEV_SIGNAL is the process's,
 * SIGEV_THREAD runs on a thread of libc's own (foreign to us): both stay as they are.
 *
 * Must never: look at the G through a pointer kept since creation: it may have ended; its id is
 * looked up.
 */
#include "shim/ids.h"
#include "shim/sigroute.h"
#include "shim/syscall.h"

enum { TIMERS = 1024 };

/* Slots are taken and freed by compare-and-swap on target; number is written while it is BUSY. */
enum { FREE = 0, BUSY = 1 };
static struct {
	_Atomic long target; /* a G's id */
	_Atomic int number;
} named[TIMERS];

static int reserve(void)
{
	for (int i = 0; i < TIMERS; i++) {
		long none = FREE;

		if (atomic_compare_exchange_strong(&named[i].target, &none, BUSY))
			return i;
	}
	return -1;
}

/*
 * ev names a G, main included: a slot, and *to is the event for the kernel.  NONE: it does not;
 * else -errno.
 */
enum { NONE = TIMERS };
static int reroute(const struct sigevent *ev, struct sigevent *to)
{
	int slot;

	activate_for(ev);
	if (!weft_on || !ev || ev->sigev_notify != SIGEV_THREAD_ID ||
	    (ev->_sigev_un._tid < G_ID_MIN && !thread_by_id(ev->_sigev_un._tid)))
		return NONE;
	if (!thread_by_id(ev->_sigev_un._tid))
		return -EINVAL;
	slot = reserve();
	if (slot < 0)
		return -EAGAIN;
	*to = *ev;
	to->_sigev_un._tid = sigroute_tid();
	return slot;
}

/* r: what became of the timer; its number is read only if it was made. */
static void name_it(int slot, const struct sigevent *ev, long r, const int *number)
{
	if (r == 0)
		atomic_store(&named[slot].number, *number);
	atomic_store(&named[slot].target, r == 0 ? ev->_sigev_un._tid : FREE);
}

static void forget(int number)
{
	for (int i = 0; weft_on && i < TIMERS; i++)
		if (atomic_load(&named[i].target) > BUSY &&
		    atomic_load(&named[i].number) == number)
			atomic_store(&named[i].target, FREE);
}

EXPORT int timer_create(clockid_t clock, struct sigevent *ev, timer_t *timer)
{
	struct sigevent to;
	int slot = reroute(ev, &to), number, r;

	if (slot == NONE)
		return real.timer_create(clock, ev, timer);
	if (slot < 0)
		return (int)syscall_ret(slot);
	r = real.timer_create(clock, &to, timer);
	number = r ? 0 : (int)(intptr_t)*timer;
	name_it(slot, ev, r, &number);
	return r;
}

EXPORT int timer_delete(timer_t timer)
{
	int r = real.timer_delete(timer);

	if (r == 0)
		forget((int)(intptr_t)timer);
	return r;
}

/* The same by number, where a timer is an int. */
long makes_timer(const struct call *x)
{
	const struct sigevent *ev = (const struct sigevent *)x->b;
	struct sigevent to;
	struct call y = *x;
	int slot = reroute(ev, &to);
	long r;

	if (slot == NONE)
		return call_plain(x);
	if (slot < 0)
		return slot;
	y.b = (long)&to;
	r = call_plain(&y);
	name_it(slot, ev, r, (const int *)x->c);
	return r;
}

long ends_timer(const struct call *x)
{
	long r = call_plain(x);

	if (r == 0)
		forget((int)x->a);
	return r;
}

/* The thread that the timer of this signal names, or NULL. */
struct thread *timer_target(const siginfo_t *si)
{
	for (int i = 0; si->si_code == SI_TIMER && i < TIMERS; i++) {
		long id = atomic_load(&named[i].target);

		if (id > BUSY && atomic_load(&named[i].number) == si->si_timerid)
			return thread_by_id(id);
	}
	return NULL;
}
