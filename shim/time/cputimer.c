/*
 * cputimer: timers on the CPU time of one thread.
 *
 * The kernel counts kernel threads.  A timer on the caller's own time whose signal is for a thread that it names is
 * the kernel's: so a profiler asks, often, and wants the signal where the time was used.  The caller has a kernel
 * thread of its own from then on (threadstate_own()).  That thread may have run others before, so an absolute time is
 * shifted by what it had used already.
 *
 * Others are watchdogs, of the caller's time or another's.  On which kernel thread a G will be is not known.  Its timer
 * is one of the kernel's on CLOCK_MONOTONIC, with the event that the program asked for, and is armed only to go
 * off at once.  The signal thread decides when: it looks at the thread's CPU time, no sooner than
 * the time can have come at full speed, and less often while the thread does not run.
 *
 * Rejected: a kernel thread for the other G.  It would have to be asked for while it waits or sits in a
 * call, and its maker to wait for that.  A kernel thread for each caller: haproxy's threads have a watchdog each, and
 * paid two switches of kernel threads for each turn (procs=1: 0.7 of native's rate).
 *
 * Must never: count expirations of which no signal could tell (timer_getoverrun() says none).
 */
#include "runtime/process.h"
#include "runtime/sched/policy.h"
#include "shim/time/cputimer.h"

#include "shim/thread/tid.h"
#include "shim/signal/sigroute.h"
#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"
#include "shim/syscall/tablepart.h"

enum { CPUTIMERS = 2048 };

enum kind { FREE, OWN, OTHERS };

struct cputimer {
	timer_t timer;
	uint32_t id;       /* of the thread, the kernel may have given it to another since */
	uint8_t kind;
	bool silent;       /* SIGEV_NONE: it is only read */
	uint64_t due;      /* of the thread's time, 0: not armed */
	uint64_t interval;
	uint64_t seen;     /* the thread's CPU time at the last look */
	uint64_t pause;    /* ns until the next look, at least */
};

static struct shimlock lock = SHIMLOCK(Cputimer);
static void *_Atomic part;  /* CPUTIMERS of them, mapped when first needed */
static _Atomic uint32_t used; /* (L) rows that have ever been used, of the first ones */

static struct cputimer *rows(void)
{
	return load_acquire(&part);
}

/* Under the lock.  NULL: no such. */
static struct cputimer *find(timer_t timer)
{
	for (uint32_t i = 0; i < load_acquire(&used); i++)
		if (rows()[i].kind != FREE && rows()[i].timer == timer)
			return &rows()[i];
	return NULL;
}

/* Its time in ns; false: it has ended. */
static bool time_of(uint32_t id, uint64_t *ns)
{
	struct thread *th = thread_by_id(id);

	if (!th)
		return false;
	*ns = g_cputime(th->g, NULL);
	return true;
}

bool cputimer_note(timer_t timer, struct thread *th, bool own, bool silent)
{
	struct cputimer *rows = tablepart(&part, CPUTIMERS * sizeof(*rows));
	bool noted = false;

	if (!rows)
		return false;
	runtime_fromnow(FROMNOW_CPUTIME);
	shimlock(&lock);
	for (uint32_t i = 0; i < CPUTIMERS && !noted; i++) {
		if (rows[i].kind != FREE)
			continue;
		rows[i] = (struct cputimer){ .timer = timer,
					     .id = g_tid(th->g),
					     .kind = own ? OWN : OTHERS,
					     .silent = silent };
		if (i >= load_acquire(&used))
			store_release(&used, i + 1);
		noted = true;
	}
	shimunlock(&lock);
	return noted;
}

void cputimer_forget(timer_t timer)
{
	struct cputimer *t;

	if (likely(!load_acquire(&used)))
		return;
	shimlock(&lock);
	t = find(timer);
	if (t)
		t->kind = FREE;
	shimunlock(&lock);
}

static int64_t ns_of(const struct timespec *ts)
{
	int64_t ns;

	if (__builtin_mul_overflow((int64_t)ts->tv_sec, (int64_t)1000000000, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)ts->tv_nsec, &ns))
		return INT64_MAX;
	return ns;
}

static struct timespec ts_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

bool timer_valid(const struct itimerspec *it)
{
	return !bad_nsec(&it->it_value) && !bad_nsec(&it->it_interval) && it->it_value.tv_sec >= 0 &&
	       it->it_interval.tv_sec >= 0;
}

/* The first that is due after now; 0: none. */
static uint64_t next_due(const struct cputimer *t, uint64_t now)
{
	if (now < t->due)
		return t->due;
	return t->interval ? t->due + ((now - t->due) / t->interval + 1) * t->interval : 0;
}

/*
 * Under the lock.  As the kernel: one that is due but was not told yet has a nanosecond left.  One that tells nothing
 * is over then.
 */
