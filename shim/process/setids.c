/*
 * setids: setuid and its family.
 *
 * libc tells every other thread that it knows, by the kernel id in the thread's block; compat/setxid.c
 * sees to it that each kernel thread answers.
 *
 * Without the P: libc holds its list of threads until every kernel thread has answered, and a G
 * that is switched away with that would have to wait for a P, which may have to wait for a new
 * kernel thread, which needs the list.
 */
#include "shim/thread/thread.h"

struct ids {
	enum { UID, GID, EUID, EGID, REUID, REGID, RESUID, RESGID, GROUPS } what;
	unsigned a, b, c;
	size_t n;
	const gid_t *list;
};

static long change(const struct ids *x)
{
	switch (x->what) {
	case UID:
		return real.setuid(x->a);
	case GID:
		return real.setgid(x->a);
	case EUID:
		return real.seteuid(x->a);
	case EGID:
		return real.setegid(x->a);
	case REUID:
		return real.setreuid(x->a, x->b);
	case REGID:
		return real.setregid(x->a, x->b);
	case RESUID:
		return real.setresuid(x->a, x->b, x->c);
	case RESGID:
		return real.setresgid(x->a, x->b, x->c);
	case GROUPS:
		return real.setgroups(x->n, x->list);
	}
	return -1;
}

static int change_all(const struct ids *x)
{
	long r;

	if (!on_g())
		return (int)change(x);
	entersyscall();
	self_thread.setxid = true;
	r = change(x);
	self_thread.setxid = false;
	exitsyscall();
	return (int)r;
}

static int change_ids(int what, unsigned a, unsigned b, unsigned c)
{
	return change_all(&(struct ids){what, a, b, c, 0, NULL});
}

static int change_groups(size_t n, const gid_t *list)
{
	return change_all(&(struct ids){GROUPS, 0, 0, 0, n, list});
}

EXPORT int setuid(uid_t u)
{
	return change_ids(UID, u, 0, 0);
}

EXPORT int setgid(gid_t g)
{
	return change_ids(GID, g, 0, 0);
}

EXPORT int seteuid(uid_t u)
{
	return change_ids(EUID, u, 0, 0);
}

EXPORT int setegid(gid_t g)
{
	return change_ids(EGID, g, 0, 0);
}

EXPORT int setreuid(uid_t r, uid_t e)
{
	return change_ids(REUID, r, e, 0);
}

EXPORT int setregid(gid_t r, gid_t e)
{
	return change_ids(REGID, r, e, 0);
}

EXPORT int setresuid(uid_t r, uid_t e, uid_t s)
{
	return change_ids(RESUID, r, e, s);
}

EXPORT int setresgid(gid_t r, gid_t e, gid_t s)
{
	return change_ids(RESGID, r, e, s);
}

EXPORT int setgroups(size_t n, const gid_t *list)
{
	return change_groups(n, list);
}

/* libc's own would call its setgroups past ours. */
EXPORT int initgroups(const char *user, gid_t group)
{
	int n = 64, room, r;
	gid_t *list = NULL, *more;

	if (!on_g())
		return real.initgroups(user, group);
	do {
		room = n;
		more = realloc(list, (size_t)room * sizeof(*list));
		if (!more) {
			free(list);
			return -1;
		}
		list = more;
		r = HANDOFF(real.getgrouplist(user, group, list, &n));
		if (r < 0 && n <= room)
			n = 2 * room;
	} while (r < 0);
	/* The kernel may take fewer. */
	while ((r = change_groups((size_t)n, list)) < 0 && errno == EINVAL && --n > 0)
		;
	free(list);
	return r;
}
