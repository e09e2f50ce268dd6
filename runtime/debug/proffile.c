/*
 * proffile: where CPU time was spent, where threads waited, and for whom: the option `profile`, from start to end.
 *
 * A file that is mapped shared, as a trace of tracefile.h without chunks: what happens at a stack is added to it there,
 * so the file is as long after a day as at the start, and what was written stays when the process dies.  weftctl(1)
 * unwinds the stacks, and gives them names.
 *
 *	waits		from park to ready, charged to where the G parked, and for locks to where it was readied
 *	CPU time	sysmon reads the clocks of the Ms that have Ps.  Half a period of it or more is charged to
 *			where the M's G is: it is interrupted as by preempt.c, or is at its next event of a trace,
 *			whichever is first.  An M that lost its P reads its own when it comes back.
 *
 * Rejected: a timer of the kernel's for each M on its own CPU time.  It interrupts an M also where it is about to
 * sleep, and a call ends with EINTR because of a profile.
 *
 * Must never: wait; interrupt a call; charge time twice.
 */
#include "runtime/debug/trace.h"

/* As pprof's. */
enum { PERIOD = 10000000 };

static struct trace_header *file; /* NULL: none; set before the first thread */
static uint64_t looked;           /* sysmon's: when it read the clocks */

static void charge(uint32_t stack, enum profile_value v, uint64_t ns)
{
	if (stack) {
		struct trace_stack *s = trace_stack_at(file, stack - 1);

		fetch_add_relaxed(&s->value[v].n, 1);
		fetch_add_relaxed(&s->value[v].ns, ns);
	} else {
		fetch_add_relaxed(&file->unknown[v].n, 1);
		fetch_add_relaxed(&file->unknown[v].ns, ns);
	}
}

/* ---- waits ----------------------------------------------------------------------------------- */

void profile_park(struct g *gp, const void *fp)
{
	gp->profstack = trace_stack(file, fp);
	/* Release: pairs with the exchange of a waker, which reads profstack. */
	store_release(&gp->profsince, nanotime());
}

static const uint8_t whom_of[] = {
#define REASON(name, text, whom) WHOM_##whom,
#include "runtime/sched/waitreason.def"
#undef REASON
};

void profile_ready(struct g *gp, const void *fp)
{
	uint64_t since = exchange_acq_rel(&gp->profsince, 0), now;

	/* It is woken before its own event: that begins a wait which profile_run() ends. */
	if (!since || whom_of[gp->waitreason] == WHOM_NOBODY)
		return;
	now = nanotime();
	now = now > since ? now - since : 0;
	charge(gp->profstack, PROFILE_BLOCK, now);
	if (whom_of[gp->waitreason] == WHOM_HOLDER)
		charge(weft_tls.g ? trace_stack(file, fp) : 0, PROFILE_MUTEX, now);
}

void profile_run(struct g *gp)
{
	store_relaxed(&gp->profsince, 0);
}

/* ---- CPU time -------------------------------------------------------------------------------- */

/* What mp has used since somebody asked last: of two that ask at once one has it. */
static uint64_t used(struct m *mp)
{
	uint64_t last = load_relaxed(&mp->profcpu), now;

	if (os_thread_cpu(mp->ostid, &now) || now <= last || !cas_relaxed(&mp->profcpu, &last, now))
		return 0;
	return now - last;
}

/* What the calling M has to charge; 0: less than is worth a stack. */
static uint64_t take_due(struct m *mp)
{
	return load_relaxed(&mp->profdue) >= PERIOD / 2 ? exchange_relaxed(&mp->profdue, 0) : 0;
}

/* mp, the caller, whose G called weft, or came back to it. */
void profile_event(struct m *mp, enum trace_kind kind, const void *fp)
{
	uint64_t due;

	if (!mp || !weft_tls.g)
		return;
	if (unlikely(kind == TRACE_SYSLOST))
		fetch_add_relaxed(&mp->profdue, used(mp));
	due = take_due(mp);
	if (due)
		charge(trace_stack(file, fp), PROFILE_CPU, due);
}

void profile_interrupted(uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct m *mp;
	uint64_t due;

	if (likely(!(load_relaxed(&trace_on) & TRACE_PROFILE)) || !weft_tls.g)
		return;
	pin_m();
	mp = getm();
	due = mp ? take_due(mp) : 0;
	if (due)
		charge(trace_stack_interrupted(file, pc, sp, fp), PROFILE_CPU, due);
	unpin();
}

void profile_look(uint64_t now)
{
	if (likely(!(load_relaxed(&trace_on) & TRACE_PROFILE)) || now - looked < PERIOD)
		return;
	looked = now;
	for (int i = 0; i < MAXPROCS && allp[i]; i++) {
		struct p *pp = allp[i];
		bool calls = load_acquire(&pp->status) == Psyscall;
		struct m *mp = calls ? load_relaxed(&pp->sysm) : load_relaxed(&pp->m);

		if (!mp)
			continue;
		fetch_add_relaxed(&mp->profdue, used(mp));
		/* In a call it charges itself when that is over. */
		if (!calls && load_relaxed(&mp->profdue) >= PERIOD / 2)
			preempt_look(pp);
	}
}

/* ---- begin and end --------------------------------------------------------------------------- */

void profile_start(void)
{
	if (!weft_opt.profile[0])
		return;
	file = trace_file("profile", weft_opt.profile, PROFILE_MAGIC, PROFILE_SIZE);
	if (!file)
		return;
	trace_header_begin(file, PROFILE_MAGIC, PROFILE_STACKS, PROFILE_SIZE);
	used(&m0); /* what came before is nobody's */
	fetch_or_release(&trace_on, TRACE_PROFILE);
}

/* At exit: libraries that came after the start have names, too. */
static void __attribute__((destructor)) profile_exit_process(void)
{
	if (!(load_relaxed(&trace_on) & TRACE_PROFILE))
		return;
	trace_header_maps(file);
	store_relaxed(&file->end, nanotime());
}

/* The parent's goes on without this process; the mapping is left, as that of a trace. */
void profile_fork_child(void)
{
	file = NULL;
	looked = 0;
}
