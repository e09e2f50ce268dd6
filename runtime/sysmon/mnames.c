/*
 * mnames: what the kernel calls an M, for top -H, perf and gdb.
 *
 * A thread's name is its G's; an M runs many Gs.  A system call at each switch would cost too much.
 * So sysmon looks at the Ms that have a G now and then, and before it sleeps for long, and renames
 * those that have another name: an M that computes or blocks for long has its G's name after a
 * tenth of a second.  An M without a G keeps its last name.  M0 keeps main's, which is the name of
 * the process.  Nothing is done before the program has named a thread other than main.
 *
 * Must never: rename while it holds a lock.
 */
#include "runtime/sched/gmp.h"

#include <string.h>

enum { NAMES_BATCH = 16 };

struct named {
	int tid;
	char name[16];
};

/* Ms that are not called as they should; at most NAMES_BATCH, the others next time. */
static int differ(struct named *list)
{
	int n = 0;

	lock(&sched.lock);
	LIST_EACH(struct m, mp, &sched.allm, all) {
		struct g *gp = load_relaxed(&mp->curg);
		int tid = load_relaxed(&mp->ostid);

		if (n == NAMES_BATCH)
			break;
		if (mp == &m0 || !gp || !tid)
			continue;
		g_getname(gp, list[n].name);
		if (!list[n].name[0] || !strcmp(list[n].name, mp->shown))
			continue;
		memcpy(mp->shown, list[n].name, sizeof(mp->shown));
		list[n++].tid = tid;
	}
	unlock(&sched.lock);
	return n;
}

void names_look(uint64_t now)
{
	static uint64_t next;
	struct named list[NAMES_BATCH];
	int n;

	if (likely(!load_relaxed(&g_named)) || (now && now < next))
		return;
	if (!procfs_answers())
		return;
	next = (now ? now : nanotime()) + NAMES_EVERY;
	n = differ(list);
	for (int i = 0; i < n; i++)
		procfs_rename(list[i].tid, list[i].name);
}
