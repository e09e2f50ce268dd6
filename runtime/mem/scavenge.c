/*
 * scavenge: memory of dead Gs goes back to the kernel.
 *
 * Once a second, as long as there is something to do, sysmon brings the free Gs of Ps together and
 * asks how many of each class were not needed since it last asked: the global list was never
 * shorter than that.  These are cold.  KEEP_GS of a class keep their thread block and their address
 * space and lose the pages of their stack; the rest lose all three, and when all Gs of a chunk
 * have, the chunk does.  The spawner does it, because thread blocks are taken off libc's lists under
 * libc's locks: a few at a time, and then it lets three times as long pass, so that it never uses
 * more than a quarter of a CPU.  A process that is at rest and has given back all this is not woken
 * again.
 *
 * When the kernel refuses memory for a stack, what dead Gs have is taken at once, whatever its shape:
 * their stacks are unmapped, and the thread blocks stay for the next life.  From the first refusal on
 * dead Gs are kept in the global lists alone: of a limit that is so near no P may have its own share.
 * A P that runs meanwhile gives up what it has when the next G ends there.  In the child of a fork the
 * Gs of the parent's other threads come first.
 *
 * Rejected: giving back at each thread's end, as libc does: two system calls in a create and join
 * that takes none.  The age of each G: a clock read at each end.
 *
 * Must never: touch a P's lists while it is owned by another.
 */
#include "runtime/sysmon/sysmon.h"

static uint64_t next; /* sysmon's: when it looks again */

/* ---- bringing together ----------------------------------------------------------------------- */

static void gather_idle(void)
{
	/* A P leaves the idle list under this lock, so meanwhile no M uses its lists. */
	lock(&sched.lock);
	for (struct p *pp = sched.pidle; pp; pp = pp->link)
		g_cachefree(pp);
	unlock(&sched.lock);
}

/* A P that runs is asked; one whose G has not come by for a whole period has to schedule. */
static void ask_running(uint64_t now)
{
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];

		if (!g_cached(pp) || load_seqcst(&pp->status) != Prunning)
			continue;
		if (exchange_relaxed(&pp->gfreeflush, true) && weft_opt.slice)
			preemptone(pp, now, 0);
	}
}

/* ---- sysmon ---------------------------------------------------------------------------------- */

static bool pending(void)
{
	if (gfree_unscavenged())
		return true;
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (g_cached(allp[i]))
			return true;
	return false;
}

void scavenge_tick(uint64_t now)
{
	if (now < next)
		return;
	next = now + SCAVENGE_PERIOD;
	if (!pending())
		return;
	gather_idle();
	ask_running(now);
	if (gfree_cool())
		spawner_wake();
}

uint64_t scavenge_when(void)
{
	return pending() ? next : 0;
}

/* ---- spawner --------------------------------------------------------------------------------- */

/* Of the first of n, and of those beside it.  How many; 0: the first one keeps its stack. */
static uint32_t strip(struct g *const *gs, uint32_t n)
{
	uint32_t stripped = stack_free(gs, n), blocks = 0;
	struct g *had[SCAVENGE_BATCH];

	for (uint32_t i = 0; i < stripped; i++) {
		struct g *gp = gs[i];

		if (!gp->shim.fs)
			continue;
		hooks.dropblock(gp->shim.fs);
		gp->shim.fs = NULL; /* gp->tls still leads to memory: the area stays, of zeroes */
		had[blocks++] = gp;
	}
	tlsarea_discard(had, blocks);
	for (uint32_t i = 0; i < stripped; i++)
		g_bare(gs[i]);
	return stripped;
}

/* Some that are cold, of one class.  False: there are none. */
static bool batch(uint32_t class)
{
	struct gfreelist cold = { 0 }, kept = { 0 };
	int32_t over = gfree_take_cold(class, SCAVENGE_BATCH, &cold) - KEEP_GS;
	struct g *gs[SCAVENGE_BATCH], *gp;
	uint32_t n = 0, most, i = 0;

	while (n < SCAVENGE_BATCH && (gp = gfree_pop(&cold)))
		gs[n++] = gp;
	most = over <= 0 ? 0 : (uint32_t)over < n ? (uint32_t)over : n;
	while (i < n) {
		uint32_t k = i < most ? strip(gs + i, most - i) : 0;

		i += k;
		if (k)
			continue;
		stack_discard(&gs[i]->stack);
		gfree_push(&kept, gs[i++]);
	}
	if (n)
		gfree_put_cold(class, &kept);
	return n > 0;
}

uint64_t scavenge_step(void)
{
	uint64_t began = nanotime();

	for (uint32_t i = 0; i < NCLASS; i++)
		if (batch(i))
			return SCAVENGE_REST * (nanotime() - began) + 1;
	/* The dearest for the least memory: at last. */
	return hooks.leftovers() ? SCAVENGE_REST * (nanotime() - began) + 1 : 0;
}

/* ---- when memory is refused ------------------------------------------------------------------ */

/*
 * In the child of a fork: the Gs that the fork left behind, as libc takes the stacks of threads that are
 * gone.  Each was copied at some moment of its life, so only its place in the tables, its area and a
 * stack that is whole are kept.
 */
static void take_inherited(void)
{
	uint32_t n = exchange_acq_rel(&sched.inherited, 0);
	struct g *gp;

	for (uint32_t i = 0; i < n && (gp = g_at(i)); i++) {
		struct g kept = { .allgidx = i, .area = gp->area, .areas = gp->areas, .stack = gp->stack };

		if (gp == g_main_ || gstatus(gp) != Gdead || !tlsarea_take_over(gp))
			continue;
		if (!stack_is_whole(&kept.stack))
			kept.stack = (struct stack){ 0 };
		*gp = kept;
		store_release(&gp->shim.status, Gdead);
		if (!gp->stack.slot) {
			g_bare(gp);
			continue;
		}
		gp->class = (uint8_t)gfree_class(&(struct shape){ .size = kept.stack.size, .guard = kept.stack.guard });
		g_free(gp);
	}
}

/* Those whose stack the kernel will not unmap stay what they were. */
static bool unmap_all(void)
{
	struct gfreelist kept = { 0 };
	struct g *gp;
	bool any = false;

	while ((gp = gfree_take_any())) {
		if (stack_free(&gp, 1)) {
			g_bare(gp);
			any = true;
		} else {
			gfree_push(&kept, gp);
		}
	}
	while ((gp = gfree_pop(&kept)))
		g_free(gp);
	return any;
}

bool scavenge_scarce(uint32_t class)
{
	struct p *pp;

	store_relaxed(&sched.scarce, true);
	pin();
	pp = getp();
	if (pp)
		g_cachefree(pp);
	unpin();
	gather_idle();
	take_inherited();
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		if (g_cached(allp[i]))
			store_relaxed(&allp[i]->gfreeflush, true);
	/* One of the same shape needs no memory at all. */
	return gfree_has(class) || unmap_all();
}
