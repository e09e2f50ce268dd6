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
	RETRY_URGENT = 100000, /* the same while somebody urgent waits */
};

struct monitor {
	uint64_t next_look;  /* when something is to be done at the latest; 0: nothing is known */
	uint64_t last_look;
	uint64_t slept, woke; /* sysmon itself, last time */
	int32_t seen_urgent; /* at the last look: what was asked for them is asked */
	bool computing;      /* some P computes for long: sysmon is interested in what is woken */
	bool serving;        /* and one that did serves now: it hears the descriptors soon */
	bool works;          /* some P works off what the poller brings, and each takes long */
	bool alarmed;        /* sysmon was woken before its time */
};

extern struct monitor mon hidden;

/* ---- preempt.c ---- */
/* used: of its slice, to be kept; 0: the slice is over.  Nothing, if it is not on a CPU. */
void preempt_ask(struct p *pp, uint64_t now, uint64_t used) hidden;
void preempt_resend(struct p *pp, uint64_t now) hidden; /* a signal that was sent, if it is lost */

/* ---- retake.c ---- */
uint64_t monitor_urgency(void) hidden; /* ns that who computes may go on while an urgent one waits */

/* ---- sysmonsleep.c ---- */
bool monitor_computed(struct p *pp, struct m *mp) hidden; /* all the time sysmon slept, and still does */

#endif
