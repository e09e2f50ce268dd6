/*
 * gtable: the table of all Gs that were ever made.
 *
 * struct g is never freed and never moves: dumps walk all of them without a lock.  What is wanted no more
 * is bare, for the next thread of any shape; a chunk of bare ones gives its memory back, and reads as Gs
 * that were never made.
 *
 * Must never: touch a G that is alive.
 */
#include "runtime/sched/gmp.h"

struct g *g_at(uint32_t i)
{
	struct g *chunk = i < nelem(sched.gchunks) * GCHUNK
				  ? load_acquire(&sched.gchunks[i / GCHUNK].gs)
				  : NULL;

	return chunk ? &chunk[i % GCHUNK] : NULL;
}

/*
 * There may be so many.  The kernel refuses a thread long before its threads fill the memory, and
 * programs count on it; a G costs so little that a program that makes them without end would drive
 * the machine out of memory.  A third of what would be free without Gs is left: for what threads do, and for others.
 * Only a program with many threads pays for the question.
 */
static uint32_t limit(uint32_t have)
{
	/*
	 * Bytes of a parked G with the default stack: two pages, one of them with the page table that a stack of
	 * megabytes needs for itself, a thread block's second page shared, and struct g (measured: 14,025); and what
	 * always may be.
	 */
	enum { EACH = 14 << 10, G_FEW = 16384 };
	size_t most = nelem(sched.gchunks) * GCHUNK, fit;

	if (weft_opt.threads)
		return weft_opt.threads < most ? (uint32_t)weft_opt.threads + 1 : (uint32_t)most;
	if (have < G_FEW)
		return G_FEW;
	fit = os_memory((size_t)have * EACH) / 3 * 2 / EACH;
	return (uint32_t)(fit < G_FEW ? G_FEW : fit < most ? fit : most);
}

static struct g *make_in(struct gchunk *c, uint32_t i)
{
	struct g *gp = &load_acquire(&c->gs)[i % GCHUNK];

	gp->allgidx = i;
	if (c->areas) {
		gp->area = c->areas[i % GCHUNK].at;
		gp->areas = c->areas[i % GCHUNK].of;
	}
	store_release(&gp->shim.status, Gdead);
	c->made = i % GCHUNK + 1;
	return gp;
}

/* One that lived, or was to (L allgs); nspare says that there is one. */
static struct g *spare(void)
{
	uint32_t k = sched.sparehint, full = load_acquire(&sched.nallgs) / GCHUNK;
	struct gchunk *c;
	struct g *gp;

	for (;; k++) {
		c = &sched.gchunks[k];
		if (c->bare || (k < full && c->made < GCHUNK))
			break;
	}
	sched.sparehint = k;
	fetch_sub_relaxed(&sched.nspare, 1);
	gp = c->bare;
	if (!gp)
		return make_in(c, k * GCHUNK + c->made);
	c->bare = gp->schedlink;
	c->nbare--;
	return gp;
}

/*
 * All Gs of a chunk are bare: its memory goes back, and reads as zeroes, which is Gs that were never
 * made.  Where their areas are is kept beside.  A late reader of one finds no thread.
 */
static void give_back(struct gchunk *c)
{
	struct g *gs = load_acquire(&c->gs);

	if (!c->areas)
		c->areas = persistentalloc(GCHUNK * sizeof(*c->areas));
	if (!c->areas)
		return;
	for (int i = 0; i < GCHUNK; i++)
		c->areas[i] = (struct area){ gs[i].area, gs[i].areas };
	c->bare = NULL;
	c->nbare = c->made = 0;
	os_discard(gs, GCHUNK * sizeof(*gs));
}

void g_bare(struct g *gp)
{
	uint32_t k = gp->allgidx / GCHUNK;
	struct gchunk *c = &sched.gchunks[k];

	lock(&sched.allglock);
	gp->schedlink = c->bare;
	c->bare = gp;
	fetch_add_relaxed(&sched.nspare, 1);
	if (k < sched.sparehint)
		sched.sparehint = k;
	if (++c->nbare == GCHUNK)
		give_back(c);
	unlock(&sched.allglock);
}

static struct g *one_more(void)
{
	uint32_t i = load_acquire(&sched.nallgs);
	struct gchunk *c = &sched.gchunks[i / GCHUNK];
	struct g *gp;

	if (i / GCHUNK >= nelem(sched.gchunks))
		return NULL;
	if (!load_acquire(&c->gs))
		store_release(&c->gs, persistentalloc(GCHUNK * sizeof(*gp)));
	if (!load_acquire(&c->gs))
		return NULL;
	gp = make_in(c, i);
	store_release(&sched.nallgs, i + 1);
	return gp;
}

/* A bare G, or one that never lived; NULL: no memory, or too many of them exist. */
struct g *g_make(void)
{
	static _Atomic uint32_t most; /* as asked when the last chunk began */
	uint32_t have = load_acquire(&sched.nallgs);
	struct g *gp = NULL;

	if (!load_relaxed(&sched.nspare)) {
		if (have % GCHUNK == 0 || have >= load_relaxed(&most))
			store_relaxed(&most, limit(have));
		if (have >= load_relaxed(&most))
			return NULL;
	}
	lock(&sched.allglock);
	gp = load_relaxed(&sched.nspare) ? spare() : one_more();
	unlock(&sched.allglock);
	return gp;
}

/* About: the numbers are read one after the other. */
uint32_t g_count(void)
{
	uint32_t all = load_relaxed(&sched.nallgs), gone = load_relaxed(&sched.nspare) + load_relaxed(&sched.inherited);

	return all > gone ? all - gone : 0;
}

void g_fork_child(void)
{
	uint32_t n = load_relaxed(&sched.nallgs);

	lock_init(&sched.allglock, Allgs);
	/* What was bare, or given back, may have been on its way back to life when the copy was made. */
	for (uint32_t k = 0; k * GCHUNK < n; k++) {
		struct gchunk *c = &sched.gchunks[k];

		c->bare = NULL;
		c->nbare = 0;
		c->made = n - k * GCHUNK < GCHUNK ? n - k * GCHUNK : GCHUNK;
		c->areas = NULL;
	}
	store_relaxed(&sched.nspare, 0);
	sched.sparehint = 0;
}

struct g *g_next(uint32_t *i)
{
	uint32_t n = load_acquire(&sched.nallgs);

	while (*i < n) {
		struct g *gp = g_at((*i)++);

		if (galive(gp))
			return gp;
	}
	return NULL;
}
