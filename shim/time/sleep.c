/*
 * sleep: everything that waits for time alone, and the two conversions to the runtime's deadlines.
 *
 * A sleeping G is a timer and holds no kernel thread.  A signal handler ends the sleep (lot_sleep
 * says EINTR) and the time that is left is reported, except for absolute sleeps, as POSIX wants it.
 * All of them are cancellation points.
 *
 * An absolute time stays one of its clock: the runtime follows when that is set.
 */
#include "compat/symbol.h"
#include "runtime/park.h"
#include "shim/sync/eintr.h"
#include "shim/syscall/usermem.h"
#include "shim/thread/tid.h"

#define SECOND 1000000000LL

/*
 * A library between this one and libc (libfaketime) may show the program clocks of its own.  The
 * program's waits do not reach that library, for this one stands before it: an absolute time comes
 * as that library counts, and the runtime waits by the kernel's clocks.  This is libc's
 * clock_gettime() then; NULL: the program reads the kernel's clocks.  Written before the first G.
 */
static __typeof__(real.clock_gettime) kernel_gettime;

void find_kernel_clock(void)
{
	__typeof__(kernel_gettime) libc_gettime =
		(__typeof__(kernel_gettime))symbol_libc("clock_gettime", NULL, NULL);

	if (libc_gettime != real.clock_gettime)
		kernel_gettime = libc_gettime;
}

/* ns that the kernel's clock shows; the clock exists. */
static uint64_t clock_ns(int clock)
{
	struct timespec ts;

	(likely(!kernel_gettime) ? real.clock_gettime : kernel_gettime)(clock, &ts);
	return (uint64_t)(ts.tv_sec * SECOND + ts.tv_nsec);
}

static bool known_clock(int clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC || clock == CLOCK_BOOTTIME ||
	       clock == CLOCK_TAI;
}

static bool valid_nsec(const struct timespec *ts)
{
	return ts->tv_nsec >= 0 && ts->tv_nsec < SECOND;
}

/* Saturating: past 1, beyond 2^63 ns never (0). */
int park_until(int clock, const struct timespec *abs, struct park *pk)
{
	int64_t at;

	if (!known_clock(clock) || !valid_nsec(abs))
		return EINVAL;
	park_until_ns(pk, 1);
	if (abs->tv_sec < 0)
		return 0;
	park_until_ns(pk, 0);
	if (__builtin_mul_overflow((int64_t)abs->tv_sec, SECOND, &at) ||
	    __builtin_add_overflow(at, abs->tv_nsec, &at))
		return 0;
	if (clock != CLOCK_MONOTONIC && at > 0)
		park_until_wall(pk, (uint64_t)at, clock);
	else
		park_until_ns(pk, at > 0 ? (uint64_t)at : 1);
	return 0;
}

/*
 * The program's clock is read first: what passes between the two makes the wait later, not shorter.
 * The distance is all that is known: of a clock that runs at another speed the wait is too short or
 * too long by that factor.
 */
int park_until_shown(int clock, const struct timespec *abs, struct park *pk)
{
	struct timespec shown, kernel, at = *abs;

	if (likely(!kernel_gettime) || !known_clock(clock) || !valid_nsec(abs))
		return park_until(clock, abs, pk);
	if (real.clock_gettime(clock, &shown) || kernel_gettime(clock, &kernel))
		return park_until(clock, abs, pk);
	at.tv_nsec += kernel.tv_nsec - shown.tv_nsec; /* more than -1 s, less than 2 s */
	kernel.tv_sec -= shown.tv_sec;
	if (at.tv_nsec < 0) {
		at.tv_nsec += SECOND;
		kernel.tv_sec--;
	} else if (at.tv_nsec >= SECOND) {
		at.tv_nsec -= SECOND;
		kernel.tv_sec++;
	}
	if (__builtin_add_overflow(abs->tv_sec, kernel.tv_sec, &at.tv_sec))
		at.tv_sec = kernel.tv_sec < 0 ? -1 : abs->tv_sec; /* long past, or never */
	return park_until(clock, &at, pk);
}

int deadline_in(const struct timespec *rel, uint64_t *deadline)
{
	int64_t at;

	if (rel->tv_sec < 0 || !valid_nsec(rel))
		return EINVAL;
	*deadline = 0;
	if (__builtin_mul_overflow((int64_t)rel->tv_sec, SECOND, &at) ||
	    __builtin_add_overflow(at, rel->tv_nsec, &at) ||
	    __builtin_add_overflow(at, (int64_t)nanotime(), &at))
		return 0;
	*deadline = (uint64_t)at;
	return 0;
}