static void remains(struct cputimer *t, struct itimerspec *it)
{
	uint64_t now;

	*it = (struct itimerspec){ 0 };
	if (!t->due || !time_of(t->id, &now))
		return;
	if (t->silent && !(t->due = next_due(t, now)))
		return;
	it->it_interval = ts_of(t->interval);
	it->it_value = ts_of(t->due > now ? t->due - now : 1);
}

/* False: its thread has ended. */
static bool arm(struct cputimer *t, int flags, const struct itimerspec *it)
{
	uint64_t value = (uint64_t)ns_of(&it->it_value), now = 0;

	t->due = 0;
	if (!time_of(t->id, &now))
		return false;
	if (!value)
		return true;
	t->interval = (uint64_t)ns_of(&it->it_interval);
	t->due = flags & TIMER_ABSTIME ? value : now + value;
	t->seen = now;
	t->pause = 0;
	return true;
}

/* Absolute on the clock that the program reads: what its kernel thread will show then. */
static void shift(const struct cputimer *t, struct itimerspec *it)
{
	struct thread *th = thread_by_id(t->id);
	struct timespec kernel;
	int64_t at = ns_of(&it->it_value);
	clockid_t clock;

	if (!th || !at || at == INT64_MAX)
		return;
	clock = (clockid_t)(~(uint32_t)g_m(th->g).ostid << 3 | 6);
	if (direct3(SYS_clock_gettime, clock, &kernel, 0))
		return;
	at += ns_of(&kernel) - (int64_t)g_cputime(th->g, NULL);
	it->it_value = ts_of(at > 0 ? (uint64_t)at : 1);
}

bool cputimer_set(timer_t timer, int flags, const struct itimerspec **new, struct itimerspec *old,
		  struct itimerspec *room, long *r)
{
	static const struct itimerspec never;
	bool ours, good, read, gone = false;
	struct itimerspec was;
	struct cputimer *t;

	if (likely(!load_acquire(&used)) || !*new)
		return false;
	read = user_read(room, *new, sizeof(*room));
	good = read && timer_valid(room);
	shimlock(&lock);
	t = find(timer);
	ours = t && t->kind == OTHERS;
	if (t && t->kind == OWN && good && flags & TIMER_ABSTIME) {
		shift(t, room);
		*new = room;
	} else if (ours && good) {
		remains(t, &was);
		real.timer_settime(t->timer, 0, &never, NULL); /* what it sent and nobody took: as the kernel has it */
		gone = !arm(t, flags, room);
	}
	shimunlock(&lock);
	if (!ours)
		return false;
	*r = gone ? -ESRCH : good ? 0 : read ? -EINVAL : -EFAULT;
	if (good && !gone && old && !user_write(old, &was, sizeof(was)))
		*r = -EFAULT;
	sigroute_ring();
	return true;
}

bool cputimer_get(timer_t timer, struct itimerspec *it, long *r)
{
	struct itimerspec now;
	struct cputimer *t;
	bool ours;

	if (likely(!load_acquire(&used)))
		return false;
	shimlock(&lock);
	t = find(timer);
	ours = t && t->kind == OTHERS;
	if (ours)
		remains(t, &now);
	shimunlock(&lock);
	if (ours)
		*r = user_write(it, &now, sizeof(now)) ? 0 : -EFAULT;
	return ours;
}

/* Under the lock: when to look again, 0: not. */
static uint64_t look(struct cputimer *t)
{
	static const struct itimerspec at_once = { .it_value = { 0, 1 } };
	uint64_t now, left;

	if (t->kind != OTHERS || !t->due || t->silent)
		return 0;
	if (!time_of(t->id, &now)) {
		t->due = 0;
		return 0;
	}
	if (now >= t->due) {
		real.timer_settime(t->timer, 0, &at_once, NULL);
		t->due = next_due(t, now);
		if (!t->due)
			return 0;
	}
	if (now != t->seen)
		t->pause = CPUTIMER_TICK;
	else if ((t->pause = t->pause ? t->pause * 2 : CPUTIMER_TICK) > CPUTIMER_PAUSE)
		t->pause = CPUTIMER_PAUSE;
	t->seen = now;
	left = t->due - now;
	return nanotime() + (left > t->pause ? left : t->pause);
}

bool cputimer_any(void)
{
	return load_acquire(&used) != 0;
}

uint64_t cputimer_look(void)
{
	uint64_t first = 0;

	if (likely(!load_acquire(&used)))
		return 0;
	shimlock(&lock);
	for (uint32_t i = 0; i < load_acquire(&used); i++) {
		uint64_t next = look(&rows()[i]);

		if (next && (!first || next < first))
			first = next;
	}
	shimunlock(&lock);
	return first;
}

/* Timers are not inherited. */
void cputimer_fork_child(void)
{
	shimlock_fork_child(&lock);
	for (uint32_t i = 0; rows() && i < CPUTIMERS && i < load_relaxed(&used); i++)
		rows()[i].kind = FREE;
	store_relaxed(&used, 0);
}
