/* guestkind: see guestkind.c. */
#ifndef WEFT_COMPAT_GUESTKIND_H
#define WEFT_COMPAT_GUESTKIND_H

#include <stdbool.h>

struct guest {
	const char *what; /* NULL: there is none */
	bool is_go;
	bool program; /* it is the program's own, not a library's beside it */
};

/* The code at this address belongs to a run-time that is a library; its name, or NULL.  Takes no lock. */
const char *guestkind_of(const void *code) __attribute__((visibility("hidden")));

/* The first run-time among the loaded objects that manages kernel threads itself. */
struct guest guestkind_find(void) __attribute__((visibility("hidden")));

#endif
