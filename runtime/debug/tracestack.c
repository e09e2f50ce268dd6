/*
 * tracestack: from where the program called weft, for the events of a trace.
 *
 * An unwinder would cost more than the event may, so it runs elsewhere: in weftctl, over a copy of the stack.  Here a
 * stack is only known again.  weft's own frames are linked by frame pointers, so the program's call is found in a few
 * steps.  Where that is, how deep, and which return addresses lie on the stack above make the stack what it is: one
 * that was seen before has its number by some loads and compares, and a new one is copied, once.
 *
 * What looks like a return address may be one that a finished call left behind: then one stack has several numbers,
 * which weftctl makes one.
 *
 * Where a signal came, the program's own registers are taken instead, for profiles.
 *
 * Must never: follow a frame of the program's; read past the end of a stack.
 */
#include "runtime/debug/backtrace.h"
#include "runtime/debug/trace.h"

#include <elf.h>
#include <string.h>

enum {
	OWN_FRAMES = 32,          /* of weft's own, at most */
	FRAME_MOST = 64 << 10, /* bytes of one */
	PROBES = 16,          /* places that are looked at for a stack */
	CHECKED = 1024,       /* bytes that are searched for return addresses */
	MAIN_MOST = 8 << 20,  /* bytes of main's stack: what lies lower is another */
};

/* The linker's: where the library begins, or what else this is linked into. */
extern const char __ehdr_start[] hidden;

static struct backtrace code; /* what is code, while a trace is written */
static _Atomic bool have_code;
static uintptr_t own, ownend; /* weft's own */

static void find_own(void)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)__ehdr_start;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(__ehdr_start + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_X))
			continue;
		own = (uintptr_t)__ehdr_start + ph[i].p_vaddr;
		ownend = own + ph[i].p_memsz;
	}
}

/* Of a trace that weftctl asks for while a profile is written: the tables are not new, and stay. */
void trace_stack_begin(void)
{
	if (load_relaxed(&have_code))
		return;
	find_own();
	store_release(&have_code, backtrace_again(&code));
}

void trace_stack_end(void)
{
	/* An M may be reading: the tables' memory stays, for the next trace. */
	if (!load_relaxed(&trace_on))
		store_release(&have_code, false);
}

static bool in_weft(uintptr_t pc)
{
	return pc >= own && pc < ownend;
}

struct call {
	uintptr_t pc, sp, bp; /* the program's, after the call returns */
	uintptr_t top;        /* end of its stack */
};

/* top: end of gp's stack, base: where it may begin. */
static void bounds(const struct g *gp, uintptr_t *base, uintptr_t *top)
{
	*top = (uintptr_t)gp->stack.top;
	*base = (uintptr_t)gp->stack.base;
	if (*top)
		return;
	*top = code.stackend;
	*base = *top - MAIN_MOST;
}

/* fp is a frame of weft's. */
static bool find_call(const struct g *gp, const uintptr_t *fp, struct call *c)
{
	uintptr_t base, top;

	bounds(gp, &base, &top);
	for (int i = 0; in_weft(fp[1]); i++) {
		uintptr_t next = fp[0];

		if (i == OWN_FRAMES || next <= (uintptr_t)fp || next - (uintptr_t)fp > FRAME_MOST || next % sizeof(*fp))
			return false;
		fp = (const uintptr_t *)next;
	}
	*c = (struct call){ fp[1], (uintptr_t)(fp + 2), fp[0], top };
	/* In a handler on a stack of its own, or in a coroutine. */
	return c->sp > base && c->sp < top;
}

/*
 * pc is anywhere.  In weft the frame pointer may still be the program's, at the first instructions of a function:
 * then it leads nowhere, or to a frame that is not the innermost.
 */
static bool find_interrupted(const struct g *gp, uintptr_t pc, uintptr_t sp, uintptr_t fp, struct call *c)
{
	uintptr_t base, top;

	bounds(gp, &base, &top);
	if (sp <= base || sp >= top)
		return false;
	if (!in_weft(pc)) {
		*c = (struct call){ pc, sp, fp, top };
		return true;
	}
	for (int i = 0; i < OWN_FRAMES && fp >= sp && fp < top - 2 * sizeof(fp) && fp % sizeof(fp) == 0; i++) {
		const uintptr_t *frame = (const uintptr_t *)fp;

		if (!in_weft(frame[1])) {
			*c = (struct call){ frame[1], fp + 2 * sizeof(fp), frame[0], top };
			return backtrace_knows(&code, frame[1]);
		}
		sp = fp + 1;
		fp = frame[0];
	}
	return false;
}

struct trace_stack *trace_stack_at(struct trace_header *h, uint32_t i)
{
	return (struct trace_stack *)((char *)h + TRACE_PAGE + TRACE_MAPS + (size_t)i * TRACE_STACK_BYTES);
}

static bool same(const struct trace_stack *s, const struct call *c)
{
	for (uint32_t i = 0; i < s->nchecks; i++)
		if (*(const uint64_t *)(c->sp + s->check[i].at) != s->check[i].value)
			return false;
	return true;
}

static void copy(struct trace_stack *s, const struct call *c, bool interrupted)
{
	size_t n = c->top - c->sp < TRACE_STACK_MOST ? c->top - c->sp : TRACE_STACK_MOST;

	s->pc = c->pc;
	s->sp = c->sp;
	s->bp = c->bp;
	s->nchecks = 0;
	s->interrupted = interrupted;
	memcpy(s->bytes, (const void *)c->sp, n);
	for (uint32_t at = 0; at + sizeof(uint64_t) <= n && at < CHECKED && s->nchecks < TRACE_CHECKS;
	     at += sizeof(uint64_t)) {
		uint64_t v = *(const uint64_t *)(c->sp + at);

		if (in_weft(v) || !backtrace_knows(&code, v))
			continue;
		s->check[s->nchecks].at = at;
		s->check[s->nchecks++].value = v;
	}
	/* Release: pairs with find()'s load, on any M. */
	store_release(&s->n, (uint32_t)n);
}

static uint64_t key_of(const struct call *c)
{
	uint64_t k = (c->pc ^ (c->top - c->sp) << 32) * 0x9e3779b97f4a7c15ULL;

	return (k ^ k >> 29) | 1;
}

static uint32_t number(struct trace_header *h, const struct call *c, bool interrupted)
{
	uint64_t key = key_of(c);

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t at = ((uint32_t)(key >> 20) + i) & (h->stacks - 1);
		struct trace_stack *s = trace_stack_at(h, at);
		uint64_t found = load_acquire(&s->key);

		if (!found && cas_acquire(&s->key, &found, key)) {
			copy(s, c, interrupted);
			return at + 1;
		}
		if (found != key)
			continue;
		if (!load_acquire(&s->n))
			return 0; /* another M writes it at this moment */
		if (same(s, c))
			return at + 1;
	}
	fetch_add_relaxed(&h->nostack, 1);
	return 0;
}

uint32_t trace_stack(struct trace_header *h, const void *fp)
{
	struct call c;

	return load_acquire(&have_code) && find_call(weft_tls.g, fp, &c) ? number(h, &c, false) : 0;
}

uint32_t trace_stack_interrupted(struct trace_header *h, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	struct call c;

	if (!load_acquire(&have_code) || !find_interrupted(weft_tls.g, pc, sp, fp, &c))
		return 0;
	return number(h, &c, c.pc == pc);
}
