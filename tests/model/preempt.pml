/*
 * preempt: signal 32 against every way out of running: runtime/sysmon/preempt.c, runtime/sched/entersyscall.c; and as a kick:
 * shim/signal/sigkick.c, shim/signal/sig32.c, shim/signal/sigcall.c.
 *
 * The model's step          The code
 * Ask                       preemptone(): Prunning -> Psignal, m->sigp = P, tgkill()
 * handler                   runtime_on_sig32(): preempt_asked() takes m->sigp, Psignal -> Prunning; then look(): what is queued
 * leave                     p_leave(), p_leave_slow(): out of Prunning by compare-and-swap, or it waits for the handler
 * call                      a system call: each signal 32 ends it; sigcall.c begins it again if no handler of the program ran
 * exitsyscall               exitsyscall_outermost(): Psyscall -> Prunning
 * Retake                    retake(): Psyscall -> Pidle, by sysmon alone
 * Kicker                    thread_signal(), sigroute_kick(); then, as the signal thread, rekick() each millisecond
 * Other                     another M, which takes the idle P, runs a while and lets it lie
 *
 * M1 runs a G that enters system calls, comes back, and lets its P lie when it has nothing to run.  A signal is on its
 * way for as long as it likes.  The kernel keeps each, and none says what it is for: the handler does whatever is to be done.
 * So a kick may take sysmon's note while sysmon is about to send, and that signal comes later, even in a system call.
 *
 * Holds: sysmon's signal finds its note, or a kick took it; only in the latter case it may come in a system call; no note is
 * there in one; a call is over with EINTR only if a handler of the program ran in it; what is queued on the G is delivered, also
 * when a kick met it in the runtime; one M at a time has the P; nobody waits for ever.
 *
 * BROKEN 1: M1 leaves Prunning by a plain store
 * BROKEN 2: the signal is sent before m->sigp says for which P
 * BROKEN 3: the handler makes the P Prunning before it takes m->sigp
 * BROKEN 4: M1 comes back from a system call by a plain store
 * BROKEN 5: sysmon sends without having made the P Psignal
 * BROKEN 6: nobody kicks again
 * BROKEN 7: the second kick comes only if the first was received
 * BROKEN 8: a call that a signal 32 has ended is not begun again
 * BROKEN 9: sysmon sends again what has had no effect yet
 */
#ifndef BROKEN
#define BROKEN 0
#endif
mtype = { RUNNING, SIGNAL, SYSCALL, IDLE };
mtype status = RUNNING;
byte owner = 1;
bool sigp;                /* m1->sigp == the P */
byte coming, kicks;       /* signals 32 that were sent to M1 and not taken: sysmon's; others' */
byte taken;               /* notes that a kick took before sysmon's own signal came */
bool mail;                /* a signal of the program's is queued on the G */
bool kicked;              /* thread.kicked */
bool kicker_over, sysmon_over, ran;
bool asked;
bool hasp = true;         /* M1 has the P: m1->p */

inline take_note()
{
#if BROKEN == 3
	asked = sigp;
	if
	:: asked -> status = RUNNING
	:: else
	fi;
	sigp = false
#else
	atomic {
		asked = sigp;
		sigp = false
	};
	if
	:: asked -> assert(status == SIGNAL && owner == 1); status = RUNNING
	:: else
	fi
#endif
}

inline look()
{
	kicked = false;
	atomic {
		if
		:: mail -> mail = false; ran = true
		:: else
		fi
	}
}

/* At any instruction of M1 in user mode, and in a call; busy: in the runtime, where nothing is delivered. */
inline handler(busy)
{
	if
	:: coming > 0 ->
		coming--;
		take_note();
		if
		:: asked
		:: else -> assert(taken > 0); taken-- /* found what it was sent for, or a kick did */
		fi;
		if
		:: !busy -> look()
		:: else
		fi
	:: kicks > 0 ->
		kicks--;
		take_note();
		if
		:: asked -> taken++
		:: else
		fi;
		if
		:: !busy -> look()
		:: else
		fi
	:: else
	fi
}

