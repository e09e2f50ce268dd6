/*
 * waiter: one G parks, and is woken, interrupted or timed out: runtime/wait/parkinglot_wait.c.
 *
 * The model's step          The code
 * park                      park_g(), enqueue(), gopark_pinned(); refuse() is `permit`
 * OldM                      finish_park(), release_stack(): gp->m becomes NULL
 * runs again                prepare_switch(), which waits for gp->m
 * timer_del                 timer_del() of runtime/wait/timer.c
 * Waker                     the store of a permit, then lot_wake(): lot_pull(), goready()
 * Interrupter               g_interrupt(), lock_parked()
 * Timer                     timers_check(), expire(): under the heap's lock, ready after it
 *
 * The bucket's lock is `bucket`, the heap's lock `heap`.  Which of the three come is chosen at the start; one at
 * least does.  `frame` says that the waiter's stack frame is there: every thread that touches the waiter asserts it.
 * The search is of a sequentially consistent machine; the orders are for check-tsan and the litmus tests.
 *
 * Holds: a parked G is readied once; no thread touches a frame that is gone; two Ms never run one stack; a permit, an
 * interrupt or a deadline ends the wait; an interrupt is either the wait's result or still noted at its end.
 *
 * BROKEN 1: the waiter looks for a permit before it locks the bucket, not under the lock
 * BROKEN 2: the waiter looks for an interrupt before it says where it parks
 * BROKEN 3: the interrupt is noted after the look for a waiter
 * BROKEN 4: the timer does not ask whether the waiter is still queued
 * BROKEN 5: the M that runs the G again does not wait until its stack is left
 * BROKEN 6: the waiter does not wait for a timer that is firing
 * BROKEN 7: the interrupt does not look again after it locked the bucket
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define LOCK(l) atomic { !l -> l = true }
#define UNLOCK(l) l = false

mtype = { RUNNING, WAITING, RUNNABLE };
mtype status = RUNNING;
mtype = { NONE, WOKEN, TIMEDOUT, EINTR_ };
mtype result = NONE;

bool bucket, heap;
bool permit, interrupted;
bool parkaddr, parked, queued;
bool onstack = true; /* gp->m */
bool leaving;
bool frame, armed, over;
bool wakes, interrupts, expires;
byte interruptions;

inline ready()
{
	assert(status == WAITING);
	status = RUNNABLE
}

inline pull(r)
{
	assert(frame && queued);
	queued = false;
	parked = false;
	parkaddr = false;
	result = r
}

proctype G()
{
	byte waits = 0;
	bool refused;

	do
	:: waits == 2 || permit -> break
	:: else ->
		waits++;
		refused = false;
		result = NONE;
		frame = true;
#if BROKEN == 1
		refused = permit;
#endif
#if BROKEN == 2
		if
		:: interrupted -> interrupted = false; refused = true; result = EINTR_
		:: else
		fi;
#endif
		parkaddr = true;
		LOCK(bucket);
#if BROKEN != 2
		if
		:: interrupted -> interrupted = false; refused = true; result = EINTR_
		:: else
		fi;
#endif
#if BROKEN != 1
		refused = refused || permit;
#endif
		if
		:: !refused ->
			queued = true;
			status = WAITING;
			parked = true
		:: else
		fi;
		UNLOCK(bucket);
		if
		:: !refused ->
			if
			:: expires -> LOCK(heap); armed = true; UNLOCK(heap)
			:: else
			fi;
			/* gopark: the stack is left, whatever happened meanwhile. */
			leaving = true;
			/* From here the M that found it in a run queue. */
			atomic { status == RUNNABLE -> status = RUNNING };
#if BROKEN != 5
			!onstack;
#endif
			assert(!onstack);
			onstack = true;
			/* timer_del() */
#if BROKEN != 6
			if
			:: expires -> LOCK(heap); armed = false; UNLOCK(heap)
			:: else
			fi;
#else
			armed = false;
#endif
			assert(result != NONE)
		:: else ->
			parkaddr = false
		fi;
		frame = false;
		if
		:: result == EINTR_ -> interruptions++
		:: else
		fi;
		/* A wait with a deadline is over then; an interrupted one goes on after the handler. */
		if
		:: result == TIMEDOUT || result == EINTR_ -> break
		:: else
		fi
	od;
	over = true
}

/* The M on which the G parked: it leaves the stack after the G was made Gwaiting, and perhaps after it was readied. */
active proctype OldM()
{
end_m:
	do
	:: atomic { leaving -> leaving = false }; onstack = false
	od
}

proctype Waker()
{
	permit = true;
	LOCK(bucket);
	if
	:: queued -> pull(WOKEN); UNLOCK(bucket); ready()
	:: else -> UNLOCK(bucket)
	fi
}

proctype Interrupter()
{
	bool seen, mine = false;

#if BROKEN != 3
	interrupted = true;
#endif
	do
	:: seen = parkaddr;
		if
		:: !seen -> break
		:: else
		fi;
		LOCK(bucket);
#if BROKEN != 7
		if
		:: parkaddr ->
			mine = parked;
			if
			:: mine -> skip
			:: else -> UNLOCK(bucket)
			fi;
			break
		:: else -> UNLOCK(bucket)
		fi
#else
		mine = true;
		break
#endif
	od;
	if
	:: mine ->
		pull(EINTR_);
		interrupted = false;
		UNLOCK(bucket);
		ready()
	:: else
	fi;
#if BROKEN == 3
	if
	:: !mine -> interrupted = true
	:: else
	fi
#endif
}

proctype Timer()
{
	bool mine;

	/* The deadline comes once there is one. */
end_timer:
	do
	:: atomic { armed && !heap -> heap = true };
		if
		:: !armed -> UNLOCK(heap)
		:: else ->
#if BROKEN == 6
			armed = false;
			UNLOCK(heap);
#endif
			LOCK(bucket);
			assert(frame);
#if BROKEN != 4
			mine = queued;
#else
			mine = true;
#endif
			if
			:: mine -> queued = false; parked = false; parkaddr = false; result = TIMEDOUT
			:: else
			fi;
			UNLOCK(bucket);
#if BROKEN != 6
			armed = false;
			UNLOCK(heap);
#endif
			if
			:: mine -> ready()
			:: else
			fi
		fi
	od
}

init
{
	atomic {
		if
		:: wakes = true
		:: interrupts = true
		:: expires = true
		:: wakes = true; interrupts = true
		:: wakes = true; expires = true
		:: interrupts = true; expires = true
		:: wakes = true; interrupts = true; expires = true
		fi;
		run G();
		if :: wakes -> run Waker() :: else fi;
		if :: interrupts -> run Interrupter() :: else fi;
		if :: expires -> run Timer() :: else fi
	};
	timeout;
	assert(over);
	assert(!interrupts || interruptions == 1 || interrupted)
}
