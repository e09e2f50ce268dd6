/*
 * policy: what must hold between the constants of policy.h, and between these and the defaults of the
 * options of the same kind.
 *
 * No code: a relation that does not hold is an error of the compiler's.
 *
 * Must never: have state.
 */
#include "runtime/sched/policy.h"

/* The defaults of the options that are numbers, as Dflt_NAME. */
#define DFLT_uint(name, dflt) Dflt_##name = dflt,
#define DFLT_bool(name, dflt) Dflt_##name = dflt,
#define DFLT_nsec(name, dflt) Dflt_##name = dflt,
#define DFLT_size(name, dflt)
#define DFLT_msec(name, dflt)
#define DFLT_sig(name, dflt)
#define DFLT_str(name, dflt)
#define DFLT_set(name, dflt)
#define DFLT_word(name, dflt)
#define OPT(name, type, dflt, help) DFLT_##type(name, dflt)
enum {
#include "runtime/base/options.def"
};

#define DFLT(name) ((int)Dflt_##name)
#define NEEDS(x, why) _Static_assert(x, why)

NEEDS((RUNQ_SIZE & (RUNQ_SIZE - 1)) == 0, "a place in the ring is a count of 32 bits modulo its size");
NEEDS(RUNQ_SIZE / 2 >= STEAL_LONG, "a thief takes half a ring at most");
NEEDS(RUNQ_SIZE > (int)NETPOLL_BATCH, "what one look at the descriptors brings fits beside others");
NEEDS(DFLT(pollsurplus) == NETPOLL_BATCH, "a batch alone wakes no P, as the help of pollsurplus says");
NEEDS(DFLT(nap) <= NAP_MAX, "naps grow");
NEEDS(POLL_SPIN_MAX <= SPIN_FAR / 2, "a wait that a look might have caught is no long one, though it slept");

NEEDS(TICK_FIRST < TICK_WAITS && TICK_WAITS < TICK_MAX, "sysmon's looks become rarer");
NEEDS(WAKER_GAP <= (int)WAITS_LONG, "each wake-up after a wait that was too long wakes an M");
NEEDS(SYSMON_PART_URGENT < SYSMON_PART, "for a G that waits sysmon may use more");
NEEDS(DFLT(wakeslice) << WATCH_MISSES > (int)CPUBOUND_FIRST_NS, "a P that serves is not asked about all the time");
NEEDS(TICK_MAX * 1000 <= SYSCALL_SLICE, "a P is taken from a system call at the look after its slice");
NEEDS(SWITCHES < SLEPT_MIN, "what switching takes must not be all of a sleep that proves something");
NEEDS(SLEPT_MIN < (int)TICK_GAP_MIN, "the usual sleep between two looks proves something");

NEEDS(PREEMPT_RETRY_WAKEUP <= PREEMPT_RETRY, "a woken G waits for no longer than a slice's end");
NEEDS(PREEMPT_RETRY_WAKEUP == DFLT(wakeslice), "a woken G is waited for as long each time");
NEEDS(CPUBOUND_FIRST_NS < CPUBOUND_NS, "the time is doubled up to its bound");
NEEDS(CPUBOUND_FIRST_NS > DFLT(wakeslice), "longer than what it takes to see that a G computes");

NEEDS(BLOCKED_GAP_MIN < BLOCKED_GAP_SUSPECT * 1000, "the next look is not the one that is skipped");
NEEDS(BLOCKED_GAP_SUSPECT + BLOCKED_GAP_WORK < 1000,
      "us: where Ms block unseen, queued work finds a P within a millisecond");
NEEDS(BLOCKED_GAP_WORK < (int)TICK_WAITS, "the looks become rarer where none does");
NEEDS(MISS_NS * MISSES_MAX < BLOCKED_GAP_WORK * 1000, "a blocked M that was doubted loses its P soon");
NEEDS(KEEP_P == (int)SYSCALL_SLICE, "an M that blocks unseen keeps its P as long as one that is seen");
NEEDS(PRODS_FORCE * PROD_AGAIN == (int)PREEMPT_FORCE, "libc's locks count for the same time in both");

NEEDS(GFREE_LOW < GFREE_REFILL && GFREE_REFILL < GFREE_HIGH, "a P does not fill its list and empty it in turn");
NEEDS(LOCK_MISSED < LOCK_MISSED_MAX, "the time is doubled up to its bound");
NEEDS(CPUTIMER_TICK < CPUTIMER_PAUSE, "the time is doubled up to its bound");
