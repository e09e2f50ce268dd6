/*
 * dump: all Gs, to look at a hang: what each waits for, since when, which thread holds it, and from
 * where it was called.
 *
 * Runs on any kernel thread at any moment, on a hung or a dying process: takes no lock, so a G that
 * moves meanwhile may be printed half old, half new.  A parked G's context lies on its stack; one
 * in a system call left the place where it entered; one that runs is asked: its kernel thread gets
 * the dump signal, and the handler notes where it was (runtime_note_running).  One that does not
 * answer, because it blocks the signal, is printed without.
 *
 * Must never: call libc, park, wait without bound.
 */
#include "runtime/debug/backtrace.h"

enum {
	ANSWER = 50, /* looks, 200 us apart, for the answer of a running G */
	/*
	 * ns of CPU time that its kernel thread uses meanwhile, a tick of the kernel's and some: it had the signal, or
	 * keeps it out.  One that gets no CPU is waited for, until the dump has taken ANSWER_NS.
	 */
	ANSWER_CPU = 5000000,
	ANSWER_NS = 2000000000,
};

/* One question at a time; the G that is asked, then NULL again by the answer. */
static struct g *_Atomic asked;
static _Atomic uintptr_t answerpc, answersp;
/* questions that no dump waits for any more and that are still on their way */
static _Atomic int late;

static const char *status_text(uint32_t s)
{
	static const char *const text[] = { "idle",    "runnable", "running", "syscall",
					    "waiting", "?",	   "dead" };

	return s < nelem(text) ? text[s] : "?";
}

bool runtime_note_running(uintptr_t pc, uintptr_t sp)
{
	struct g *gp = weft_tls.g, *want = load_acquire(&asked);
	int n = load_acquire(&late);

	if (gp && want == gp) {
		store_release(&answersp, sp);
		store_release(&answerpc, pc);
		/* Last: the asker reads the two once this is NULL. */
		return cas_acq_rel(&asked, &want, NULL);
	}
	while (n > 0)
		if (cas_weak_acq_rel(&late, &n, n - 1))
			return true;
	/* Another G runs here by now, and this is no request for a dump: no answer. */
	return want && cas_acq_rel(&asked, &want, NULL);
}

/* The thread that was asked is not here, so no answer will come. */
void dump_fork_child(void)
{
	store_relaxed(&asked, NULL);
	store_relaxed(&late, 0);
}

static bool runs_on(struct g *gp, struct m *mp)
{
	return gstatus(gp) == Grunning && load_relaxed(&gp->m) == mp;
}

/* The signal has not come for want of a CPU: mp used less than that since. */
static bool starves(struct m *mp, uint64_t since)
{
	uint64_t cpu;

	return since && !os_thread_cpu(mp->ostid, &cpu) && cpu - since < ANSWER_CPU;
}

static bool ask(struct g *gp, struct m *mp, uint64_t until)
{
	struct g *want = gp;
	uint64_t cpu = 0; /* unknown: it has used some */

	if (gp == weft_tls.g || !weft_opt.dumpsig)
		return false;
	os_thread_cpu(mp->ostid, &cpu);
	store_relaxed(&answerpc, 0);
	store_release(&asked, gp);
	os_tgkill(os_getpid(), mp->ostid, weft_opt.dumpsig);
	for (int i = 0; runs_on(gp, mp) && (i < ANSWER || (nanotime() < until && starves(mp, cpu))); i++) {
		if (load_acquire(&asked) != gp)
			return load_acquire(&answerpc) != 0;
		os_usleep(200);
	}
	if (!cas_acq_rel(&asked, &want, NULL))
		return load_acquire(&answerpc) != 0;
	fetch_add_acq_rel(&late, 1);
	return false;
}

static void print_stack(struct outbuf *o, struct backtrace *b, struct g *gp, uint32_t s, struct m *mp, uint64_t until)
{
	uintptr_t top = (uintptr_t)gp->stack.top, saved[ARCH_CONTEXT_WORDS];

	switch (s) {
	case Gwaiting:
	case Grunnable:
		/* In a handler of ours, on a stack that says nothing of the program. */
		if (gp->intpc) {
			backtrace_print(b, o, gp->intpc, gp->intsp, top);
			break;
		}
		if (os_peek((void *)gp->sp, saved, sizeof(saved)))
			backtrace_print(b, o, saved[ARCH_CONTEXT_PC], gp->sp + sizeof(saved), top);
		break;
	case Gsyscall:
		backtrace_print(b, o, 0, gp->syscallsp, top);
		break;
	case Grunning:
		if (mp && ask(gp, mp, until))
			backtrace_print(b, o, load_acquire(&answerpc), load_acquire(&answersp), top);
		else if ((s = gstatus(gp)) != Grunning) /* meanwhile */
			print_stack(o, b, gp, s, NULL, until);
		break;
	}
}

