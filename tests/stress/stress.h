/*
 * stress.h: a check that ends the process with what was seen.
 */
#ifndef STRESS_H
#define STRESS_H

#include <errno.h>
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

#endif
