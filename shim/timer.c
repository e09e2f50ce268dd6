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

EXPORT int timer_create(clockid_t clock, struct sigevent *ev, timer_t *timer)
{
	struct sigevent to;
	long id;
	int slot;

	activate_for(ev);
	if (!weft_on || !ev || ev->sigev_notify != SIGEV_THREAD_ID ||
	    ev->_sigev_un._tid < G_ID_MIN)
		return real.timer_create(clock, ev, timer);
	id = ev->_sigev_un._tid;
	if (!thread_by_id(id))
		return (int)syscall_ret(-EINVAL);
	slot = reserve();
	if (slot < 0)
		return (int)syscall_ret(-EAGAIN);
	to = *ev;
	to._sigev_un._tid = sigroute_tid();
	if (real.timer_create(clock, &to, timer)) {
		atomic_store(&named[slot].target, FREE);
		return -1;
	}
	atomic_store(&named[slot].number, (int)(intptr_t)*timer);
	atomic_store(&named[slot].target, id);
	return 0;
}

EXPORT int timer_delete(timer_t timer)
{
	int r = real.timer_delete(timer);

	for (int i = 0; r == 0 && weft_on && i < TIMERS; i++)
		if (atomic_load(&named[i].target) > BUSY &&
		    atomic_load(&named[i].number) == (int)(intptr_t)timer)
			atomic_store(&named[i].target, FREE);
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