static void print_wait(struct outbuf *o, struct g *gp, uint64_t now)
{
	uint64_t since = gp->waitsince;
	char text[160];

	weft_print(o, ", %s", waitreason_text(gp->waitreason));
	if (hooks.describe && hooks.describe(gp->waitreason, gp->waitaddr, os_peek, text, sizeof(text)))
		weft_print(o, ": %s", text);
	else
		weft_print(o, " on %p", gp->waitaddr);
	if (since && since < now)
		weft_print(o, ", for %lu ms", (now - since) / 1000000);
}

/* It is the program's, and may be gone. */
static void print_label(struct outbuf *o, const char *label)
{
	char text[64];
	size_t n = 0;

	while (label && n < sizeof(text) - 1 && os_peek(label + n, &text[n], 1) && text[n])
		n++;
	if (n)
		weft_print(o, " [%.*s]", (int)n, text);
}

void dump_g(struct outbuf *o, struct backtrace *b, struct g *gp, uint64_t now)
{
	uint32_t s = gstatus(gp);
	struct m *mp = load_relaxed(&gp->m), *lm = gp->lockedm;
	char name[16];

	g_getname(gp, name);
	weft_print(o, "G%lu \"%s\"", gp->shim.goid, name);
	print_label(o, load_acquire(&gp->shim.label));
	weft_print(o, " id %u: %s", gp->shim.tid, status_text(s));
	if (s == Gwaiting)
		print_wait(o, gp, now);
	if (mp)
		weft_print(o, ", M%d kernel thread %d", mp->id, mp->ostid);
	if (lm)
		weft_print(o, ", locked to M%d", lm->id);
	weft_print(o, "\n");
	if (b)
		print_stack(o, b, gp, s, mp, now + ANSWER_NS);
}

static void dump_machine(struct outbuf *o)
{
	weft_print(o, "weft[%d]: dump: %d Ps, %d idle, %d Ms, %d idle, global queue %d, %d Gs alive\n",
		   os_getpid(), load_relaxed(&gomaxprocs), load_relaxed(&sched.npidle), sched.nm,
		   sched.nmidle, load_relaxed(&sched.runqsize), load_relaxed(&sched.nglive));
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct m *mp = allp[i]->m;

		if (load_relaxed(&allp[i]->status) == Pdead)
			continue;
		weft_print(o, "P%d: status %u, %u queued, %u timers", i,
			   load_relaxed(&allp[i]->status), runqlen(allp[i]), allp[i]->timers.n);
		if (mp)
			weft_print(o, ", M%d", mp->id);
		weft_print(o, "\n");
	}
	LIST_EACH(struct m, mp, &sched.allm, all) {
		struct p *pp = mp->p;
		struct g *gp = mp->curg;

		weft_print(o, "M%d: kernel thread %d", mp->id, mp->ostid);
		if (pp)
			weft_print(o, ", P%d", pp->id);
		if (gp)
			weft_print(o, ", G%lu", gp->shim.goid);
		weft_print(o, "%s%s\n", mp->spinning ? ", spinning" : "",
			   !pp && !gp ? ", idle" : "");
	}
}

void runtime_dump(int fd)
{
	struct outbuf o = OUTBUF_INIT;
	struct backtrace b;
	uint64_t now = nanotime();
	uint32_t n = load_relaxed(&sched.nallgs);
	bool have = backtrace_open(&b);

	o.to = fd + 1;
	dump_machine(&o);
	for (uint32_t i = 0; i < n; i++) {
		struct g *gp = g_at(i);

		if (galive(gp))
			dump_g(&o, have ? &b : NULL, gp, now);
	}
	weft_print(&o, "weft[%d]: end of dump\n", os_getpid());
	weft_flush(&o);
	if (have)
		backtrace_close(&b);
}
