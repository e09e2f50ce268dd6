/*
 * sysmon: what sysmon knows from one look to the next.
 *
 * retake.c judges the Ps, preempt.c asks one of them, sysmonsleep.c sleeps until there is something to
 * do.  All of it is sysmon's alone, but for sysmon_wake_by (gmp.h).
 *
 * Must never: be included by anybody else, but for scavenge.c, which has a P asked, and sysmon.c.
 */
#ifndef WEFT_SYSMON_H
#define WEFT_SYSMON_H

#include "runtime/sched/gmp.h"

struct sysmon {
	uint64_t next_tick;  /* when something is to be done at the latest; 0: nothing is known */
	uint64_t last_tick;
	uint64_t last_look;  /* the look before that one */
	uint64_t sleep_began, sleep_ended; /* sysmon itself, last time */
	/* woken Gs at the last look: preemptions for these have been requested */
	int32_t seen_wakeupq;
	bool any_cpubound;   /* some P computes for long: sysmon wants to be told what is woken */
	bool any_blind;      /* one of these has no alarm set: sysmon alone sees what is due there */
	bool blind_waits;    /* and something waits there */
	uint64_t ownpoll;    /* sched.lastpoll as sysmon left it */
	/* a P that was CPU-bound is I/O-bound now: it polls the descriptors soon */
	bool any_iobound;
	bool any_draining;   /* some P drains what the poller brings, and each G takes long */
	bool urgent;         /* beside a P that computes for long a G waits, or a timer does */
	/* when it last found work beside an idle P, a P whose M blocks, a timer, or as the poller an event for a G */
	uint64_t helped;
	bool woken_early;    /* sysmon was woken before its time */
	int32_t tid;         /* of sysmon itself */
	uint64_t used, usedwhen; /* its CPU clock when it was read last, and when that was */
	uint64_t saved;      /* CPU ns that it may use at once: what it did not use of its part */
};

extern struct sysmon sysmon hidden;

/* ---- preempt.c ---- */
/*
 * used: ns of its slice that the G has used and keeps; 0: the slice is over.  Does nothing if the M
 * is not on a CPU.
 */
void preemptone(struct p *pp, uint64_t now, uint64_t used) hidden;

/* ---- retake.c ---- */
/* ns for which a CPU-bound G may go on while a woken G waits */
uint64_t sysmon_wakeslice(void) hidden;
/* Something waits that pp would run next. */
bool sysmon_work_waits(struct p *pp, uint64_t now) hidden;

/* ---- insyscall.c ---- */
/* Takes Ps from calls that block; us until a call that may be blocked is to be looked at again, 0: there is none. */
/* pp's G computes, in calls, for CPUBOUND_PART of a wakeslice or more, and others wait or will. */
bool sysmon_calls_compute(struct p *pp, uint64_t now) hidden;
uint32_t retake_syscalls(uint64_t now, bool *taken) hidden;

/* ---- sysmonsleep.c ---- */
/* mp computed for all the time that sysmon slept, and still does */
bool sysmon_saw_running(struct p *pp, struct m *mp) hidden;
bool sysmon_saw_clock(struct p *pp, struct m *mp) hidden;

#endif
