/*
 * stress.h: a check that ends the process with what was seen, and dice.
 */
#ifndef STRESS_H
#define STRESS_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* dprintf and _exit: others, a child's parent too, are in the middle of everything. */
#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			dprintf(1, "FAILED %s:%d: %s (errno %d)\n", __FILE__, __LINE__, #x, errno); \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* Marsaglia's xorshift64: the same throws from the same seed, which is not 0. */
static inline uint64_t dice(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

#endif
