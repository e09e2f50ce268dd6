/* procfile: paths in /proc that name a thread by its id; see procfile.c. */
#ifndef WEFT_SHIM_PROCFILE_H
#define WEFT_SHIM_PROCFILE_H

#include "shim/shim.h"

struct procfile {
	int fd; /* a text made for this call, -1: none */
	char path[96];
};

/*
 * The path to ask the kernel for instead; false: this one.  The path must be readable: call it when
 * the kernel has had it, by procfile_may_be().
 */
bool procfile_find(const char *path, struct procfile *pf) hidden;
/* The path, readable as there, is the list of the process's threads. */
bool procfile_lists(const char *path) hidden;
void procfile_end(const struct procfile *pf) hidden; /* the kernel has been asked; keeps errno */

/* The kernel's answer, 0 or an errno value, lets one ask. */
static inline bool procfile_may_be(const char *path, int err)
{
	if (likely((err && err != ENOENT) || !weft_on))
		return false;
	return path[0] == '/' && path[1] == 'p' && path[2] == 'r' && path[3] == 'o' && path[4] == 'c' &&
	       path[5] == '/';
}

#endif