/* In the kernel; the P is Psyscall, or was M1's. */
inline call()
{
	ran = false;
	do
	:: coming > 0 || kicks > 0 ->
		assert(!sigp);
		assert(coming <= taken);
		handler(false);
#if BROKEN == 8
		assert(ran);
#endif
		if
		:: ran -> break  /* EINTR, as natively */
		:: else          /* begins again */
		fi
	:: true -> break
	od
}

inline leave(to)
{
	do
	:: handler(true);
#if BROKEN == 1
		status = to;
		break
#else
		atomic {
			if
			:: status == RUNNING -> status = to; break
			:: else -> assert(status == SIGNAL)
			fi
		};
		(status == RUNNING || coming > 0 || kicks > 0)
#endif
	od
}

proctype M1()
{
	byte rounds = 0;

	do
	:: rounds == 2 -> break
	:: else ->
		rounds++;
		handler(false);
		if
		:: hasp ->
			if
			:: true ->
				hasp = false;
				leave(SYSCALL);
				call();
				/* exitsyscall */
				atomic {
#if BROKEN == 4
					status = RUNNING; owner = 1; hasp = true
#else
					if
					:: status == SYSCALL && owner == 1 -> status = RUNNING; hasp = true
					:: else
					fi
#endif
				}
			:: true ->
				hasp = false;
				leave(IDLE);
				assert(!sigp && coming <= taken);
				owner = 0
			fi
		:: else ->
			/* regainp(): an idle P, or it sleeps until one is handed to it. */
			atomic { status == IDLE && owner == 0 -> status = RUNNING; owner = 1; hasp = true }
		fi;
		assert(!hasp || owner == 1)
	od;
	/* It computes on, with signals. */
	do
	:: coming > 0 || kicks > 0 -> handler(false)
	:: sysmon_over && kicker_over && coming == 0 && kicks == 0 -> break
	od
}

proctype Sysmon()
{
	byte looks = 0;

	do
	:: looks == 3 -> break
	:: else ->
		looks++;
		if
		:: status == RUNNING && owner == 1 ->
#if BROKEN == 5
			sigp = true;
			coming++
#else
			atomic {
				if
				:: status == RUNNING -> status = SIGNAL
				:: else -> goto next
				fi
			};
			/* The P may have another M by now. */
			if
			:: owner != 1 -> status = RUNNING
			:: else ->
#if BROKEN == 2
				coming++;
				sigp = true
#else
				sigp = true;
				coming++
#endif
			fi
#endif
		:: status == SYSCALL ->
			atomic {
				if
				:: status == SYSCALL -> status = IDLE; owner = 0
				:: else
				fi
			}
#if BROKEN == 9
		:: status == SIGNAL && sigp && coming < 2 -> coming++
#endif
		:: else
		fi;
next:
		skip
	od;
	sysmon_over = true
}

inline kick()
{
	atomic { old = kicked; kicked = true };
	if
	:: !old -> atomic { kicks < 2 -> kicks++ }
	:: else
	fi
}

proctype Kicker()
{
	byte sent = 0;
	bool old;

	do
	:: sent < 2 -> sent++; mail = true; kick()
	:: sent > 0 -> break
	od;
#if BROKEN != 6
	do
	:: !mail -> break
#if BROKEN == 7
	:: mail && !kicked -> kick()
#else
	:: mail && kicks == 0 ->
		kicked = false;
		kick()
#endif
	od;
#endif
	!mail;
	kicker_over = true
}

active proctype Other()
{
end_other:
	do
	:: atomic { status == IDLE && owner == 0 -> status = RUNNING; owner = 2 };
		assert(owner == 2);
		/* Its own signals are its own affair; it waits as p_leave() does. */
		atomic { status == RUNNING -> status = IDLE; owner = 0 }
	od
}

init
{
	atomic { run M1(); run Sysmon(); run Kicker() };
	timeout;
	assert(sysmon_over && kicker_over && _nr_pr <= 2)
}
