/*
 * sysmon: what sysmon knows from one look to the next.
 *
 * retake.c judges the Ps, preempt.c asks one of them, sysmonsleep.c sleeps until there is something to
 * do.  All of it is sysmon's alone, but for monitor_alarm (gmp.h).
 *
 * Must never: be included by anybody else, but for scavenge.c, which has a P asked, and sysmon.c.
 */
#ifndef WEFT_MONITOR_H
#define WEFT_MONITOR_H

#include "runtime/sched/gmp.h"

enum {
	RETRY = 1000000,       /* ns between two requests to a G that could not give way, or looks at it */
	RETRY_URGENT = 100000, /* the same while an urgent G waits */
};

struct monitor {
	uint64_t next_look;  /* when something is to be done at the latest; 0: nothing is known */
	uint64_t last_look;
	uint64_t slept, woke; /* sysmon itself, last time */
	/* urgent Gs at the last look: preemptions for these have been requested */
	int32_t seen_urgent;
	bool computing;      /* some P computes for long: sysmon wants to be told what is woken */
	/* a P that computed for long serves now: it polls the descriptors soon */
	bool serving;
	bool works;          /* some P drains what the poller brings, and each G takes long */
	bool alarmed;        /* sysmon was woken before its time */
};

extern struct monitor mon hidden;

/* ---- preempt.c ---- */
/*
 * used: ns of its slice that the G has used and keeps; 0: the slice is over.  Does nothing if the M
 * is not on a CPU.
 */
void preempt_ask(struct p *pp, uint64_t now, uint64_t used) hidden;
/* sends a signal again that was sent and is lost */
void preempt_resend(struct p *pp, uint64_t now) hidden;

/* ---- retake.c ---- */
/* ns for which a G that computes may go on while an urgent G waits */
uint64_t monitor_urgency(void) hidden;

/* ---- sysmonsleep.c ---- */
/* mp computed for all the time that sysmon slept, and still does */
bool monitor_computed(struct p *pp, struct m *mp) hidden;

#endif
