/*
 * unwind: unwinds a G's stack from outside by libdw (stack.h).  What its names are: names.c.
 *
 * libdw is told that the process has one thread, whose registers are those of the G in question: registers that are
 * not known are not said, and a frame that needs one ends the walk.
 *
 * Must never: let libdw attach by ptrace; trust a stack to end.
 */
#include "ctl/stackparts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef HAVE_LIBDW

/* DWARF's numbers of x86-64's registers. */
enum { DW_RBX = 3, DW_RBP = 6, DW_RSP = 7, DW_R12 = 12, DW_R13, DW_R14, DW_R15 };

/* What the switch saves below the return address, from low to high: control words, r15 r14 r13 r12 rbx rbp. */
enum { SAVED_R15 = 1, SAVED_R14, SAVED_R13, SAVED_R12, SAVED_RBX, SAVED_RBP, SAVED_MOST = 16 };

enum { CHUNK = 4096, BEFORE = 64, SCAN = 4096 };

struct walk {
	struct stacks *s;
	uint64_t *pc;
	int n, max, seen;
	bool interrupted;           /* a signal interrupted the first frame: it is no return address */
};

/* ---- memory ---------------------------------------------------------------------------------- */

/* The word at addr, any address that a register may hold, is in copy. */
static bool copied(const struct stacks *s, uint64_t addr)
{
	uint64_t n = s->to - s->from;

	return addr >= s->from && n >= sizeof(addr) && addr - s->from <= n - sizeof(addr);
}

static bool word_at(struct stacks *s, uint64_t addr, uint64_t *v)
{
	if (!copied(s, addr)) {
		/* What is on the stopped thread's copy stays there: it runs again. */
		uint64_t from = addr > BEFORE ? addr - BEFORE : addr;

		if (s->stopped)
			return proc_read(s->p, addr, v, sizeof(*v));
		/* The page before may not be there. */
		if ((from ^ addr) & ~(uint64_t)(CHUNK - 1))
			from = addr & ~(uint64_t)(CHUNK - 1);
		s->from = from;
		s->to = from + proc_read_some(s->p, from, s->copy, CHUNK);
		if (!copied(s, addr))
			return proc_read(s->p, addr, v, sizeof(*v));
	}
	memcpy(v, s->copy + (addr - s->from), sizeof(*v));
	return true;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	(void)dwfl;
	return word_at(arg, addr, result);
}

/* ---- registers ------------------------------------------------------------------------------- */

static void know(struct regs *r, int reg, uint64_t v)
{
	r->value[reg] = v;
	r->known |= 1u << reg;
}

/* A parked one. */
static bool regs_saved(struct stacks *s, const struct proc_g *g, struct regs *r)
{
	uint64_t n = proc_number(s->p, LF_context_words), w[SAVED_MOST];

	if (n > SAVED_MOST || n <= SAVED_RBP || !proc_read(s->p, g->sp, w, n * sizeof(*w)))
		return false;
	r->pc = w[proc_number(s->p, LF_context_pc)];
	know(r, DW_R15, w[SAVED_R15]);
	know(r, DW_R14, w[SAVED_R14]);
	know(r, DW_R13, w[SAVED_R13]);
	know(r, DW_R12, w[SAVED_R12]);
	know(r, DW_RBX, w[SAVED_RBX]);
	know(r, DW_RBP, w[SAVED_RBP]);
	know(r, DW_RSP, g->sp + n * sizeof(*w));
	return true;
}

static bool in_weft(const struct stacks *s, uint64_t pc)
{
	return pc >= s->p->start && pc < s->p->end;
}

/*
 * Inside weft at the stack pointer sp, and no other register is known.  Each function there begins by pushing the
 * frame pointer below its return address: the first such pair that is one.
 */
static bool regs_from_frame(struct stacks *s, uint64_t sp, struct regs *r)
{
	uint64_t bp, ret;

	for (uint64_t a = (sp + 7) & ~(uint64_t)7; a < sp + SCAN; a += sizeof(a)) {
		if (!word_at(s, a, &bp) || !word_at(s, a + sizeof(a), &ret))
			return false;
		/* Before main's first frame, the program's, is none. */
		if (bp <= 1 ? in_weft(s, ret) : bp <= a || bp > a + (8 << 20))
			continue;
		if (!names_is_code(s, ret))
			continue;
		r->pc = ret;
		know(r, DW_RBP, bp);
		know(r, DW_RSP, a + 2 * sizeof(a));
		return true;
	}
	return false;
}

/* In the kernel since pc, with sp. */
static bool regs_in_kernel(struct stacks *s, uint64_t pc, uint64_t sp, struct regs *r)
{
	if (in_weft(s, pc))
		return regs_from_frame(s, sp, r);
	r->pc = pc;
	know(r, DW_RSP, sp);
	return true;
}