/* Sleeps; true when a handler ran (whatever its flags: nanosleep is never restarted). */
static bool handler_ended_sleep(struct park *pk)
{
	uint64_t mark = eintr_mark();

	while (eintr_sleep(pk, mark) == -EINTR) {
		testcancel();
		if (eintr_ran(mark))
			return true;
	}
	return false;
}

/* Sleeps rel; 0, EINTR with *left (may be NULL, may be rel) or EINVAL. */
static int sleep_in(const struct timespec *rel, struct timespec *left)
{
	struct park pk = park_time(WaitSleep);
	uint64_t now;
	time_t asked = rel->tv_sec;

	testcancel(); /* whatever the time is, as libc's */
	if (deadline_in(rel, &pk.deadline))
		return EINVAL;
	if (rel->tv_sec == 0 && rel->tv_nsec == 0) {
		gosched(); /* sleeping for no time is how old programs say "others first" */
		return 0;
	}
	if (!handler_ended_sleep(&pk))
		return 0;
	if (!left)
		return EINTR;
	now = nanotime();
	if (!pk.deadline) { /* longer than the clock counts: what is left is as good as all of it */
		left->tv_sec = asked;
		left->tv_nsec = 0;
	} else {
		uint64_t rest = pk.deadline > now ? pk.deadline - now : 0;

		left->tv_sec = (time_t)(rest / SECOND);
		left->tv_nsec = (long)(rest % SECOND);
	}
	return EINTR;
}

/* The same of times in the program's memory: EFAULT too. */
static int sleep_asked(const struct timespec *req, struct timespec *rem)
{
	struct timespec rel, left;
	int err;

	if (!user_get(&rel, req, sizeof(rel))) {
		testcancel();
		return EFAULT;
	}
	err = sleep_in(&rel, rem ? &left : NULL);
	return err == EINTR && rem && !user_put(rem, &left, sizeof(left)) ? EFAULT : err;
}

/* Sleeps until clock shows abs; 0, EINTR or EINVAL. */
static int sleep_until(int clock, const struct timespec *abs)
{
	struct park pk = park_time(WaitSleep);

	testcancel(); /* whatever the time is, as libc's */
	/*
	 * The kernel refuses what no clock of its own can show, while timed locks take it as long past.  A clock
	 * of a library's may show a time before 1970.
	 */
	if ((abs->tv_sec < 0 && likely(!kernel_gettime)) || park_until_shown(clock, abs, &pk))
		return EINVAL;
	if (pk.deadline && pk.deadline <= clock_ns(clock))
		return 0;
	return handler_ended_sleep(&pk) ? EINTR : 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *req,
			   struct timespec *rem)
{
	struct timespec abs;
	int err;

	if (!on_g())
		return real.clock_nanosleep(clock, flags, req, rem);
	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return EINVAL; /* as glibc: one cannot sleep for time that only passes awake */
	if (clock_sleep(clock, flags, req, rem, true, &err))
		return err;
	if (!known_clock(clock))
		return (int)-block4(SYS_clock_nanosleep, clock, flags, req, rem);
	if (!(flags & TIMER_ABSTIME))
		return sleep_asked(req, rem);
	if (user_get(&abs, req, sizeof(abs)))
		return sleep_until(clock, &abs);
	testcancel();
	return EFAULT;
}

EXPORT int nanosleep(const struct timespec *req, struct timespec *rem)
{
	int err;

	if (!on_g())
		return real.nanosleep(req, rem);
	err = sleep_asked(req, rem);
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}
TWIN(nanosleep);
ALIAS(__nanosleep, nanosleep);

EXPORT int usleep(useconds_t us)
{
	struct timespec ts = {us / 1000000, us % 1000000 * 1000};

	return shim_nanosleep(&ts, NULL);
}

/* Whole seconds left, rounded down as glibc does; errno only changes when it was interrupted. */
EXPORT unsigned int sleep(unsigned int seconds)
{
	struct timespec ts = {seconds, 0};

	if (!on_g())
		return real.sleep(seconds);
	if (sleep_in(&ts, &ts) == 0)
		return 0;
	errno = EINTR;
	return (unsigned int)ts.tv_sec;
}

/* C11: -1 interrupted, -2 any other error. */
EXPORT int thrd_sleep(const struct timespec *req, struct timespec *rem)
{
	int err;

	if (!on_g())
		return real.thrd_sleep(req, rem);
	err = sleep_asked(req, rem);
	return err == 0 ? 0 : err == EINTR ? -1 : -2;
}
