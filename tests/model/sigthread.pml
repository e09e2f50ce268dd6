/*
 * sigthread: signals that no G could take at once: the ring, the signal thread, its start and its end:
 * shim/signal/sigring.c, sigroute.c, sigkeepout.c, nosigthread.c, runtime/wait/parkinglot_wait.c (start_sigthread()).
 *
 * The model's step          The code
 * defer                     sigroute_defer(): a slot FULL, then sigring_wake(): sigthread.started read; the timer armed
 *                           (nosigthread_arm()) or wakeups counted up
 * Sigthread                 sigthread_main(): wakeups read, requests, sigroute_drain(), sigthread_quits, wait_bell()
 * choose, give back         route(): sigroute_choose(), give_back(): blocked, then the masks again
 * deliver                   thread_signal(): queued on G, then sigroute_kick(): g_interrupt(), or a kick of its M
 * G: mask                   sigmask changed, then blocked read: sigroute_unblocked()
 * G: park                   lot_park(): start_sigthread(), then interrupted is read under the bucket
 * G: start                  begin(): sigthread.started by exchange, the thread, nosigthread_disarm()
 * G: stop                   sigroute_stop(): quits, ring, join, started = 0, then the ring is looked at
 * tick                      the timer: nosigthread_drain(): started read, disarm, drain
 *
 * One G, which keeps signals out, lets them in, ends the signal thread when it is alone, and then parks or computes.  Two signals come to a
 * kernel thread inside the runtime, at any moment.  A kick that meets G in the runtime is lost there: here G looks at its
 * queue whenever it leaves the runtime, and the signal thread kicks again, as rekick() does.  pending stands for the
 * kernel's: what was given back, and the signal thread gets when it lets the signal in again.
 *
 * Holds: both signals reach G once it lets them in; what waits on a G that is parked wakes it.
 *
 * BROKEN 1: the signal thread reads wakeups after it has drained
 * BROKEN 2: the one that stops the signal thread does not look at the ring afterwards
 * BROKEN 3: a producer looks whether there is a signal thread before its slot is FULL
 * BROKEN 4: a signal is given back without another look at the masks
 * BROKEN 5: G reads blocked before it changes its mask
 * BROKEN 6: G is parked without a signal thread
 * BROKEN 7: nosigthread_drain() disarms the timer after it has drained
 * BROKEN 8: G reads interrupted before it is where an interrupt finds it
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define SIGNALS 2

byte inring;                /* slots that are FULL and not drained; their order is not looked at */
byte wakeups;
bool started, lives, quits, armed;
bool blocked, to_unblock; /* the signal, by the signal thread */
bool mask;                /* G keeps it out */
byte pending;             /* at the kernel, for the process */
byte queued;              /* on G */
byte handled;
bool parked, interrupted;
bool makes;               /* the signal thread is asked for */
bool gdone;

inline wake_sigthread(s)
{
	if
	:: !s -> armed = true
	:: s
	fi;
	wakeups = (wakeups + 1) % 8
}

proctype Producer()
{
	byte n;
	bool s;

	do
	:: n == SIGNALS -> break
	:: else ->
		n++;
#if BROKEN == 3
		s = started;
		inring++;
#else
		inring++;
		s = started;
#endif
		wake_sigthread(s)
	od
}

/* By the one thread that takes from the ring. */
inline drain()
{
	do
	:: inring == 0 -> break
	:: inring > 0 ->
		if
		:: !mask ->
			atomic { queued++; inring-- };
			/* g_interrupt() */
			interrupted = true;
			if
			:: parked -> atomic { parked = false; interrupted = false }
			:: !parked
			fi
		:: mask ->
			blocked = true;
#if BROKEN != 4
			if
			:: !mask -> to_unblock = true
			:: else -> atomic { pending++; inring-- }
			fi
#else
			atomic { pending++; inring-- }
#endif
		fi
	od
}

proctype Sigthread()
{
	byte b;

	do
	:: true ->
#if BROKEN != 1
		b = wakeups;
#endif
		if
		:: to_unblock ->
			/* What is pending comes here, to the ring. */
			atomic { blocked = false; inring = inring + pending; pending = 0 };
			to_unblock = false
		:: else
		fi;
		drain();
		if
		:: quits -> break
		:: else
		fi;
#if BROKEN == 1
		b = wakeups;
#endif
		/* rekick() */
		if
		:: queued > 0 && parked -> parked = false
		:: else
		fi;
end_bell:
		wakeups != b
	od;
	lives = false
}

active proctype Maker()
{
end_makes:
	do
	:: atomic { makes -> makes = false; lives = true; run Sigthread() }
	od
}

inline take()
{
	atomic { handled = handled + queued; queued = 0; interrupted = false }
}

/* Signal 32 of the timer finds G outside the runtime. */
inline tick()
{
	if
	:: armed && !started ->
#if BROKEN != 7
		armed = false;
#endif
		drain();
#if BROKEN == 7
		armed = false;
#endif
		take()
	:: armed && started -> armed = false
	:: !armed
	fi
}

inline start()
{
	if
	:: started
	:: !started -> started = true; makes = true; lives; armed = false
	fi
}

inline let_in()
{
#if BROKEN == 5
	was = blocked;
	mask = false;
#else
	mask = false;
	was = blocked;
#endif
	if
	:: was ->
		to_unblock = true;
		wakeups = (wakeups + 1) % 8
	:: !was
	fi
}

inline stop()
{
	/* All signals are kept out from user space meanwhile; it comes with none blocked by all. */
	if
	:: started ->
		quits = true;
		wakeups = (wakeups + 1) % 8;
		!lives;
		quits = false;
		atomic { inring = inring + pending; pending = 0; blocked = false };
		to_unblock = false;
		started = false;
#if BROKEN != 2
		if
		:: inring > 0 -> armed = true
		:: else
		fi;
#endif
		take()
	:: else
	fi
}

/* Until what has come has been handled. */
inline park()
{
#if BROKEN != 6
	start();
#endif
#if BROKEN == 8
	was = interrupted;
	parked = true;
#else
	parked = true;
	was = interrupted;
#endif
	if
	:: was -> atomic { parked = false; interrupted = false }
	:: !was ->
end_parked:
		!parked
	fi;
	take()
}

proctype G()
{
	bool was, masks, stops, computes;

	/* In any order, once each. */
	do
	:: !masks -> masks = true; start(); mask = true; tick(); let_in(); take()
	:: !stops -> stops = true; start(); stop(); tick()
	:: masks && stops -> break
	od;
	gdone = true;
	if
	:: computes = true
	:: computes = false
	fi;
	do
	:: handled == SIGNALS -> break
	:: handled < SIGNALS && !computes -> park()
	:: handled < SIGNALS && computes ->
		/* Signal 32, of the timer or of a kick. */
end_computes:
		if
		:: armed -> tick()
		:: queued > 0 -> take()
		fi
	od
}

init
{
	atomic { run G(); run Producer() };
	timeout;
	assert(gdone && handled == SIGNALS)
}