/* On an M: computes, or is in the kernel without having said so. */
static bool regs_running(struct stacks *s, const struct proc_g *g, struct regs *r)
{
	struct proc_m m;
	uint64_t pc, sp;
	pid_t tid;

	if (!proc_m_at(s->p, g->m, &m) || m.curg != g->addr || !(tid = proc_tid(s->p, m.ostid)))
		return false;
	switch (stopping_where(s->p->pid, tid, &pc, &sp)) {
	case WHERE_KERNEL:
		return regs_in_kernel(s, pc, sp, r);
	case WHERE_CPU:
		return s->may_stop && stopping_regs(s, tid, r) && proc_field(s->p, g->m, LF_m_curg) == g->addr;
	case WHERE_GONE:
		break;
	}
	return false;
}

static bool regs_of(struct stacks *s, const struct proc_g *g, struct regs *r)
{
	switch (g->status) {
	case GWAITING:
	case GRUNNABLE:
		return regs_saved(s, g, r);
	case GSYSCALL:
		return regs_running(s, g, r) || (g->syscallsp && regs_from_frame(s, g->syscallsp, r));
	case GRUNNING:
		return regs_running(s, g, r);
	}
	return false;
}

/* ---- libdw ----------------------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct stacks *s = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = &s->regs;
	return s->p->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	struct stacks *s = arg;

	(void)dwfl;
	*thread = &s->regs;
	return tid == s->p->pid;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct regs *r = arg;

	for (int i = 0; i < REGS; i++)
		if (r->known & 1u << i && !dwfl_thread_state_registers(thread, i, 1, &r->value[i]))
			return false;
	dwfl_thread_state_register_pc(thread, r->pc);
	return true;
}

const Dwfl_Thread_Callbacks stack_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

/* The signal frame's own code: it calls rt_sigreturn. */
static bool is_trampoline(const struct stacks *s, uint64_t pc)
{
	static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	unsigned char there[sizeof(code)];

	return proc_read(s->p, pc, there, sizeof(there)) && memcmp(there, code, sizeof(code)) == 0;
}

static int frame(Dwfl_Frame *f, void *arg)
{
	struct walk *w = arg;
	Dwarf_Addr pc;
	bool first;

	if (++w->seen > 2 * STACK_DEPTH || !dwfl_frame_pc(f, &pc, &first) || pc == 0)
		return DWARF_CB_ABORT;
	if (in_weft(w->s, pc))
		return DWARF_CB_OK;
	/* Below weft's own handler: what it interrupted is the program's innermost. */
	if (w->n == 0 && w->seen > 1 && !w->interrupted && first && is_trampoline(w->s, pc)) {
		w->interrupted = true;
		return DWARF_CB_OK;
	}
	/* A signal's handler returns to an address that is an instruction to be executed, as the first is. */
	w->pc[w->n++] = pc;
	return w->n < w->max ? DWARF_CB_OK : DWARF_CB_ABORT;
}

int stacks_of(struct stacks *s, const struct proc_g *g, uint64_t *pc, int max)
{
	struct walk w = { s, pc, 0, max, 0, false };

	if (!s->dwfl || max <= 0)
		return 0;
	s->from = s->to = 0;
	s->stopped = false;
	s->regs = (struct regs){ 0 };
	if (!regs_of(s, g, &s->regs))
		return 0;
	dwfl_getthread_frames(s->dwfl, s->p->pid, frame, &w);
	/* The first of one that does not run is taken for a return address. */
	if (w.n && w.interrupted && g->status != GRUNNING)
		pc[0]++;
	return w.n;
}

static bool may_be_read(const struct stacks *s)
{
	return s->dwfl;
}

#else

static bool may_be_read(const struct stacks *s)
{
	(void)s;
	return false;
}

int stacks_of(struct stacks *s, const struct proc_g *g, uint64_t *pc, int max)
{
	(void)s, (void)g, (void)pc, (void)max;
	return 0;
}

#endif

/* Where it waits, or that it runs there still; sp says where it parked. */
static bool stood(const struct proc_g *a, const struct proc_g *b)
{
	return a->status == b->status && a->sp == b->sp && a->waitaddr == b->waitaddr && a->parked == b->parked &&
	       a->waitreason == b->waitreason && a->m == b->m && a->syscallsp == b->syscallsp;
}

/*
 * A stack that moves is read again at once, some times.  One that is none is on its way from or to an M, whose CPU the
 * kernel may have given to another program: for some slices of 3 ms, so there are pauses, of a second in all.
 */
enum { AT_ONCE = 20, TRIES = AT_ONCE + 100, PAUSE_NS = 1000000, PAUSES = 1000 };

/* False: whatever it is, it has been waited for long enough. */
static bool pause_for(int tries)
{
	static int left = PAUSES;

	if (tries < AT_ONCE)
		return true;
	return left-- > 0 && !nanosleep(&(struct timespec){ 0, PAUSE_NS }, NULL);
}

int stacks_fresh(struct stacks *s, struct proc_g *g, uint64_t *pc, int max)
{
	struct proc_g now;
	int n = 0;

	for (int i = 0; i < TRIES; i++) {
		if (n == 0 && i > 0 && (!may_be_read(s) || !pause_for(i)))
			return 0;
		if (!proc_g_at(s->p, g->addr, &now) || now.goid != g->goid || now.status == GDEAD)
			return -1;
		if (n > 0 && stood(g, &now))
			return n;
		*g = now;
		n = stacks_of(s, g, pc, max);
	}
	return 0;
}
