/*
 * pstart: a P between two Ms: idle list, pstart, nextp, a P count that changes: runtime/sched/pstart.c, p.c, idle.c, m.c.
 *
 * The model's step          The code
 * submit                    globrunqwoken() by a thread without a P, then startm(NULL) (wakep() is spinning.pml's)
 * start                     startm(): idle list, then an idle M (nextp), else pstart and the poller's sleep is broken
 * M, with a P               findrunnable(): takes what is queued, else pidleput(releasep())
 * retire                    p_retire_if_dying(): the P is nobody's, then pidleput() with the lock
 * poll                      idle(), poll_idle(): lastpoll = 0, npstart read, sleep, lastpoll again, another look
 * stop                      stopm(): pstartget(), else the list of idle Ms
 * Spawner                   m_start_wanted(): counts, then makes an M, for which it needs a lock of the program's
 * Resize                    procresize(): 1 P, then perhaps 2 again; what is in transit stays
 *
 * What stands between lock(&sched.lock) and unlock() is one step.  One M is there, another is made.  Two Gs are queued from
 * outside; the first has the lock for which the spawner waits.  The M of one G (for_owner()) is left out.
 *
 * Holds: a P is in one place; no M is idle while a P is in pstart; when nothing can move any more all Gs have run, and
 * each P whose number is good is with an M or idle, the others dead.
 *
 * BROKEN 1: an M goes idle without a look at pstart
 * BROKEN 2: a P in pstart is kept for the M that is being made
 * BROKEN 3: startm() does not break the poller's sleep
 * BROKEN 4: the poller looks at pstart before it says that it polls, and not after
 * BROKEN 5: startm() looks for an idle M, and puts the P into pstart when it has the lock again
 * BROKEN 6: pidleput() does not ask whether the number is still good
 * BROKEN 7: a P count that grows lists a P that is on its way to the list already
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define PS 2
#define NONE 9

mtype = { RUNS, IDLE, START, NEXT, HAND, DEAD };
mtype at[PS] = IDLE;
byte gomaxprocs = PS;
byte listed[PS] = 1;      /* how often it is on the idle list */
byte npstart, nmstarting;
byte nextp[2] = NONE;
bool midle[2];
bool lastpoll = true;     /* false: an M sleeps as the poller */
bool broken_sleep;
bool holder, other;       /* queued Gs; the holder has the program's lock */
bool proglock = true;
byte ran;
bool wanted;              /* the spawner is asked */
bool submitted, resized;

inline pidleget(p)
{
	if
	:: listed[0] -> p = 0; listed[0]--
	:: !listed[0] && listed[1] -> p = 1; listed[1]--
	:: !listed[0] && !listed[1] -> p = NONE
	fi;
	if
	:: p != NONE -> assert(at[p] == IDLE); at[p] = HAND
	:: else
	fi
}

inline pidleput(p)
{
	if
	:: p >= gomaxprocs && BROKEN != 6 -> at[p] = DEAD
	:: else -> at[p] = IDLE; listed[p]++; assert(listed[p] == 1)
	fi
}

/* By a thread that is no M of these. */
inline startm()
{
	pidleget(p);
	if
	:: p == NONE
	:: p != NONE && midle[0] -> midle[0] = false; nextp[0] = p; at[p] = NEXT
	:: p != NONE && !midle[0] && midle[1] -> midle[1] = false; nextp[1] = p; at[p] = NEXT
	:: p != NONE && !midle[0] && !midle[1] ->
		pushes = true
	fi
}

inline push()
{
	at[p] = START;
	npstart++;
#if BROKEN != 5
	assert(!midle[0] && !midle[1]);
#endif
	if
	:: npstart > nmstarting -> wanted = true
	:: else
	fi
}

inline pstartget()
{
	if
	:: at[0] == START -> mine = 0
	:: at[0] != START && at[1] == START -> mine = 1
	:: at[0] != START && at[1] != START -> mine = NONE
	fi;
	if
	:: mine != NONE -> npstart--; at[mine] = RUNS
	:: else
	fi
}

