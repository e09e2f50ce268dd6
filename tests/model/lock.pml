/*
 * lock: the runtime's mutex, whose unlock has no fence: runtime/base/lock.h, lock.c.
 *
 * The model's step          The code
 * unlock                    unlock_pinned(): word = 0 goes into the store buffer, sleepers is read, then unlock_slow()
 * drain                     the CPU writes its store buffer, when it likes, and at a locked instruction
 * membarrier                os_membarrier(): every CPU's buffer is written
 * sleep                     futex(FUTEX_WAIT): the kernel compares word under its own lock, then sleeps until woken
 *
 * x86-64 lets a load pass an older store to another word, no more than that (Intel SDM 3A 9.2), so a buffer of one store
 * for each thread is all that the protocol can see.
 *
 * Holds: one holder at a time; nobody sleeps while the lock is free and nobody is about to wake it.
 *
 * BROKEN 1: no fence after the sleeper counted itself
 * BROKEN 2: the sleeper counts itself after the fence
 * BROKEN 3: the kernel does not compare the word before it sleeps
 * BROKEN 4: unlock looks for sleepers before it frees the word
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define THREADS 3

bool word;                /* in memory */
bool buffered[THREADS];   /* a store of 0 to word that is not in memory yet */
byte sleepers;
bool asleep[THREADS];
byte inside, done;

/* A locked instruction: first the buffer is written. */
inline trylock(t)
{
	atomic {
		if
		:: buffered[t] -> buffered[t] = false; word = false
		:: else
		fi;
		if
		:: !word -> word = true; got = true
		:: else -> got = false
		fi
	}
}

inline membarrier()
{
	d_step {
		if
		:: buffered[0] -> buffered[0] = false; word = false
		:: else
		fi;
		if
		:: buffered[1] -> buffered[1] = false; word = false
		:: else
		fi;
		if
		:: buffered[2] -> buffered[2] = false; word = false
		:: else
		fi
	}
}

proctype T(byte me)
{
	bool got, woken;
	byte who;

	trylock(me);
	if
	:: !got ->
#if BROKEN != 2
		sleepers++;
#endif
#if BROKEN != 1
		membarrier();
#endif
#if BROKEN == 2
		sleepers++;
#endif
		do
		:: trylock(me);
			if
			:: got -> break
			:: else
			fi;
			atomic {
				if
				:: word || BROKEN == 3 -> asleep[me] = true
				:: else
				fi
			};
			!asleep[me]
		od;
		sleepers--
	:: else
	fi;
	inside++;
	assert(inside == 1);
	inside--;
#if BROKEN == 4
	woken = sleepers > 0;
	buffered[me] = true;
#else
	/* The thread's own locked instructions come later; others see the word when the CPU writes it. */
	buffered[me] = true;
	woken = sleepers > 0;
#endif
	if
	:: woken ->
		/* A system call: the buffer is written. */
		atomic {
			if
			:: buffered[me] -> buffered[me] = false; word = false
			:: else
			fi;
			if
			:: asleep[0] -> asleep[0] = false
			:: asleep[1] -> asleep[1] = false
			:: asleep[2] -> asleep[2] = false
			:: else
			fi
		}
	:: else
	fi;
	done++
}

/* The CPUs' buffers are written sooner or later. */
active proctype Drain()
{
end_drain:
	do
	:: atomic { buffered[0] -> buffered[0] = false; word = false }
	:: atomic { buffered[1] -> buffered[1] = false; word = false }
	:: atomic { buffered[2] -> buffered[2] = false; word = false }
	od
}

init
{
	atomic { run T(0); run T(1); run T(2) };
	timeout;
	assert(done == THREADS && !word)
}
