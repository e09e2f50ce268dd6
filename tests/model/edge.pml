/*
 * edge: edges of a descriptor and the waiters for it: runtime/poll/polldesc.c.
 *
 * The model's step          The code
 * try, park                 a wait reads seq (netpoll_look(), netpoll_next()), tries the call, parks: netpoll_park(), has_moved()
 * Poller                    netpoll_wait(), polldesc_fire(), pd_wake(): seq is raised, nwait read, lot_wake()
 * pass                      netpoll_release()
 * Peer                      the other end of the socket; the kernel reports an edge for what comes, several as one
 *
 * Two threads read one socket, each until it has one piece; two pieces come.
 *
 * Holds: no thread waits while there is a piece for it.
 *
 * BROKEN 1: a waiter that was woken and succeeded does not pass the wake-up on
 * BROKEN 2: a waiter does not look at seq under the bucket's lock
 * BROKEN 3: seq is read after the try, not before it
 * BROKEN 4: the poller reads nwait before it raises seq
 * BROKEN 5: the waiter counts itself in nwait after it parked
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define LOCK(l) atomic { !l -> l = true }
#define UNLOCK(l) l = false

byte data, seq, nwait, over;
bool event;               /* in the epoll: an edge that was not reported yet */
bool bucket;
bool queued[2], awake[2];

inline wake_one()
{
	LOCK(bucket);
	if
	:: queued[0] -> queued[0] = false; awake[0] = true
	:: !queued[0] && queued[1] -> queued[1] = false; awake[1] = true
	:: else
	fi;
	UNLOCK(bucket)
}

proctype Reader(byte me)
{
	byte was;
	bool got, waited;

	do
	:: was = seq;
		atomic {
			if
			:: data > 0 -> data--; got = true
			:: else -> got = false
			fi
		};
#if BROKEN == 3
		was = seq;
#endif
		if
		:: got -> break
		:: else
		fi;
#if BROKEN != 5
		nwait++;
#endif
		LOCK(bucket);
		if
		:: seq != was && BROKEN != 2 -> UNLOCK(bucket)
		:: else ->
			queued[me] = true;
			UNLOCK(bucket);
#if BROKEN == 5
			nwait++;
#endif
			awake[me];
			awake[me] = false;
			waited = true
		fi;
#if BROKEN == 5
		if
		:: nwait > 0 -> nwait--
		:: else
		fi
#else
		nwait--
#endif
	od;
	/* One edge may stand for much data. */
	if
	:: waited && nwait > 0 && BROKEN != 1 -> wake_one()
	:: else
	fi;
	over++
}

active proctype Poller()
{
	bool any;

end_polls:
	do
	:: atomic { event -> event = false };
#if BROKEN == 4
		any = nwait > 0;
		seq++;
#else
		seq++;
		any = nwait > 0;
#endif
		if
		:: any -> wake_one()
		:: else
		fi
	od
}

proctype Peer()
{
	atomic { data++; event = true };
	atomic { data++; event = true }
}

init
{
	atomic { run Reader(0); run Reader(1); run Peer() };
	timeout;
	assert(over == 2)
}
