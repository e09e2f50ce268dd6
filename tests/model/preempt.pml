/*
 * preempt: the preemption signal against every way out of running: runtime/sysmon/preempt.c, runtime/sched/entersyscall.c.
 *
 * The model's step          The code
 * Ask                       preemptone(): Prunning -> Psignal, m->sigp = P, tgkill()
 * handler                   preempt_asked(): takes m->sigp, Psignal -> Prunning
 * leave                     p_leave(), p_leave_slow(): out of Prunning by compare-and-swap, or it waits for the handler
 * exitsyscall               exitsyscall_outermost(): Psyscall -> Prunning
 * Retake                    retake(): Psyscall -> Pidle, by sysmon alone
 * Other                     another M, which takes the idle P, runs a while and lets it lie
 *
 * M1 runs a G that enters system calls, comes back, and lets its P lie when it has nothing to run.  The signal is on its
 * way for as long as it likes, but comes before M1 sleeps in a system call: a thread in user mode takes it at once.
 *
 * Holds: no system call of M1 is entered with the signal on its way (it could end in EINTR); the handler finds the P
 * that was asked; one M at a time has the P; nobody waits for ever.
 *
 * BROKEN 1: M1 leaves Prunning by a plain store
 * BROKEN 2: the signal is sent before m->sigp says for which P
 * BROKEN 3: the handler makes the P Prunning before it takes m->sigp
 * BROKEN 4: M1 comes back from a system call by a plain store
 * BROKEN 5: sysmon sends without having made the P Psignal
 */
#ifndef BROKEN
#define BROKEN 0
#endif
mtype = { RUNNING, SIGNAL, SYSCALL, IDLE };
mtype status = RUNNING;
byte owner = 1;
bool sigp;                /* m1->sigp == the P */
bool coming;              /* the signal is sent to M1 and not taken */
bool handling, asked, over;
bool hasp = true;         /* M1 has the P: m1->p */

/* At any instruction of M1 in user mode. */
inline handler()
{
	if
	:: coming ->
		coming = false;
#if BROKEN == 3
		if
		:: sigp -> status = RUNNING; sigp = false
		:: else -> assert(false)
		fi
#else
		atomic {
			asked = sigp;
			sigp = false
		};
		assert(asked); /* found what it was sent for */
		if
		:: asked -> assert(status == SIGNAL && owner == 1); status = RUNNING
		:: else
		fi
#endif
	:: else
	fi
}

inline leave(to)
{
	do
	:: handler();
#if BROKEN == 1
		status = to;
		break
#else
		atomic {
			if
			:: status == RUNNING -> status = to; break
			:: else -> assert(status == SIGNAL)
			fi
		}
#endif
	od
}

proctype M1()
{
	byte rounds = 0;

	do
	:: rounds == 3 -> break
	:: else ->
		rounds++;
		handler();
		if
		:: hasp ->
			if
			:: true ->
				hasp = false;
				leave(SYSCALL);
				/* In the kernel: a signal now would end the call. */
				assert(!coming);
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
				assert(!coming);
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
	:: hasp -> handler(); if :: over -> break :: else fi
	:: !hasp -> break
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
			coming = true
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
				coming = true;
				sigp = true
#else
				sigp = true;
				coming = true
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
		:: else
		fi;
next:
		skip
	od;
	over = true
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
	atomic { run M1(); run Sysmon() };
	timeout;
	assert(over && _nr_pr <= 2)
}
