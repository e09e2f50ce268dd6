/*
 * spinning: which M looks for work, and how no work is left behind: runtime/sched/idle.c, wakep.c.
 *
 * The model's step          The code
 * submit                    globrunqwoken() by a thread without a P, then wakep()
 * M, with a P               findrunnable(): takes what is queued, spins once, gives its P up
 * last look                 after nmspinning was decremented
 * start                     startm(): an M without a P gets one, spinning
 *
 * As many may spin as MOST, which is 1 or 2 at each time by chance: the runtime's bound moves with the number of busy Ps.
 * wakep() finds out without the lock that no P is idle.  Three Ms, two Ps.  Two pieces of work come from outside to the global queue; an M that takes one computes for ever.  An
 * M that sleeps is woken by a P that is handed to it, by nothing else: naps, sysmon and the poller, which would find the
 * work later, are left out on purpose.  (needspinning is for local queues, which the model does not have.)
 *
 * Holds: when nothing can move any more, no work is queued; nmspinning counts the spinning Ms.
 *
 * BROKEN 1: no look at the queue after nmspinning was decremented
 * BROKEN 2: the work is queued after the look for a spinner
 * BROKEN 3: the last look comes before nmspinning is decremented
 * BROKEN 5: no look for needspinning after npidle was incremented
 * BROKEN 6: no second look at npidle after needspinning was set
 * BROKEN 4: an M that stops spinning because it found work wakes no other one
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define LOCK(l) atomic { !l -> l = true }
#define UNLOCK(l) l = false

bool lock;                /* sched.lock */
byte runq, npidle = 0, handed;
short nmspinning;
bool needspinning;
byte todo = 2;

inline wakep()
{
	starter = false;
	do
	:: atomic { nmspinning >= 2 -> break }
	:: atomic { nmspinning == 1 -> break }         /* one is enough, says the bound */
	:: atomic { nmspinning <= 1 -> seen = nmspinning };
		if
		:: npidle == 0 ->
			needspinning = true;
#if BROKEN == 6
			break
#else
			if
			:: npidle == 0 -> break
			:: else
			fi
#endif
		:: else
		fi;
		atomic {
			if
			:: nmspinning == seen -> nmspinning++; starter = true; break
			:: else
			fi
		}
	od;
	if
	:: starter ->
		LOCK(lock);
		if
		:: npidle == 0 ->
			needspinning = true;
			nmspinning--;
			UNLOCK(lock)
		:: else ->
			npidle--;
			needspinning = false;
			UNLOCK(lock);
			handed++
		fi
	:: else
	fi
}

inline takeidlep()
{
	LOCK(lock);
	if
	:: npidle > 0 -> npidle--; hasp = true
	:: else
	fi;
	UNLOCK(lock)
}

proctype M(bool hasp)
{
	bool spins, spun, starter, work;
	short seen;

	do
	:: hasp ->
		LOCK(lock);
		if
		:: runq > 0 ->
			runq--;
			UNLOCK(lock);
			if
			:: spins ->
				spins = false;
				nmspinning--;
				assert(nmspinning >= 0);
#if BROKEN != 4
				if
				:: runq > 0 -> wakep()
				:: else
				fi
#endif
			:: else
			fi;
end_computes:
			false
		:: else ->
			spun = spins;
			if
			:: !spun && needspinning ->
				spins = true;
				nmspinning++;
				needspinning = false;
				UNLOCK(lock)
			:: else ->
				npidle++;
				hasp = false;
				UNLOCK(lock);
				if
#if BROKEN != 5
				:: !spun && needspinning ->
					takeidlep();
					if
					:: hasp -> spins = true; nmspinning++; needspinning = false
					:: else
					fi
#endif
				:: spun ->
#if BROKEN == 3
					work = runq > 0;
#endif
					spins = false;
					nmspinning--;
					assert(nmspinning >= 0);
#if BROKEN != 3
					work = runq > 0;
#endif
#if BROKEN == 1
					work = false;
#endif
					if
					:: work ->
						takeidlep();
						if
						:: hasp -> spins = true; nmspinning++
						:: else
						fi
					:: else
					fi
				:: else
				fi
			fi
		fi
	:: !hasp ->
end_asleep:
		atomic { handed > 0 -> handed--; hasp = true; spins = true }
	od
}

proctype Outside()
{
	bool starter;
	short seen;

	do
	:: todo == 0 -> break
	:: else ->
		todo--;
#if BROKEN == 2
		wakep();
		runq++
#else
		runq++;
		wakep()
#endif
	od
}

init
{
	atomic {
		run M(true);
		run M(true);
		run M(false);
		run Outside()
	};
	timeout;
	assert(todo == 0 && runq == 0 && nmspinning == 0)
}
