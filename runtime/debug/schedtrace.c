/*
 * schedtrace: schedtrace and scheddetail in exactly Go's text, so that its readers work.
 */
#include "runtime/sched/gmp.h"

static const char *const reasons[] = {
#define REASON(name, text, whom) text,
#include "runtime/sched/waitreason.def"
#undef REASON
};

const char *waitreason_text(unsigned r)
{
	return r < nelem(reasons) ? reasons[r] : "?";
}

static void print_id(struct outbuf *o, const char *key, bool have, long id)
{
	if (have)
		weft_print(o, "%s=%ld", key, id);
	else
		weft_print(o, "%s=nil", key);
}

static void detail_p(struct outbuf *o, struct p *pp)
{
	struct m *mp = pp->m;
	uint32_t status = load_relaxed(&pp->status);

	/* A status that Go does not have is one of Go's to its readers. */
	weft_print(o, "  P%d: status=%u schedtick=%u syscalltick=%u ", pp->id,
		   status == Psignal ? Prunning : status, load_relaxed(&pp->schedtick),
		   load_relaxed(&pp->syscalltick));
	print_id(o, "m", mp != NULL, mp ? mp->id : 0);
	weft_print(o, " runqsize=%u gfreecnt=%d timerslen=%u\n", runqlen(pp), g_cached(pp),
		   pp->timers.n);
}

static void detail_m(struct outbuf *o, struct m *mp)
{
	struct p *pp = mp->p;
	struct g *gp = mp->curg, *lg = mp->lockedg;

	weft_print(o, "  M%d: ", mp->id);
	print_id(o, "p", pp != NULL, pp ? pp->id : 0);
	weft_print(o, " ");
	print_id(o, "curg", gp != NULL, gp ? (long)gp->shim.goid : 0);
	weft_print(o, " mallocing=0 throwing=0 preemptoff= locks=%d dying=%d spinning=%s blocked=%s ",
		   load_relaxed(&mp->locks), mp->dying, mp->spinning ? "true" : "false",
		   !pp && !gp ? "true" : "false");
	print_id(o, "lockedg", lg != NULL, lg ? (long)lg->shim.goid : 0);
	weft_print(o, "\n");
}

static void detail_g(struct outbuf *o, struct g *gp)
{
	struct m *mp = load_relaxed(&gp->m), *lm = gp->lockedm;

	weft_print(o, "  G%lu: status=%u(%s) ", gp->shim.goid, gstatus(gp),
		   waitreason_text(gp->waitreason));
	print_id(o, "m", mp != NULL, mp ? mp->id : 0);
	weft_print(o, " ");
	print_id(o, "lockedm", lm != NULL, lm ? lm->id : 0);
	weft_print(o, "\n");
}

void schedtrace(bool detail)
{
	struct outbuf o = OUTBUF_INIT;
	int n = load_relaxed(&gomaxprocs);
	struct g *gp;

	lock(&sched.lock);
	weft_print(&o,
		   "SCHED %lums: gomaxprocs=%d idleprocs=%d threads=%d spinningthreads=%d "
		   "needspinning=%u idlethreads=%d runqueue=%d",
		   (nanotime() - sched.starttime) / 1000000, n, load_relaxed(&sched.npidle),
		   sched.nm + 1, load_relaxed(&sched.nmspinning), load_relaxed(&sched.needspinning),
		   sched.nmidle, load_relaxed(&sched.runqsize));
	if (detail) {
		weft_print(&o, " gcwaiting=false nmidlelocked=0 stopwait=0 sysmonwait=%s\n",
			   load_relaxed(&sched.sysmonwait) ? "true" : "false");
		for (int i = 0; i < MAXPROCS && allp[i]; i++)
			detail_p(&o, allp[i]);
		LIST_EACH(struct m, mp, &sched.allm, all)
			detail_m(&o, mp);
		for (uint32_t i = 0; (gp = g_next(&i));)
			detail_g(&o, gp);
	} else {
		weft_print(&o, " [");
		for (int i = 0; i < n; i++)
			weft_print(&o, " %u", runqlen(allp[i]));
		weft_print(&o, " ] schedticks=[");
		for (int i = 0; i < n; i++)
			weft_print(&o, " %u", load_relaxed(&allp[i]->schedtick));
		weft_print(&o, " ]\n");
	}
	unlock(&sched.lock);
	weft_flush(&o);
}
