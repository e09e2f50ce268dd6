/*
 * gindex: a copy of all living Gs at one moment, found by libc's id, by address, by their struct thread (object.h).
 *
 * Must never: be kept for long; what it says was true once.
 */
#include "ctl/object.h"

#include <stdlib.h>

enum { THREAD_MOST = 4096 /* no struct thread is larger */ };

struct gindex {
	struct proc_g *g;
	const struct proc_g **bytid, **bythread, **byaddr;
	size_t n, room;
};

static bool add(const struct proc_g *g, void *arg)
{
	struct gindex *x = arg;

	if (x->n == x->room) {
		size_t room = x->room * 2 + 1024;
		struct proc_g *more = realloc(x->g, room * sizeof(*more));

		if (!more)
			return false;
		x->g = more;
		x->room = room;
	}
	x->g[x->n] = *g;
	x->g[x->n++].raw = NULL;
	return true;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_tid(const void *a, const void *b)
{
	return order((*(const struct proc_g *const *)a)->tid, (*(const struct proc_g *const *)b)->tid);
}

static int by_thread(const void *a, const void *b)
{
	return order((*(const struct proc_g *const *)a)->thread, (*(const struct proc_g *const *)b)->thread);
}

static int by_addr(const void *a, const void *b)
{
	return order((*(const struct proc_g *const *)a)->addr, (*(const struct proc_g *const *)b)->addr);
}

static const struct proc_g **sorted(const struct gindex *x, int (*how)(const void *, const void *))
{
	const struct proc_g **to = malloc((x->n + 1) * sizeof(*to));

	for (size_t i = 0; to && i < x->n; i++)
		to[i] = &x->g[i];
	if (to)
		qsort(to, x->n, sizeof(*to), how);
	return to;
}

struct gindex *gindex_make(const struct proc *p)
{
	struct gindex *x = calloc(1, sizeof(*x));

	if (!x)
		return NULL;
	proc_each_g(p, add, x);
	x->bytid = sorted(x, by_tid);
	x->bythread = sorted(x, by_thread);
	x->byaddr = sorted(x, by_addr);
	if (x->bytid && x->bythread && x->byaddr)
		return x;
	gindex_free(x);
	return NULL;
}

void gindex_free(struct gindex *x)
{
	if (!x)
		return;
	free(x->g);
	free(x->bytid);
	free(x->bythread);
	free(x->byaddr);
	free(x);
}

/* The last of n in order whose key is at most v; -1: none. */
#define LAST_UP_TO(list, n, key, v)                     \
	({                                              \
		size_t lo_ = 0, hi_ = (n);              \
		while (lo_ < hi_) {                     \
			size_t mid_ = (lo_ + hi_) / 2;  \
			if ((list)[mid_]->key <= (v))   \
				lo_ = mid_ + 1;         \
			else                            \
				hi_ = mid_;             \
		}                                       \
		(long)lo_ - 1;                          \
	})

const struct proc_g *gindex_by_tid(const struct gindex *x, uint32_t tid)
{
	long i = LAST_UP_TO(x->bytid, x->n, tid, tid);

	return i >= 0 && x->bytid[i]->tid == tid ? x->bytid[i] : NULL;
}

const struct proc_g *gindex_by_thread(const struct gindex *x, uint64_t inside)
{
	long i = LAST_UP_TO(x->bythread, x->n, thread, inside);

	return i >= 0 && x->bythread[i]->thread && inside - x->bythread[i]->thread < THREAD_MOST ? x->bythread[i]
												: NULL;
}

const struct proc_g *gindex_by_addr(const struct gindex *x, uint64_t addr)
{
	long i = LAST_UP_TO(x->byaddr, x->n, addr, addr);

	return i >= 0 && x->byaddr[i]->addr == addr ? x->byaddr[i] : NULL;
}

size_t gindex_count(const struct gindex *x)
{
	return x->n;
}

const struct proc_g *gindex_at(const struct gindex *x, size_t i)
{
	return &x->g[i];
}
