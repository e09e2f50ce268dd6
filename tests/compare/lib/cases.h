/*
 * cases.h: what the programs of this folder share: which cases to run, and small words.
 *
 *	NAME [-s I/N] [-d MS] [-f FILE] [-l] [CASE...]
 *
 * All cases, the I-th of N parts (parts run beside each other), those named in FILE or on the
 * command line; -l lists.  -d is how long a thread gets until it counts as blocked: a case that
 * depends on the machine's mood tells the truth with a longer one.
 */
#ifndef COMPARE_CASES_H
#define COMPARE_CASES_H

#include <stdatomic.h>
#include <stdbool.h>

extern int delay_ms;

void cases_options(int argc, char **argv);
/* Is it to be run?  False also when it has only been listed. */
bool cases_take(const char *name);

long long now_ms(void);
void pause_ms(int ms);		/* whatever handlers run meanwhile */
/*
 * Until it is set.  False: not within that time, nor before so many looks, each of which waits for
 * a CPU as others do: with some, whoever could run has had turns, however busy the machine is.
 */
bool until(atomic_int *what, int ms, int looks);
void die(const char *what) __attribute__((noreturn));

#endif
