/*
 * g: making Gs, and what each of them is.
 *
 * The table of all Gs is in gtable.c, their ids in ids.c, free ones in gfree.c.
 *
 * Must never: make one run (proc.c).
 */
#include "runtime/sched/gmp.h"
#include "runtime/sched/tracehook.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

_Atomic bool g_named;

static void entry(void *arg)
{
	trace_begin(weft_tls.g);
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

/*
 * A G on a stack that has no pages yet gets its context when it begins: perhaps another has ended by then, whose
 * pages it can have.
 */
static inline void context(struct g *gp)
{
	bool cold = gp->stack.slot && !gp->stack.used;

	store_relaxed(&gp->shim.stackat, (uintptr_t)gp->stack.base << 1 | 1);
	gp->fpmodes = arch_fpmodes(); /* inherited, as by clone(2) */
	gp->sp = cold ? 0 : arch_newctx(gp->stack.top, entry, gp, gp->fpmodes);
}

/*
 * gp, which has ended and may still be joined, gives its stack away unless the program knows where that is: one that
 * keeps a table of its threads' stacks has it there until the join.
 */
static inline bool leaves_stack(struct g *gp)
{
	uintptr_t at = load_relaxed(&gp->shim.stackat);

	return gp->drop || ((at & 1) && cas_acq_rel(&gp->shim.stackat, &at, at & ~(uintptr_t)1));
}

void g_begin(struct p *pp, struct g *gp, struct g *over)
{
	struct g *from = over && leaves_stack(over) ? over : pp->gfree[gp->class].head;

	if (from)
		stack_trade(gp, from);
	/* Asked for the first time after its end it names what is its own.  In this very moment: what was. */
	if (over)
		store_relaxed(&over->shim.stackat, (uintptr_t)over->stack.base << 1);
	gp->stack.used = true;
	gp->sp = arch_newctx(gp->stack.top, entry, gp, gp->fpmodes);
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
	gp->shim.goid = g_nextgoid();
	store_relaxed(&gp->shim.name[0], 0);
	store_relaxed(&gp->interrupted, false);
	store_relaxed(&gp->parkaddr, NULL);
	store_relaxed(&gp->priority, 0); /* here: one that has ended may be given one until it is joined */
	gp->parked = NULL;
	gp->shim.sysdepth = 0;
	gp->cputime = gp->systime = 0;
	gp->cpuoff = false;
	gp->shim.thread = NULL;
	store_relaxed(&gp->shim.label, NULL);
	gp->shim.area = gp->area;
	gp->shim.stackguard = gp->stack.guard;
	gp->shim.stacksize = (size_t)(gp->stack.top - gp->stack.base);
	gp->intpc = 0;
	if (weft_tls.g && !fromnow_holds(FROMNOW_GS))
		gp->gs = weft_tls.g->gs;
	else
		gp->gs = arch_getgs();
	gp->shim.sigmask = weft_tls.g ? weft_tls.g->shim.sigmask : os_sigmask_get();
	context(gp);
	return gp;
}

void g_set_tls(struct g *gp, void *fsbase, uint32_t tid)
{
	ptrdiff_t off = (char *)&weft_tls - (char *)arch_getfs();

	gp->shim.fs = fsbase;
	gp->shim.tid = tid;
	gp->tls = (struct weft_tls *)((char *)fsbase + off);
	*gp->tls = (struct weft_tls){ .g = gp, .tid = tid, .owner = tid };
}

static void note_mask(uint64_t mask)
{
	pin_m();
	weft_tls.g->shim.sigmask = mask;
	getm()->sigmask = mask;
	unpin();
}

void sigmask_set(struct g *gp, uint64_t mask, bool kernel_has)
{
	if (gp != weft_tls.g) {
		gp->shim.sigmask = mask;
		return;
	}
	/*
	 * The kernel's first, unpinned: what it lets in is delivered here and now, and then a
	 * handler finds in its context what we are about to note.  The same goes for a preemption
	 * in between.
	 */
	if (!kernel_has)
		os_sigmask(mask);
	note_mask(mask);
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

/* struct m is never freed, so a stale pointer reads an old id at worst. */
struct mseen g_m(const struct g *gp)
{
	struct m *mp = gp ? load_acquire(&gp->m) : getm();

	if (!mp)
		return (struct mseen){ 0 };
	return (struct mseen){
		.ostid = mp->ostid,
		.block = mp == &m0 ? g_main_->shim.fs : mp->fs,
		.g0block = mp->fs,
		.sigstack = (uintptr_t)mp->sigstack,
		.sigstackend = (uintptr_t)mp->sigstack + m_sigstack_size(),
	};
}
