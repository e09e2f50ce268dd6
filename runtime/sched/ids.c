/*
 * ids: numbers of threads: what libc stores as the owner in its objects, and the goid of a life.
 *
 * Each P takes them from the global count by the batch.
 *
 * Must never: give an id that a living thread has.
 */
#include "runtime/sched/gmp.h"

enum { IDBATCH = 16 };
enum { ID_MIN = 0x10000000, ID_MAX = 0x3fffffff }; /* above every kernel id, inside FUTEX_TID_MASK */

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

		if (!galive(gp) || gp->shim.tid < ID_MIN)
			continue;
		d = (gp->shim.tid - ID_MIN + IDS - here) % IDS;
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

uint64_t g_nextgoid(void)
{
	struct p *pp;
	uint64_t n;

	pin();
	pp = getp();
	n = pp ? nextof(&pp->goids, goid_batch) : fetch_add_relaxed(&sched.goidgen, 1);
	unpin();
	return n + 1;
}
