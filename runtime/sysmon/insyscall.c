/*
 * insyscall: Ps in system calls that last, and which of them sysmon takes.
 *
 * A P is taken from a call only if all of this holds:
 *
 *   somebody gains   a G waits that no idle M would run, or no M polls; after SYSCALL_SLICE this is not
 *                    asked, so that a process that waits as a whole lets sysmon sleep
 *   it stands        the CPU clock of the call's M stands still between two looks
 *   it is blocked    the kernel says so: an M that waits for its CPU uses none either
 *
 * A call that computes in the kernel (a sendmmsg() over loopback, a large read) keeps its P: another M would only
 * wait for the CPU that this one uses.
 *
 * Where clocks cannot be read, the second look decides; where the kernel does not say, the clock.  The M whose
 * P was taken notes that in its G (entersyscall.c), which then gives the P away itself where a call of its
 * blocks.
 *
 * Must never: run on anything but sysmon; take a P otherwise than by compare-and-swap from Psyscall.
 */
#include "runtime/sysmon/sysmon.h"
#include "runtime/sched/tracehook.h"

/* us until the next look at a call that may be blocked; the less often that proved true, the longer. */
static uint32_t suspect_gap = BLOCKED_GAP_SUSPECT;

/* A G waits that an M with pp would run, and that no other M is about to run. */
static bool gains(struct p *pp, uint64_t now)
{
	uint64_t t = load_seqcst(&pp->timer0);

	if (!runqempty(pp) || (t && t <= now) || pp->id >= load_acquire(&gomaxprocs))
		return true;
	/* An idle M steals, polls and runs timers. */
	if (load_seqcst(&sched.npidle) + load_seqcst(&sched.nmspinning) > 0)
		return false;
	return nobody_polls() || anywork();
}

/* The clock of the call's M; false: it cannot be read. */
static bool clock_of(struct p *pp, uint64_t *cpu)
{
	struct m *mp = load_relaxed(&pp->sysm);

	return mp && !os_thread_cpu(mp->ostid, cpu);
}

/* pp's M is in the kernel's queue of none: it waits for something. */
static bool is_blocked(struct p *pp, uint64_t now)
{
	struct m *mp = load_relaxed(&pp->sysm);
	struct os_where where;
	uint64_t cpu;

	if (!pp->mon.syscallclock)
		return true;
	if (!clock_of(pp, &cpu) || cpu != pp->mon.syscallcpu) {
		pp->mon.syscallcpu = cpu;
		pp->mon.syscallstill = now;
		return false;
	}
	if (now - pp->mon.syscallstill < pp->mon.syscallmisses * (uint64_t)MISS_NS)
		return false;
	if (procfs_blocked(mp->ostid, &where)) {
		pp->mon.syscallmisses = 0;
		return true;
	}
	if (pp->mon.syscallmisses < MISSES_MAX)
		pp->mon.syscallmisses++;
	return false;
}

/* The first look at this call at which somebody would gain. */
static void watch(struct p *pp, uint64_t now)
{
	pp->mon.syscallcpu = 0;
	pp->mon.syscallclock = clock_of(pp, &pp->mon.syscallcpu);
	pp->mon.syscallstill = now;
	pp->mon.syscallwatched = true;
}

/* Looks at pp; true: its call may be blocked, and another look will tell. */
static bool look(struct p *pp, uint64_t now, bool *taken)
{
	uint32_t tick = load_relaxed(&pp->syscalltick), s = Psyscall;
	struct m *mp;

	if (load_seqcst(&pp->status) != Psyscall)
		return false;
	if (pp->mon.syscalltick != tick || !pp->mon.syscallwhen) {
		pp->mon.syscalltick = tick;
		pp->mon.syscallwhen = now;
		pp->mon.syscallwatched = false;
	}
	if (since(pp->mon.syscallwhen, now) < SYSCALL_SLICE && !gains(pp, now))
		return false;
	if (!pp->mon.syscallwatched) {
		watch(pp, now);
		return true;
	}
	if (!is_blocked(pp, now))
		return true;
	mp = load_relaxed(&pp->sysm);
	if (!cas_seqcst(&pp->status, &s, Pidle))
		return false;
	if (mp && since(pp->mon.syscallwhen, now) < SYSCALL_SLICE)
		store_relaxed(&mp->retaken, true);
	fetch_add_relaxed(&pp->syscalltick, 1);
	*taken = true;
	if (mp)
		trace_handoff(pp, mp);
	sysmon_note_retaken();
	handoffp(pp);
	return false;
}

uint32_t retake_syscalls(uint64_t now, bool *taken)
{
	bool suspect = false;

	*taken = false;
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		suspect |= look(allp[i], now, taken);
	if (*taken)
		suspect_gap = BLOCKED_GAP_SUSPECT;
	else if (suspect && suspect_gap < TICK_WAITS)
		suspect_gap *= 2;
	return suspect ? suspect_gap : 0;
}
