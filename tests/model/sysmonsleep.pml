/*
 * sysmonsleep: sysmon's two sleeps, and who wakes it: runtime/sysmon/sysmon.c (sleep_deep()), sysmonsleep.c.
 *
 * The model's step          The code
 * deep                      sleep_deep(): sysmonwait = 1, npidle read, futex
 * takes a P                 pidleget(): npidle changes, sysmonwait read by exchange (sysmon_wake())
 * alarm                     sysmon_sleep(): sysmonwake = 0, sysmonuntil published, missed_wakeup(), futex or poll
 * wakes                     sysmon_wake_by(): work published, sysmonuntil read, sysmonwake by exchange, then the futex or
 *                           netpoll_break()
 *
 * A sleep has no deadline here: what would only be noticed at its end counts as lost.
 *
 * Holds: sysmon does not sleep deep while an M has a P; it does not sleep while work is due that it has not seen.
 *
 * BROKEN 1: sysmon looks for busy Ps before it says that it sleeps
 * BROKEN 2: sysmon does not look for what became due before it published its deadline
 * BROKEN 3: a waker looks whether sysmon sleeps before it publishes the work
 * BROKEN 4: sysmon does not look at sysmonwake after it said that it polls
 * BROKEN 5: sysmon says that it polls after it looked at sysmonwake
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define PS 2

byte npidle = PS;
bool sysmonwait;          /* futex */
bool sysmonwake;          /* futex */
bool sysmonuntil;         /* not 0 */
bool sysmonpolls, wakesig;
byte due, seen;           /* wakeupqsize; what sysmon had of it at its last look */
byte looks;

proctype Sysmon()
{
	bool missed;

	do
	:: seen = due; looks = (looks < 3 -> looks + 1 : 3);
		if
		:: npidle >= PS ->
#if BROKEN != 1
			sysmonwait = true;
			if
			:: npidle < PS -> sysmonwait = false
			:: else ->
end_deep:
				!sysmonwait
			fi
#else
			sysmonwait = true;
end_deep1:
			!sysmonwait
#endif
		:: else ->
			sysmonwake = false;
			sysmonuntil = true;
			missed = due > seen;
#if BROKEN == 2
			missed = false;
#endif
			if
			:: missed
			:: !missed ->
end_futex:
				sysmonwake
			:: !missed ->
#if BROKEN == 5
				missed = sysmonwake || due > seen;
#endif
				sysmonpolls = true;
#if BROKEN != 4 && BROKEN != 5
				missed = sysmonwake || due > seen;
#endif
				if
				:: missed
				:: else ->
end_polls:
					wakesig -> wakesig = false
				fi;
				sysmonpolls = false
			fi;
			sysmonuntil = false
		fi
	od
}

inline sysmon_wake()
{
	atomic { was = sysmonwait; sysmonwait = false } /* and the futex is woken */
}

inline sysmon_wake_by()
{
	if
	:: sysmonuntil ->
		atomic { was = sysmonwake; sysmonwake = true };
		if
		:: !was ->
			if
			:: sysmonpolls -> wakesig = true
			:: else /* futex_wake(): a sleeper sees sysmonwake */
			fi
		:: else
		fi
	:: else
	fi
}

/* An M takes a P, computes, and has work come due meanwhile. */
proctype M()
{
	bool was;
	byte before;

	atomic { before = npidle; npidle-- };
	if
	:: before == PS -> sysmon_wake()
	:: else
	fi;
#if BROKEN == 3
	sysmon_wake_by();
	due++
#else
	due++;
	sysmon_wake_by()
#endif
}

init
{
	atomic { run Sysmon(); run M(); run M() };
	timeout;
	/* Both Ps are busy: sysmon sleeps, with all seen. */
	assert(npidle == 0 && seen == due && !sysmonwait)
}
