/*
 * revoke: sysmon takes the P of an M that blocks where the shim does not see it: runtime/sysmon/blocked.c, lock.h.
 *
 * The model's step          The code
 * enter, leave              pin(), unpin(): locks goes through the store buffer, revoke is read after it
 * pin_slow                  waits while revoke is ASKED; takes TAKEN back to NONE, and gets a P (regainp())
 * Sysmon                    revokep(): ASKED, membarrier(), locks and the P read, the P taken, TAKEN or NONE
 * Other                     the M that is handed the P (handoffp())
 *
 * The G enters and leaves the runtime, and touches its P there; outside it computes or blocks.  The kernel's word that
 * it is blocked may be out of date: sysmon may ask at any moment.  `owner` says which M has the P.
 *
 * Holds: a G inside the runtime has a P that no other M has; the G never waits for ever.
 *
 * BROKEN 1: no membarrier between ASKED and the look at locks
 * BROKEN 2: the G reads revoke before it counts itself
 * BROKEN 3: sysmon relies on the look at locks that it had before it asked
 * BROKEN 4: revoke never says TAKEN, so that the G believes that it has its P still
 * BROKEN 5: the G does not wait while sysmon decides
 */
#ifndef BROKEN
#define BROKEN 0
#endif
mtype = { NONE, ASKED, TAKEN };
mtype revoke = NONE;
#define G_M 1
#define OTHER_M 2
byte owner = G_M;         /* of the one P */
bool locks;               /* in memory */
bool buffered;            /* locks = 1 is not in memory yet */
bool inside, over, idle;  /* idle: the P lies there for anybody */
byte asks;

inline count_in()
{
	buffered = true
}

inline drain()
{
	d_step {
		if
		:: buffered -> buffered = false; locks = true
		:: else
		fi
	}
}

inline pin_slow()
{
	do
	:: atomic { revoke == TAKEN -> buffered = false; locks = true; revoke = NONE };
		/* regainp(): an idle P, or the G is queued until there is one. */
		atomic { idle -> idle = false; owner = G_M };
		break
	:: revoke == NONE -> break
#if BROKEN == 5
	:: revoke == ASKED -> break
#endif
	od
}

proctype G()
{
	byte rounds = 0;
	bool seen;

	do
	:: rounds == 3 -> break
	:: else ->
		rounds++;
#if BROKEN == 2
		seen = revoke != NONE;
		count_in();
#else
		count_in();
		seen = revoke != NONE;
#endif
		if
		:: seen -> pin_slow()
		:: else
		fi;
		inside = true;
		assert(owner == G_M && !idle);
		/* Whatever it does inside, locked instructions among it. */
		drain();
		assert(owner == G_M && !idle);
		inside = false;
		atomic { buffered = false; locks = false }
		/* Outside: it computes, or blocks unseen. */
	od;
	over = true
}

active proctype Cpu()
{
end_cpu:
	do
	:: atomic { buffered -> buffered = false; locks = true }
	od
}

/* Another M, which runs a G on the P for a while and lets it lie then. */
active proctype Other()
{
end_other:
	do
	:: atomic { owner == OTHER_M -> owner = 0; idle = true }
	od
}

proctype Sysmon()
{
	do
	:: asks == 2 || over -> break
	:: else ->
		asks++;
		if
		:: !locks && owner == G_M ->
			revoke = ASKED;
#if BROKEN != 1
			drain(); /* membarrier(2): every CPU's buffer is written */
#endif
			if
			:: (!locks || BROKEN == 3) && owner == G_M ->
#if BROKEN == 4
				owner = OTHER_M;
				revoke = NONE
#else
				owner = OTHER_M;
				revoke = TAKEN
#endif
			:: else ->
				atomic {
					if
					:: revoke == ASKED -> revoke = NONE
					:: else
					fi
				}
			fi
		:: else
		fi
	od
}

init
{
	atomic { run G(); run Sysmon() };
	timeout;
	assert(over)
}
