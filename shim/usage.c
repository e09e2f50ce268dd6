/*
 * usage: what a thread has used, of getrusage(2).
 *
 * The kernel counts for kernel threads.  A G's CPU time is counted at its switches (clock.c); how
 * much of it was the system's is taken to be as with the M that it is on when it asks, and neither
 * part goes back.  What else is counted for a thread is not known of a G and is 0, but for the
 * memory, which is the process's.
 */
#include "shim/ids.h"
#include "shim/syscall.h"

static uint64_t ns_of(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000 + (uint64_t)tv->tv_usec * 1000;
}

static struct timeval tv_of(uint64_t ns)
{
	return (struct timeval){ .tv_sec = (time_t)(ns / 1000000000),
				 .tv_usec = (suseconds_t)(ns % 1000000000 / 1000) };
}

long reads_usage(const struct call *x)
{
	static __thread uint64_t user, system; /* so far; zero at the start of a life */
	struct rusage *ru = (struct rusage *)x->b, of_m;
	uint64_t now, u, s;
	struct timespec ts;
	long r;

	if ((int)x->a != RUSAGE_THREAD || !ru)
		return call_plain(x);
	clock_call(CLOCK_THREAD_CPUTIME_ID, &ts, &r);
	now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	r = direct3(SYS_getrusage, RUSAGE_THREAD, &of_m, 0);
	if (r)
		return r;
	u = ns_of(&of_m.ru_utime);
	s = ns_of(&of_m.ru_stime);
	if (now > user + system) {
		uint64_t more = now - user - system;
		uint64_t part = s ? (uint64_t)((__uint128_t)more * s / (u + s)) : 0;

		system += part;
		user += more - part;
	}
	*ru = (struct rusage){ .ru_utime = tv_of(user),
			       .ru_stime = tv_of(system),
			       .ru_maxrss = of_m.ru_maxrss };
	return 0;
}
