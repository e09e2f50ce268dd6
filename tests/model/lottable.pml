/*
 * lottable: threads park, wake and move waiters while a bigger table takes over: runtime/wait/lottable.c.
 *
 * The model's step          The code
 * FIND                      bucket_of(): the table, and where the bucket that it has says it moved to
 * TAKE                      bucket_lock(): finds, locks, and finds again when the bucket moved before it was locked
 * Grow                      grow(): move() of each bucket under its lock, then lot_table
 * Parker                    enqueue(): under the lock it does not queue if the word has changed
 * Waker                     changes the word, then lot_wake()
 * Mover                     lot_requeue(): lock_both(), and a waiter changes its address
 *
 * Address a has bucket a in the first table and bucket a + 2 in the second.  One thread parks at address 0, one
 * moves what waits at 0 to 1, and one wakes what waits at 0, then at 1.
 *
 * Holds: the thread that parked is woken once, and queued in one bucket at most, which has not moved; no thread waits for
 * ever.
 *
 * BROKEN 1: nobody asks a locked bucket whether it has moved
 * BROKEN 2: the table is published before its buckets have the waiters
 * BROKEN 3: a bucket says that it moved before its waiters have
 * BROKEN 4: a bucket says that it moved after it was unlocked
 * BROKEN 5: the second bucket of a move between two is not asked
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define LOCK(l) atomic { !l -> l = true }
#define UNLOCK(l) l = false
#define ADDRESS(b) ((b + 2) % 4) /* the second table happens to lie below the first */

bool lock[4], moved[4];
bool in[4];               /* the waiter is in this bucket's queue */
byte addr;                /* w->addr */
bool table;               /* the second is published */
bool word;                /* changed: who is about to wait does not */
byte woken;
bool slept, over;

inline FIND(fb, fa)
{
	if
	:: table -> fb = fa + 2
	:: else -> fb = fa
	fi;
	if
	:: fb < 2 && moved[fb] -> fb = fb + 2
	:: else
	fi
}

inline TAKE(tb, ta)
{
	do
	:: FIND(tb, ta);
		LOCK(lock[tb]);
		if
		:: BROKEN == 1 || !moved[tb] -> break
		:: else -> UNLOCK(lock[tb])
		fi
	od
}

proctype Grow()
{
	byte i;

#if BROKEN == 2
	table = true;
#endif
	for (i : 0 .. 1) {
#if BROKEN == 3
		moved[i] = true;
#endif
		LOCK(lock[i]);
		if
		:: in[i] -> in[i] = false; in[i + 2] = true
		:: else
		fi;
#if BROKEN == 4
		UNLOCK(lock[i]);
		moved[i] = true
#else
		moved[i] = true;
		UNLOCK(lock[i])
#endif
	}
	table = true
}

proctype Parker()
{
	byte b;

	TAKE(b, 0);
	if
	:: word
	:: else -> assert(!moved[b] || BROKEN == 1); addr = 0; in[b] = true; slept = true
	fi;
	UNLOCK(lock[b]);
	if
	:: slept -> woken > 0
	:: else
	fi;
	over = true
}

inline wake(wb, wa)
{
	TAKE(wb, wa);
	if
	:: in[wb] && addr == wa -> in[wb] = false; woken++; assert(woken == 1)
	:: else
	fi;
	UNLOCK(lock[wb])
}

proctype Mover(byte from; byte to)
{
	byte a, b, first, second;

	do
	:: FIND(a, from);
		FIND(b, to);
		if
		:: ADDRESS(a) < ADDRESS(b) -> first = a; second = b
		:: else -> first = b; second = a
		fi;
		LOCK(lock[first]);
		LOCK(lock[second]);
		if
		:: BROKEN == 1 || (!moved[first] && (BROKEN == 5 || !moved[second])) -> break
		:: else -> UNLOCK(lock[second]); UNLOCK(lock[first])
		fi
	od;
	if
	:: in[a] && addr == from -> in[a] = false; assert(!in[b]); addr = to; in[b] = true
	:: else
	fi;
	UNLOCK(lock[second]);
	UNLOCK(lock[first])
}

proctype Waker()
{
	byte b;

	word = true;
	wake(b, 0);
	wake(b, 1)
}

init
{
	atomic {
		run Grow();
		run Parker();
		run Mover(0, 1)
	};
	run Waker();
	timeout;
	assert(over && (!slept || woken == 1));
	assert(!in[0] && !in[1] && !in[2] && !in[3] && !lock[0] && !lock[1] && !lock[2] && !lock[3])
}
