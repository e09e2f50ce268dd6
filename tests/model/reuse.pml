/*
 * reuse: a number that is closed, and made anew, under a thread that waits for its file: runtime/poll/polldesc.c,
 * shim/fd/fdlife.c, fdwait.c.
 *
 * The model's step          The code
 * look                      netpoll_look(): the count, before the try by the program's number
 * hold, register            netpoll_hold(), pd_hold(), find_or_make(), pd_new(), pd_new_private()
 * next                      netpoll_next(): the count, incalls, then fd
 * park                      netpoll_park(): nwait, then the count once more under the bucket (has_moved())
 * drop                      netpoll_release(), pd_drop(): the last user of a detached one closes the private number
 * closing                   netpoll_closing(), forget(), keep_file(): closing, the slot, a private number, its watch, fd,
 *                           incalls awaited
 * reuse                     the kernel's close, then the number names another file; netpoll_closed()
 * edge                      the file's data; a watch of it tells polldesc_fire(): the count, then nwait
 *
 * OLD and NEW are files; the program's number names OLD, then NEW.  Data comes to OLD at any moment, to NEW never.  One
 * polldesc of the slot, one for a user that comes while the number is closed.  A private number may be refused: the
 * waiter is told then (ENDED).  What stands under the number's lock (Pollreg) or the polldesc's is one step where no other
 * step looks between.
 *
 * Holds: by a held file's number nothing but that file is read; a thread that waits for OLD is woken by its data, or told
 * that it is gone; private numbers are closed in the end.
 *
 * BROKEN 1: keep_file() does not wait for the users inside a call on the old number
 * BROKEN 2: nothing says that the number is being closed, so that a new user watches by it
 * BROKEN 3: the users are not told that there is no private number
 * BROKEN 4: a user takes the number before it counts itself in incalls
 * BROKEN 5: a user parks without a look whether the count has moved
 * BROKEN 6: a polldesc is given back while a user holds it
 * BROKEN 7: an edge looks for waiters before it counts
 * BROKEN 8: keep_file() gives users the private number without a watch
 * BROKEN 9: the last user does not close the private number
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define NONE 0
#define NUMBER 1          /* the program's */
#define OWN 2             /* private ones: OWN + the polldesc */
#define PDS 2
#define NOPD 9

mtype = { OLD, NEW, NOFILE };
mtype names[5] = NOFILE;  /* what the numbers name */
bool watched[5];          /* by this number; for the polldesc in tells[] */
byte tells[5];
byte slot = NOPD;
bool closing, reglock;
byte fd[PDS], users[PDS], incalls[PDS], nwait[PDS], seq[PDS];
bool detached[PDS], ended[PDS], sleeps[PDS];
bool data;                /* OLD has some */
bool old_gone;            /* its last number is closed: nobody can have its data */
bool answered;            /* the waiter has read OLD, or was told */
bool closed, edged;

inline fire(pd)
{
#if BROKEN == 7
	w = nwait[pd];
	seq[pd]++;
#else
	seq[pd]++;
	w = nwait[pd];
#endif
	if
	:: w > 0 -> sleeps[pd] = false
	:: else
	fi
}

inline drop(pd)
{
	atomic {
		users[pd]--;
		last = users[pd] == 0 && detached[pd]
	};
	if
	:: last && fd[pd] >= OWN ->
#if BROKEN != 9
		atomic { watched[fd[pd]] = false; names[fd[pd]] = NOFILE }
#else
		skip
#endif
	:: else
	fi
}

