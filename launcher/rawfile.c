/*
 * rawfile: see rawfile.h.
 *
 * The library does not write over a trace or profile of another process: a program's children would take it from
 * each other.  So what an earlier run has left is taken away before the program starts.  It is removed and not emptied:
 * a process of another container may still write to it, and would die of a file that is shorter than it knows.
 *
 * Must never: remove what weft did not write, or what is being written.
 */
#include "launcher/rawfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/sched/tracefile.h"

void rawfile_clear(const char *path)
{
	struct trace_header h;
	char proc[64];
	int fd = *path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	ssize_t got = fd >= 0 ? read(fd, &h, sizeof(h)) : 0;

	if (fd >= 0)
		close(fd);
	if (got < (ssize_t)sizeof(h) || !trace_is_raw(&h))
		return;
	snprintf(proc, sizeof(proc), "/proc/%u", h.pid);
	if (h.end || access(proc, F_OK) != 0)
		unlink(path);
}
