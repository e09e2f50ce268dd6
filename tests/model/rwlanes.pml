/*
 * rwlanes: readers of a read-write lock in lanes, and a writer that looks for them: shim/sync/rwslot.c, rwlock.c.
 *
 * The model's step          The code
 * up, look                  rwslot_take(): the slot, then the word once more
 * down                      rwslot_drop() of the same slot; else as one that leaves
 * byword, begin             try_read(), rwslot_begin()
 * leave                     pthread_rwlock_unlock(): the slot of the lane where it is now; rwslot_leave()
 * take                      try_write(): waits for the word alone, where the lot would wake it
 * found, decide             rwslot_revoke()
 * has, n                    the reader in rwslot_leave() that looks as a writer does
 *
 * A compare-and-swap that succeeds is one step.  A reader may be on another lane when it leaves.  Either no reader is left over
 * from a lock that was in this memory, or one is, in the second lane.
 *
 * Holds: no reader is inside with a writer; the word's count is below 0 only while a writer looks; a reader that
 * holds the lock finds a count, at the latest as it looks as a writer does; it never sees that a writer holds the lock; all
 * come to their end.
 *
 * BROKEN 1: a reader does not look at the word again
 * BROKEN 2: a writer does not look at the slots
 * BROKEN 3: the readers that were found are not put into the word
 * BROKEN 4: a reader that leaves while a writer looks takes nothing from the word
 * BROKEN 5: a reader that may not stay lets its count be
 * BROKEN 6: a lock begins with lanes where a reader is left over
 * BROKEN 7: a reader that found no count in word and slots takes itself for gone
 */
#ifndef BROKEN
#define BROKEN 0
#endif
#define NREADERS 2
#define NWRITERS 2

int count;
bool writer, revoking, lanes;
byte slot[2];
byte reading, writing, over;
bool leftover;

inline pick(l)
{
	if
	:: l = 0
	:: l = 1
	fi
}

inline lookout(l)
{
	atomic {
		if
		:: slot[l] > 0 -> slot[l]--; gone = true
		:: else
		fi
	}
}

inline found(l)
{
#if BROKEN != 2
	atomic { n = n + slot[l]; slot[l] = 0 }
#else
	skip
#endif
}

/* rwslot_leave(), and the word's own release. */
inline leave_word()
{
	do
	:: gone -> break
	:: else ->
		atomic {
			if
			:: revoking ->
				gone = true;
#if BROKEN != 4
				count--
#endif
			:: !revoking && !writer && count > 0 -> count--; gone = true
			:: else -> assert(lanes && !writer)
			fi
		}
		if
		:: !gone -> lookout(0)
		:: else
		fi;
		if
		:: !gone -> lookout(1)
		:: else
		fi;
#if BROKEN == 7
		gone = true;
#endif
		if
		:: !gone ->
			atomic {
				has = !writer && count == 0 && lanes;
				if
				:: has -> writer = true; revoking = true
				:: else
				fi
			}
			if
			:: has ->
				n = 0;
				found(0);
				found(1);
				atomic {
#if BROKEN != 3
					count = count + n;
#endif
					assert(count != 0);
					revoking = false;
					writer = false
				}
			:: else
			fi
		:: else
		fi
	od
}

proctype reader()
{
	int n;
	byte lane;
	bool ok, gone, has;

	pick(lane);
	atomic { has = lanes && !writer };
	if
	:: has ->
up:		atomic { slot[lane]++ };
look:		atomic {
			ok = lanes && !writer;
#if BROKEN == 1
			ok = true
#endif
		}
		if
		:: ok -> goto inside
		:: else
		fi;
down:
#if BROKEN != 5
		gone = false;
		lookout(lane);
		leave_word();
#endif
	:: else
	fi;
byword:
	atomic { (!writer || revoking) -> count++; ok = !lanes };
	if
	:: ok ->
begin:		atomic { has = slot[0] > 0 };
		atomic { has = has || slot[1] > 0 };
#if BROKEN == 6
		has = false;
#endif
		if
		:: !has -> lanes = true
		:: else
		fi
	:: true
	fi;
inside:
	reading++;
	assert(!writing);
	reading--;
leave:
	pick(lane);
	gone = false;
	atomic { has = lanes };
	if
	:: has -> lookout(lane)
	:: else
	fi;
	leave_word();
	over++
}

proctype writes()
{
	int n;
	bool look;

take:
	atomic { (!writer && count == 0) -> writer = true; revoking = lanes; look = lanes };
	if
	:: look ->
		n = 0;
		found(0);
		found(1);
		atomic {
#if BROKEN != 3
			count = count + n;
#endif
			revoking = false;
			if
			:: count != 0 ->
				writer = false;
				goto take
			:: else ->
				if
				:: lanes = false
				:: true
				fi
			fi
		}
	:: else
	fi;
	atomic { writing++; assert(writing == 1 && reading == 0) };
	writing--;
	assert(count == 0);
	writer = false;
	over++
}

init {
	byte i;

	atomic {
		if
		:: slot[1] = 1; leftover = true
		:: true
		fi;
		for (i : 1 .. NREADERS) {
			run reader()
		}
		for (i : 1 .. NWRITERS) {
			run writes()
		}
	}
	(over == NREADERS + NWRITERS);
	assert(count == 0 && !writer && !revoking && slot[0] == 0 && slot[1] == leftover)
}
