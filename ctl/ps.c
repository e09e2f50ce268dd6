/*
 * ps: the processes that run under weft and that the caller may look at, one a line.
 *
 * Must never: say anything of a process that is not under weft.
 */
#include "ctl/verbs.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static void name_of(pid_t pid, char *name, size_t n)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, (int)n, f))
		snprintf(name, n, "?");
	name[strcspn(name, "\n")] = '\0';
	printable(name);
	if (f)
		fclose(f);
}

static void print(const struct proc *p)
{
	char name[64];

	name_of(p->pid, name, sizeof(name));
	if (p->on)
		printf("%7d %-16s %-8s %8d %5d %5d\n", p->pid, name, p->version, (int)proc_sched(p, LF_sched_nglive),
		       (int)proc_sched(p, LF_sched_nm), proc_gomaxprocs(p));
	else
		printf("%7d %-16s %-8s %8s %5s %5s\n", p->pid, name, p->version, "-", "-", "-");
}

static int by_number(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* All processes' ids, in order; *n of them. */
static pid_t *all_pids(size_t *n)
{
	DIR *dir = opendir("/proc");
	const struct dirent *d;
	pid_t *pids = NULL;
	size_t room = 0;

	*n = 0;
	while (dir && (d = readdir(dir))) {
		pid_t pid = atoi(d->d_name);

		if (pid <= 0)
			continue;
		if (*n == room) {
			pid_t *more = realloc(pids, (room * 2 + 256) * sizeof(*pids));

			if (!more)
				break;
			pids = more;
			room = room * 2 + 256;
		}
		pids[(*n)++] = pid;
	}
	if (dir)
		closedir(dir);
	if (pids)
		qsort(pids, *n, sizeof(*pids), by_number);
	return pids;
}

int verb_ps(int argc, char **argv)
{
	size_t n;
	pid_t *pids;

	(void)argv;
	if (argc != 1)
		return usage_of("ps");
	pids = all_pids(&n);
	printf("%7s %-16s %-8s %8s %5s %5s\n", "PID", "NAME", "VERSION", "THREADS", "MS", "PS");
	for (size_t i = 0; i < n; i++) {
		char why[512];
		struct proc *p = proc_open(pids[i], why, sizeof(why));

		if (p)
			print(p);
		proc_close(p);
	}
	free(pids);
	return written();
}
