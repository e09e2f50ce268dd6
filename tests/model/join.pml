/*
 * join: a thread ends, and is joined or detached meanwhile: shim/thread/thread.c, join; runtime/sched/park.c.
 *
 * The model's step          The code
 * End                       goexit(): ended() sets TH_EXITED and looks at what was there, lot_wake(), then the stack is left
 * Joiner                    pthread_join(): claims TH_JOINED, parks while TH_EXITED is not there; forget()
 * Detacher                  pthread_detach(): sets TH_DETACHED and looks; forget() when the thread had ended
 * free                      g_free(): the G's stack and block go to the pools
 *
 * `onstack` is gp->m: g_await_off() waits for it.  One thread joins or detaches, or one does each and one of the two is
 * refused, as POSIX lets them be.
 *
 * Holds: the G is freed once, never with its stack in use; a joiner does not wait for ever.
 *
 * BROKEN 1: the thread that frees the G does not wait until its stack is left
 * BROKEN 2: ended() looks at the state, then sets TH_EXITED, in two steps
 * BROKEN 3: the joiner looks for TH_EXITED before it locks the bucket, not under the lock
 * BROKEN 4: detach looks at the state, then sets TH_DETACHED, in two steps
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define LOCK(l) atomic { !l -> l = true }
#define UNLOCK(l) l = false

bool exited, detached, joined, gone;
bool bucket, queued, woken;
bool onstack = true;
byte freed;
bool joins, detaches, joinover;

inline free()
{
	assert(!onstack);
	freed++;
	assert(freed == 1)
}

proctype End()
{
	bool was;

#if BROKEN == 2
	was = detached;
	exited = true;
#else
	atomic { was = detached; exited = true };
#endif
	if
	:: was -> onstack = false; free()       /* gdestroy(): drop */
	:: else ->
		LOCK(bucket);
		if
		:: queued -> queued = false; woken = true
		:: else
		fi;
		UNLOCK(bucket);
		onstack = false
	fi
}

inline forget()
{
#if BROKEN != 1
	!onstack;
#endif
	free()
}

proctype Joiner()
{
	bool refused;

	atomic {
		if
		:: detached || joined -> refused = true
		:: else -> joined = true
		fi
	};
	if
	:: refused -> joinover = true; goto out
	:: else
	fi;
	do
	:: exited -> break
	:: else ->
#if BROKEN == 3
		LOCK(bucket);
		queued = true;
		UNLOCK(bucket);
		woken; woken = false
#else
		LOCK(bucket);
		if
		:: exited -> UNLOCK(bucket)
		:: else -> queued = true; UNLOCK(bucket); woken; woken = false
		fi
#endif
	od;
	forget();
	joinover = true;
out:
	skip
}

proctype Detacher()
{
	bool had, refused;

#if BROKEN == 4
	had = exited;
	refused = joined || detached;
	detached = detached || !refused;
#else
	atomic {
		refused = joined || detached;
		had = exited;
		if
		:: !refused -> detached = true
		:: else
		fi
	};
#endif
	if
	:: !refused && had -> forget()
	:: else
	fi
}

init
{
	atomic {
		if
		:: joins = true
		:: detaches = true
		:: joins = true; detaches = true
		fi;
		run End();
		if :: joins -> run Joiner() :: else fi;
		if :: detaches -> run Detacher() :: else fi
	};
	timeout;
	assert(freed == 1);
	assert(!joins || joinover)
}
