/*
 * g: making and finding Gs, and what each of them is.
 *
 * struct g is never freed and never moves: dumps walk all of them without a lock.  Free ones are in
 * gfree.c.
 */
#include "runtime/sched/gmp.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

enum { IDBATCH = 16 };
enum { ID_MIN = 0x10000000, ID_MAX = 0x3fffffff }; /* above every kernel id, inside FUTEX_TID_MASK */

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
 * the machine out of memory.  Only a program with many threads pays for the question.
 */
static uint32_t limit(uint32_t have)
{
	enum { EACH = 10240, G_FEW = 16384 }; /* bytes of a parked G, and what always may be */
	size_t most = nelem(sched.gchunks) * GCHUNK, fit;

	if (weft_opt.threads)
		return weft_opt.threads < most ? (uint32_t)weft_opt.threads + 1 : (uint32_t)most;
	if (have < G_FEW)
		return G_FEW;
	fit = os_memory() / 4 / EACH; /* they will use more than that */
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
	store_release(&gp->status, Gdead);
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

/* The next of a range of ids; taken from the global count by the batch, as Go's goidcache. */
static uint64_t nextof(struct idcache *c, uint64_t (*batch)(void))
{
	if (c->next == c->end) {
		c->next = batch();
		c->end = c->next + IDBATCH;
	}
	return c->next++;
}

/* ---- thread ids ---- */

/*
 * The count never ends, the ids do: after 805 million threads they begin again, and a thread may
 * live that had one of the first.  Up to tidsafe none of the living has an id that is counted next.
 * Beyond, the distance from here to the nearest id in use says how far it is safe to go.
 */
#define IDS (uint64_t)(ID_MAX - ID_MIN)

static uint32_t id_of(uint64_t n)
{
	return ID_MIN + (uint32_t)(n % IDS);
}

/* From the id of count n to the next one that is in use, wrapping around. */
static uint64_t distance(uint64_t n)
{
	uint64_t here = n % IDS, least = IDS;

	for (uint32_t i = 0, all = load_acquire(&sched.nallgs); i < all; i++) {
		struct g *gp = g_at(i);
		uint64_t d;

		if (!galive(gp) || gp->tid < ID_MIN)
			continue;
		d = (gp->tid - ID_MIN + IDS - here) % IDS;
		least = d < least ? d : least;
	}
	return least;
}

/* Makes sure of the next ones (L allgs). */
static void look_ahead(void)
{
	enum { FAR = 1 << 20, SKIP = 4096 };
	uint64_t n = load_seqcst(&sched.tidgen), free;

	while ((free = distance(n)) < IDBATCH)
		n += SKIP; /* as large as what one of the living may cost */
	store_seqcst(&sched.tidgen, n);
	store_seqcst(&sched.tidsafe, n + (free < FAR ? free : FAR));
}

static uint64_t tid_batch(void)
{
	for (;;) {
		uint64_t n = fetch_add_seqcst(&sched.tidgen, IDBATCH);

		if (likely(n + IDBATCH <= load_seqcst(&sched.tidsafe)))
			return n;
		lock(&sched.allglock);
		if (load_seqcst(&sched.tidgen) + IDBATCH > load_seqcst(&sched.tidsafe))
			look_ahead();
		unlock(&sched.allglock);
	}
}

uint32_t g_nextid(void)
{
	struct p *pp;
	uint64_t n;

	pin();
	pp = getp();
	/* What a P has kept since long ago may be in use again. */
	if (pp && unlikely(pp->tids.end + IDS / 2 < load_seqcst(&sched.tidgen)))
		pp->tids.next = pp->tids.end;
	n = pp ? nextof(&pp->tids, tid_batch) : tid_batch();
	unpin();
	return id_of(n);
}

/*
 * Ids stand as owners in objects that processes share, so two processes must not count from one
 * start. Multiplied by the golden ratio, process ids near each other start far apart.
 */
void g_seedids(void)
{
	uint64_t start = (uint32_t)os_getpid() * 0x9e3779b1u;

	store_seqcst(&sched.tidgen, start);
	store_seqcst(&sched.tidsafe, start + IDS - 1); /* in the first round no id is in use yet */
}

/* ---- goids ---- */

static uint64_t goid_batch(void)
{
	return fetch_add_relaxed(&sched.goidgen, IDBATCH);
}

static uint64_t nextgoid(void)
{
	struct p *pp;
	uint64_t n;

	pin();
	pp = getp();
	n = pp ? nextof(&pp->goids, goid_batch) : fetch_add_relaxed(&sched.goidgen, 1);
	unpin();
	return n + 1;
}

static void entry(void *arg)
{
	unpin(); /* g_start pinned it */
	hooks.gmain(arg);
}

int g_shape(struct gattr *a)
{
	int err;

	if (a->stacksize == 0)
		a->stacksize = sched.defstack;
	err = stack_shape(a, &a->shape);
	if (err)
		return err;
	a->class = (uint8_t)gfree_class(&a->shape);
	a->shaped = true;
	return 0;
}

/* A free G with an area and such a stack, or one that gets them; NULL: no memory. */
static inline struct g *outfit(const struct gattr *a)
{
	struct g *gp = g_take(a);

	if (!gp)
		return NULL;
	if (likely(gp->stack.slot || (a->shape.user && gp->stack.base)))
		stack_fit(&gp->stack, a);
	else if (!tlsarea_alloc(gp, a) || !stack_alloc(&gp->stack, a)) {
		g_bare(gp);
		return NULL;
	}
	return gp;
}

struct g *g_new(const struct gattr *a, int *err)
{
	struct gattr full;
	struct g *gp;

	*err = 0;
	if (unlikely(!a->shaped)) {
		full = *a;
		*err = g_shape(&full);
		if (*err)
			return NULL;
		a = &full;
	}
	gp = outfit(a);
	if (unlikely(!gp) && scavenge_scarce(a->class))
		gp = outfit(a);
	if (!gp) {
		*err = -ENOMEM;
		return NULL;
	}
	gp->goid = nextgoid();
	store_relaxed(&gp->name[0], 0);
	store_relaxed(&gp->interrupted, false);
	store_relaxed(&gp->parkaddr, NULL);
	gp->parked = NULL;
	gp->sysdepth = 0;
	gp->cputime = gp->systime = 0;
	gp->shim.thread = NULL;
	gp->intpc = 0;
	if (weft_tls.g && !(load_relaxed(&duties) & DutyGs))
		gp->gs = weft_tls.g->gs;
	else
		gp->gs = arch_getgs();
	gp->sigmask = weft_tls.g ? weft_tls.g->sigmask : os_sigmask_get();
	gp->sp = arch_newctx(gp->stack.top, entry, gp);
	return gp;
}

void g_set_tls(struct g *gp, void *fsbase, uint32_t tid)
{
	ptrdiff_t off = (char *)&weft_tls - (char *)arch_getfs();

	gp->fs = fsbase;
	gp->tid = tid;
	gp->tls = (struct weft_tls *)((char *)fsbase + off);
	*gp->tls = (struct weft_tls){ .g = gp, .tid = tid };
}

void *g_tlsarea(struct g *gp)
{
	return gp->area;
}

void *g_tls(struct g *gp)
{
	return gp->fs;
}

uint64_t g_id(const struct g *gp)
{
	return gp->goid;
}

uint32_t g_tid(const struct g *gp)
{
	return gp->tid;
}

void g_stackbounds(const struct g *gp, void **base, size_t *size, size_t *guard)
{
	*base = gp->stack.base;
	*size = (size_t)(gp->stack.top - gp->stack.base);
	*guard = gp->stack.guard;
}

/* As a G has it: in words, so that no part is read while it is written. */
union gname {
	uint64_t word[2];
	char text[16];
};

void g_setname(struct g *gp, const char *name)
{
	union gname new = { { 0 } };

	for (size_t i = 0; i < sizeof(new.text) - 1 && name[i]; i++)
		new.text[i] = name[i];
	store_relaxed(&gp->name[0], new.word[0]);
	store_relaxed(&gp->name[1], new.word[1]);
	if (gp != g_main_ && !load_relaxed(&sched.named))
		store_relaxed(&sched.named, true);
}

void g_getname(const struct g *gp, char name[16])
{
	union gname now = { { load_relaxed(&gp->name[0]), load_relaxed(&gp->name[1]) } };

	memcpy(name, now.text, sizeof(now.text));
	name[15] = '\0';
}

void g_copyname(struct g *to, const struct g *from)
{
	store_relaxed(&to->name[0], load_relaxed(&from->name[0]));
	store_relaxed(&to->name[1], load_relaxed(&from->name[1]));
}

uint64_t sigmask_of(const struct g *gp)
{
	return gp->sigmask;
}

void sigmask_set(struct g *gp, uint64_t mask)
{
	if (gp != weft_tls.g) {
		gp->sigmask = mask;
		return;
	}
	/*
	 * The kernel's first, unpinned: what it lets in is delivered here and now, and then a
	 * handler finds in its context what we are about to note.  The same goes for a preemption
	 * in between.
	 */
	os_sigmask(mask);
	sigmask_note(mask);
}

long g_setgs(uintptr_t base)
{
	struct g *gp = weft_tls.g;
	long r;

	pin_m(); /* the kernel and the notes as one step */
	r = os_syscall(ARCH_PRCTL, ARCH_PRCTL_SETGS, (long)base, 0, 0, 0, 0);
	if (!r)
		gp->gs = getm()->gs = base;
	unpin();
	return r;
}

void sigmask_park(uint64_t mask)
{
	weft_tls.g->sigmask = mask;
}

void sigmask_note(uint64_t mask)
{
	pin_m();
	weft_tls.g->sigmask = mask;
	getm()->sigmask = mask;
	unpin();
}

bool sigmask_add_idle(uint64_t set)
{
	struct m *mp = weft_tls.m;

	/*
	 * M0 looks before each sleep what all keep out (m_block_idle()), and shuts out nothing else.  An M
	 * that is about to run a G gets that G's mask in this moment, and the note must say just that.
	 */
	if (weft_tls.g || !mp || mp == &m0 || mp->curg)
		return false;
	mp->sigmask |= set; /* until it sleeps, or runs a G */
	return true;
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

struct g *g_main(void)
{
	return g_main_;
}

bool g_waits(const struct g *gp)
{
	return gstatus(gp) == Gwaiting;
}

int g_ostid(const struct g *gp)
{
	struct m *mp = load_acquire(&gp->m);

	/* struct m is never freed, so a stale pointer reads an old id at worst. */
	return mp ? mp->ostid : 0;
}
