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
 * wait for the CPU that this one uses.  For a slice: then the G is told to give way when the call is over, and a call
 * that lasts on loses its P, so that others share the CPU with it as threads do natively.
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

/*
 * ns of its slice that the G in pp's call has used: what its M used between looks that found the same G in a call,
 * one after another.  It may have given way in between, to Gs that ran for moments.  Calls that wait count for nothing,
 * but where clocks cannot be read.
 */
static uint64_t computed(struct p *pp, struct m *mp, uint64_t now)
{
	struct g *gp = load_relaxed(&mp->curg);
	uint64_t cpu = now;

	if (pp->mon.callwhen == now)
		return pp->mon.callused;
	if (os_thread_cpu(mp->ostid, &cpu))
		cpu = now;
	if (gp && gp == pp->mon.callg && pp->mon.callwhen == sysmon.last_look)
		pp->mon.callused += since(pp->mon.callcpu, cpu);
	else
		pp->mon.callused = pp->mon.usedns;
	pp->mon.callg = gp;
	pp->mon.callwhen = now;
	pp->mon.callcpu = cpu;
	return pp->mon.callused;
}

static void tell(struct p *pp, struct m *mp, uint64_t used)
{
	store_relaxed(&mp->giveused, used);
	store_relaxed(&mp->giveway, pp->mon.schedtick);
	/* Release: pairs with preempt_after_call(). */
	fetch_or_release(&mp->told, TOLD_GIVEWAY);
}

/* What waits was just woken, and no other M is about to run it. */
static bool is_woken(struct p *pp, uint64_t now)
{
	uint64_t t = load_seqcst(&pp->timer0);

	return load_seqcst(&sched.wakeupqsize) > 0 || (t && t <= now) ||
	       (load_relaxed(&gomaxprocs) == 1 && load_seqcst(&pp->runnext));
}

bool sysmon_calls_compute(struct p *pp, uint64_t now)
{
	struct m *mp = load_relaxed(&pp->sysm);

	return mp && !pp->own && (load_seqcst(&pp->timer0) || sysmon_work_waits(pp, now)) &&
	       computed(pp, mp, now) >= (uint64_t)weft_opt.wakeslice / CPUBOUND_PART;
}

/*
 * As check_slice() and check_wakeupq() for a G that computes outside of calls.  True: it shall give way, and is told.
 */
static bool shall_give_way(struct p *pp, uint64_t now)
{
	struct m *mp = load_relaxed(&pp->sysm);
	uint64_t used;

	if (!mp || pp->own || !sysmon_work_waits(pp, now) || load_seqcst(&sched.npidle) > 0)
		return false;
	used = computed(pp, mp, now);
	if (weft_opt.slice && used >= (uint64_t)weft_opt.slice) {
		tell(pp, mp, 0);
		pp->mon.callg = NULL;
		return true;
	}
	if (!weft_opt.wakeslice || !used || since(pp->mon.schedwhen, now) < sysmon_wakeslice() || !is_woken(pp, now))
		return false;
	tell(pp, mp, used);
	return true;
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
	bool shall, blocked;

	if (load_seqcst(&pp->status) != Psyscall)
		return false;
	shall = shall_give_way(pp, now);
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
	blocked = is_blocked(pp, now);
	if (!blocked && (!shall || since(pp->mon.syscallwhen, now) < (uint64_t)weft_opt.slice))
		return true;
	mp = load_relaxed(&pp->sysm);
	if (!cas_seqcst(&pp->status, &s, Pidle))
		return false;
	if (mp && !blocked)
		fetch_or_relaxed(&mp->told, TOLD_COMPUTED);
	else if (mp && since(pp->mon.syscallwhen, now) < SYSCALL_SLICE)
		fetch_or_relaxed(&mp->told, TOLD_RETAKEN);
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
