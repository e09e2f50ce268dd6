/*
 * requeue: a waiter moves from one bucket to another while others want to take it off: runtime/wait/parkinglot.c.
 *
 * The model's step          The code
 * Requeue                   lot_requeue(): both buckets' locks, in the order of their addresses; addr changes, lot_publish()
 * lock_waiter               lot_lock_waiter() of a timer: reads addr, locks its bucket, reads addr again
 * Interrupter               lock_parked(): the same by g->parkaddr
 * Waker                     lot_wake() at the address to which the waiter moves
 *
 * One waiter waits at address 0.  A thread moves it to address 1, another moves what waits at 1 to 0, and a waker of 1,
 * a timer and an interrupt come at any moment.  Buckets 0 and 1 each have a lock and a word that says whether the
 * waiter is in its queue.
 *
 * Holds: one of them takes the waiter off, once, under the lock of the bucket in whose queue it is; it is in one queue at
 * most; nobody waits for ever.
 *
 * BROKEN 1: the waiter's address is not read again once the bucket is locked
 * BROKEN 2: g->parkaddr is not read again once the bucket is locked
 * BROKEN 3: the two buckets are locked in the order of from and to
 * BROKEN 4: the address changes after the second bucket was unlocked
 * BROKEN 5: g->parkaddr does not follow
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define LOCK(l) atomic { !l -> l = true }
#define UNLOCK(l) l = false

bool lock[2];
bool in[2];               /* the waiter is in this bucket's queue */
byte addr;                /* w->addr */
byte parkaddr;            /* 2: NULL */
byte taken;

inline pull(b)
{
	assert(lock[b] && in[b]);
	in[b] = false;
	parkaddr = 2;
	taken++;
	assert(taken == 1)
}

proctype Requeue(byte from; byte to)
{
	byte first, second;

#if BROKEN == 3
	first = from; second = to;
#else
	first = 0; second = 1;
#endif
	LOCK(lock[first]);
	LOCK(lock[second]);
	if
	:: in[from] ->
		assert(!in[to]);
		in[from] = false;
		in[to] = true;
#if BROKEN != 4
		addr = to;
#if BROKEN != 5
		parkaddr = to;
#endif
#endif
	:: else
	fi;
	UNLOCK(lock[second]);
#if BROKEN == 4
	if
	:: in[to] -> addr = to; parkaddr = to
	:: else
	fi;
#endif
	UNLOCK(lock[first])
}

proctype Timer()
{
	byte a;

	do
	:: a = addr;
		LOCK(lock[a]);
		if
		:: BROKEN == 1 || addr == a -> break
		:: else -> UNLOCK(lock[a])
		fi
	od;
	if
	:: !taken -> pull(a)
	:: else
	fi;
	UNLOCK(lock[a])
}

proctype Interrupter()
{
	byte a;

	do
	:: a = parkaddr;
		if
		:: a == 2 -> break
		:: else
		fi;
		LOCK(lock[a]);
		if
		:: BROKEN == 2 || parkaddr == a -> pull(a); UNLOCK(lock[a]); break
		:: else -> UNLOCK(lock[a])
		fi
	od
}

proctype Waker()
{
	LOCK(lock[1]);
	if
	:: in[1] -> pull(1)
	:: else
	fi;
	UNLOCK(lock[1])
}

init
{
	atomic {
		in[0] = true;
		run Requeue(0, 1);
		run Requeue(1, 0);
		run Timer();
		run Interrupter();
		run Waker()
	};
	timeout;
	assert(taken == 1 && !in[0] && !in[1] && !lock[0] && !lock[1])
}
