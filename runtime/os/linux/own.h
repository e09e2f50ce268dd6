/*
 * own: the table of the system calls that weft makes for itself (own.def).
 */
#ifndef WEFT_OS_OWN_H
#define WEFT_OS_OWN_H

#include "runtime/base/atomic.h"
#include "runtime/os/os.h"

enum { CPUCLOCK = -2, OWNPID = -3 }; /* values */
enum { OS_LIBC = -1, OS_start = -2 };
enum { OWN_MAX = OS_CALL_WORDS * 64 };

struct own {
	short nr;
	signed char arg;      /* that must have the value; negative: none */
	signed char feature;  /* enum os_feature; or one of the above */
	int answer;
	long value;
	const char *name;
};

extern const struct own own_calls[] __attribute__((visibility("hidden")));
extern const unsigned own_ncalls __attribute__((visibility("hidden"))); /* at most OWN_MAX */

static inline bool own_has(const uint64_t *calls, unsigned line)
{
	return load_relaxed(&calls[line / 64]) >> line % 64 & 1;
}

static inline void own_add(uint64_t *calls, unsigned line)
{
	fetch_or_relaxed(&calls[line / 64], UINT64_C(1) << line % 64);
}

#endif