proctype Waiter()
{
	byte pd = NOPD, was, n;
	bool last, mine, parks;

	/* look(), and the try by the number, when it is still OLD's; it would have blocked. */
	if
	:: names[NUMBER] != OLD || data -> answered = true; goto out
	:: names[NUMBER] == OLD && !data
	fi;
	/* hold */
again:
	atomic {
		if
		:: slot != NOPD -> pd = slot; mine = false; reglock = reglock
		:: else -> pd = NOPD
		fi
	};
	if
	:: pd == NOPD ->
		atomic { !reglock -> reglock = true };
		if
		:: slot != NOPD -> reglock = false; goto again
		:: slot == NOPD && closing && BROKEN != 2 ->
			/* pd_new_private() of what the number names now: nothing, and the call itself says EBADF */
			pd = 1;
			atomic {
				names[OWN + 1] = names[NUMBER];
				if
				:: names[NUMBER] != NOFILE ->
					fd[1] = OWN + 1;
					users[1] = 1;
					detached[1] = true;
					mine = true;
					watched[OWN + 1] = true;
					tells[OWN + 1] = 1
				:: else
				fi
			};
			if
			:: !mine -> reglock = false; answered = true; goto out
			:: else
			fi;
			if
			:: names[NUMBER] == OLD && data -> seq[1]++
			:: else
			fi;
			reglock = false
		:: slot == NOPD && !(closing && BROKEN != 2) ->
			pd = 0;
			atomic {
				fd[0] = NUMBER;
				watched[NUMBER] = true;
				tells[NUMBER] = 0;
				if
				:: names[NUMBER] == OLD && data -> seq[0]++
				:: else
				fi;
				slot = 0
			};
			reglock = false
		fi
	:: else
	fi;
	if
	:: !mine ->
		/* Under the polldesc's lock, while the slot names it. */
		atomic {
			if
			:: slot == pd ->
#if BROKEN != 6
				users[pd]++;
#endif
				mine = true
			:: else
			fi
		};
		if
		:: !mine -> goto again
		:: else
		fi
	:: else
	fi;
	/* fdslot_gen(): the number names another file since the try. */
	if
	:: names[fd[pd]] == NEW && fd[pd] == NUMBER -> answered = true; goto release
	:: names[fd[pd]] == NEW && fd[pd] != NUMBER -> answered = true; goto release
	:: else
	fi;
	do
	:: was = seq[pd];
#if BROKEN == 4
		n = fd[pd];
		incalls[pd]++;
#else
		incalls[pd]++;
		n = fd[pd];
#endif
		/* the try: on OLD, or on no file at all */
		assert(n == NONE || names[n] == OLD);
		if
		:: n == NONE || data || ended[pd] -> answered = true; incalls[pd]--; break
		:: else
		fi;
		incalls[pd]--;
		nwait[pd]++;
		parks = true;
		atomic {
			if
			:: seq[pd] == was || BROKEN == 5 -> sleeps[pd] = true
			:: else -> parks = false
			fi
		};
		if
		:: parks ->
end_sleeps:
			!sleeps[pd]
		:: else
		fi;
		nwait[pd]--
	od;
release:
#if BROKEN == 6
	users[pd]++;
#endif
	drop(pd);
out:
	skip
}

proctype Closer()
{
	byte pd = NOPD, own, w;
	bool last, used;

	/* netpoll_closing() */
	atomic { !reglock -> reglock = true };
	closing = true;
	if
	:: slot != NOPD ->
		pd = slot;
		atomic {
			slot = NOPD;
			used = users[pd] > 0;
			if
			:: used -> detached[pd] = true; users[pd]++
			:: else
			fi
		};
		if
		:: used ->
			/* keep_file() */
			if
			:: own = OWN + pd; atomic { names[own] = OLD }
			:: own = NONE
			fi;
			if
			:: own != NONE && BROKEN != 8 ->
				atomic {
					watched[own] = true;
					tells[own] = pd;
					if
					:: data -> seq[pd]++; sleeps[pd] = false
					:: else
					fi
				}
			:: else
			fi;
			fd[pd] = own;
			watched[NUMBER] = false;
#if BROKEN != 1
			incalls[pd] == 0;
#endif
			if
			:: own == NONE && BROKEN != 3 -> ended[pd] = true; fire(pd)
			:: else
			fi;
			drop(pd)
		:: else ->
			watched[NUMBER] = false
		fi
	:: else
	fi;
	reglock = false;
	/* close(2), and another file gets the number.  The kernel drops what is watched by it with the file's last. */
	names[NUMBER] = NOFILE;
	watched[NUMBER] = false;
	names[NUMBER] = NEW;
	/* netpoll_closed() */
	closing = false;
	closed = true
}

/* The other end writes, once; each watch of OLD tells. */
proctype Edge()
{
	byte i = 1, w, pd;
	bool tell[5];

	d_step {
		data = true;
		tell[1] = watched[1] && names[1] == OLD;
		tell[2] = watched[2] && names[2] == OLD;
		tell[3] = watched[3] && names[3] == OLD
	};
	do
	:: i == 4 -> break
	:: else ->
		if
		:: tell[i] -> pd = tells[i]; fire(pd)
		:: else
		fi;
		i++
	od;
	edged = true
}

init
{
	names[NUMBER] = OLD;
	atomic { run Waiter(); run Closer(); run Edge() };
	timeout;
	assert(edged && closed && answered);
	assert(names[OWN] == NOFILE && names[OWN + 1] == NOFILE)
}