proctype Submit()
{
	byte p;
	bool pushes;
	byte i;

	do
	:: i == 2 -> break
	:: else ->
		atomic {
			pushes = false;
			if
			:: i == 0 -> holder = true
			:: else -> other = true
			fi;
			i++
		};
#if BROKEN == 5
		d_step { startm() };
		d_step {
			if
			:: pushes -> push()
			:: else
			fi
		};
#else
		d_step {
			startm();
			if
			:: pushes -> push()
			:: else
			fi
		};
#endif
		if
		:: pushes && BROKEN != 3 ->
			if
			:: !lastpoll -> broken_sleep = true
			:: else
			fi
		:: else
		fi
	od;
	submitted = true
}

proctype Resize()
{
	byte dead = NONE;

	atomic {
		gomaxprocs = 1;
		if
		:: listed[1] -> listed[1]--; at[1] = HAND; dead = 1
		:: else
		fi
	};
	if
	:: dead != NONE -> atomic { pidleput(1) }
	:: else
	fi;
	if
	:: atomic {
			gomaxprocs = PS;
			if
			:: at[1] == DEAD || (BROKEN == 7 && at[1] == HAND) -> at[1] = IDLE; listed[1]++; assert(listed[1] == 1)
			:: else
			fi
		}
	:: skip /* it stays so */
	fi;
	resized = true
}

proctype M(byte me; bool fresh)
{
	byte mine = NONE;

	if
	:: fresh ->
		/* mstart0() */
		atomic { nmstarting--; pstartget() }
	:: else
	fi;
	do
	:: mine != NONE ->
		assert(at[mine] == RUNS);
		if
		:: mine >= gomaxprocs ->
			at[mine] = HAND;
			/* runqdrain(), timers_move() */
			atomic { pidleput(mine); mine = NONE }
		:: mine < gomaxprocs ->
			atomic {
				if
				:: holder -> holder = false; proglock = false; ran++
				:: !holder && other -> other = false; ran++
				:: !holder && !other -> at[mine] = HAND; pidleput(mine); mine = NONE
				fi
			}
		fi
	:: mine == NONE ->
		/* idle(): takestartp() */
		if
		:: npstart > 0 && BROKEN != 2 -> atomic { pstartget() }
		:: else
		fi;
		if
		:: mine != NONE
		:: mine == NONE && lastpoll ->
			bool look = false;
#if BROKEN == 4
			look = npstart == 0;
#endif
			lastpoll = false;
#if BROKEN != 4
			look = npstart == 0;
#endif
			if
			:: look ->
end_polls:
				broken_sleep -> broken_sleep = false
			:: else
			fi;
			lastpoll = true;
			if
			:: (listed[0] || listed[1]) && (holder || other) ->
				/* takeidlep() after anywork() */
				atomic {
					pidleget(mine);
					if
					:: mine != NONE -> at[mine] = RUNS
					:: else
					fi
				}
			:: else
			fi
		:: mine == NONE ->
			/* stopm() */
			atomic {
#if BROKEN == 1 || BROKEN == 2
				mine = NONE;
#else
				pstartget();
#endif
				if
				:: mine == NONE -> midle[me] = true
				:: else
				fi
			};
			if
			:: mine == NONE ->
end_asleep:
				atomic { nextp[me] != NONE -> mine = nextp[me]; nextp[me] = NONE; at[mine] = RUNS }
			:: else
			fi
		fi
	od
}

/* The M that it makes takes what is in pstart when it comes. */
active proctype Spawner()
{
end_waits:
	do
	:: atomic { wanted -> wanted = false; nmstarting++ };
end_for_the_lock:
		!proglock;
		run M(1, true);
		break
	od
}

init
{
	atomic { run M(0, false); run Submit(); run Resize() };
	timeout;
	assert(submitted && resized && ran == 2 && npstart == 0);
	assert(at[0] == IDLE && listed[0] == 1);
	assert(gomaxprocs == PS || (at[1] == DEAD && listed[1] == 0));
	assert(gomaxprocs == 1 || (at[1] == IDLE && listed[1] == 1))
}
