/*
 * poller: runtime/sched/idle.c's rule for who sleeps as the poller.
 *
 * Three Ms.  Each has a P at first, adds or deletes timers with it, gives the P up and goes idle.
 * token stands for sched.lastpoll != 0, until0 for sched.polluntil, wakesig for sched.netpollwakesig; watched
 * says that some descriptor is registered.  An M that is asleep for good is stuck here on purpose:
 * nobody hands a P over any more.  At the end, when nothing can move, no timer may be pending.
 *
 * BROKEN 1: an M takes the token before it looks for timers, and looks once (a fault that was there)
 * BROKEN 2: an M that adds a timer does not wake the poller
 */
#ifndef BROKEN
#define BROKEN 0
#endif

bool token = true, wakesig = false;
bool until0 = false; /* the poller sleeps until a deadline; false: for ever */
bool watched = false;
byte pending = 1;

inline ring()
{
	if
	:: !token ->
		if
		:: !until0 -> wakesig = true
		:: else
		fi
	:: else
	fi
}

proctype M(byte adds; byte deletes)
{
	bool got, until;

	do
	:: deletes > 0 -> deletes--; atomic { if :: pending > 0 -> pending-- :: else fi }
	:: adds > 0 -> adds--; pending++;
#if BROKEN != 2
		ring()
#else
		skip
#endif
	
	:: adds == 0 && deletes == 0 -> break
	od;
	/* Without a P from here. */
	do
	::
#if BROKEN != 1
		if
		:: pending == 0 && !watched -> break
		:: else
		fi;
#endif
		atomic { got = token; token = false };
		if
		:: !got -> break
		:: else
		fi;
		until = pending > 0;
		if
		:: until || watched ->
			until0 = until;
			/* Sleeps in epoll: the deadline comes, or the eventfd is written. */
end_polls:
			if
			:: until
			:: wakesig -> wakesig = false
			fi;
			until0 = false;
			token = true;
			/* What is due is run, with an idle P. */
			atomic { if :: pending > 0 -> pending-- :: else fi }
		:: else ->
			token = true;
#if BROKEN == 1
			break
#endif
		fi
	od;
end_asleep:
	false
}

init
{
	if
	:: watched = true
	:: true
	fi;
	atomic {
		run M(1, 1);
		run M(1, 0);
		run M(0, 1)
	};
	timeout;
	assert(pending == 0)
}
