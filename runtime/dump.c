/*
 * dump: all Gs, for a person who looks at a hang: what each waits for, since when, and from where.
 *
 * Runs in a signal handler or in a dying process: takes no lock, so a G that moves meanwhile may be
 * printed half old, half new.  Backtraces follow the unwind tables of libgcc only from gdb; here the saved
 * frame pointers are walked as far as they stay inside the G's own stack.
 */
#include "runtime/gmp.h"

static const char *status_text(uint32_t s)
{
	static const char *const text[] = { "idle",    "runnable", "running", "syscall",
					    "waiting", "?",	   "dead" };

	return s < nelem(text) ? text[s] : "?";
}

/* Candidate return addresses: words of the stack's top end that point into executable text would need
 * the mappings; the frame-pointer chain is exact where code keeps one and stops where it does not. */
static void backtrace(struct outbuf *o, struct g *gp)
{
	uintptr_t *frame, *lo = (uintptr_t *)gp->sp, *hi = (uintptr_t *)gp->stack.top;

	if (!lo || (!gp->stack.top))
		return;
	/* switch.S: mxcsr, r15 r14 r13 r12 rbx rbp, return address. */
	weft_print(o, "\tpc %p", (void *)lo[7]);
	frame = (uintptr_t *)lo[6];
	for (int i = 0; i < 24 && frame > lo && frame + 1 < hi && !((uintptr_t)frame & 7); i++) {
		uintptr_t *up = (uintptr_t *)frame[0];

		weft_print(o, " %p", (void *)frame[1]);
		if (up <= frame)
			break;
		frame = up;
	}
	weft_print(o, "\n");
}

static void dump_g(struct outbuf *o, struct g *gp, uint64_t now)
{
	uint32_t s = gstatus(gp);
	struct m *mp = atomic_load(&gp->m);

	weft_print(o, "G%lu \"%s\" id %u: %s", gp->goid, gp->name, gp->tid, status_text(s));
	if (s == Gwaiting) {
		weft_print(o, ", %s on %p", waitreason_text(gp->waitreason), gp->waitaddr);
		if (gp->waitsince)
			weft_print(o, " for %lu ms", (now - gp->waitsince) / 1000000);
		if (hooks.describe) {
			char text[96];

			if (hooks.describe(gp->waitreason, gp->waitaddr, text, sizeof(text)))
				weft_print(o, ", %s", text);
		}
	}
	if (mp)
		weft_print(o, ", M%d kernel thread %d", mp->id, mp->ostid);
	if (gp->lockedm)
		weft_print(o, ", wired to M%d", gp->lockedm->id);
	weft_print(o, "\n");
	if (s == Gwaiting || s == Grunnable)
		backtrace(o, gp);
}

void runtime_dump(void)
{
	struct outbuf o = OUTBUF_INIT;
	uint64_t now = nanotime();
	uint32_t n = atomic_load(&sched.nallgs);

	weft_print(&o, "weft[%d]: dump: %d Ps, %d idle, %d Ms, %d idle, global queue %d, %d Gs alive\n",
		   os_getpid(), atomic_load(&gomaxprocs), atomic_load(&sched.npidle), sched.nm,
		   sched.nmidle, atomic_load(&sched.runqsize), atomic_load(&sched.nglive));
	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		weft_print(&o, "P%d: status %u, %u queued, %u timers, M%d\n", i,
			   atomic_load(&allp[i]->status), runqlen(allp[i]), allp[i]->ntimers,
			   allp[i]->m ? allp[i]->m->id : -1);
	for (struct m *mp = sched.allm; mp; mp = mp->alllink)
		weft_print(&o, "M%d: kernel thread %d, P%d, G%ld%s\n", mp->id, mp->ostid,
			   mp->p ? mp->p->id : -1, mp->curg ? (long)mp->curg->goid : -1L,
			   mp->spinning ? ", spinning" : "");
	for (uint32_t i = 0; i < n; i++)
		if (gstatus(g_at(i)) != Gdead)
			dump_g(&o, g_at(i), now);
	weft_flush(&o);
}
