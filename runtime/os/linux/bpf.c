/*
 * bpf: what a filter of the program's (seccomp) will say to weft's own system calls.
 *
 * A filter that the program installs has the answers for the calls of libc and the program.  Weft
 * makes others beside them, and must not make those that the filter does not allow: they might end the
 * process.  The filter is a program in classic BPF that reads nothing but the call's number, machine,
 * address and arguments, and its text is in the caller's hands before the kernel has it.  So it is run
 * here, once for each line of own.def.  What weft does not know beforehand (addresses, numbers of
 * descriptors) is unknown there, too: at a branch that depends on it both ways are gone, and the
 * strictest answer counts.
 *
 * Must never: allocate; call what is allowed no sooner than it is known; believe that the text can be
 * read.
 */
#include "runtime/os/linux/newer.h"
#include "runtime/os/linux/own.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif
#ifndef SECCOMP_RET_LOG
#define SECCOMP_RET_LOG 0x7ffc0000U
#endif
enum { ANY = -1 };

const struct own own_calls[] = {
#define OWN(name, arg, value, feature, answer)                                                     \
	{ SYS_##name, arg, OS_##feature, answer, value, #name },
#include "runtime/os/linux/own.def"
#undef OWN
};
const unsigned own_ncalls = sizeof(own_calls) / sizeof(own_calls[0]);

_Static_assert(sizeof(own_calls) / sizeof(own_calls[0]) <= OWN_MAX, "struct os_forbidden has a bit for each");

enum {
	LONGEST = BPF_MAXINSNS,
	STEPS = 65536,        /* for one call: each of the longest program's, on 16 ways */
	DEPTH = 64,           /* branches open at once: the stack of the caller may be small */
	WORDS = sizeof(struct seccomp_data) / 4,
};

/* A word that is known, or is not. */
struct word {
	uint32_t v;
	bool known;
};

struct question {
	const struct sock_filter *text;
	unsigned n, steps;
	bool surely;          /* the mildest answer counts: is it forbidden whatever the rest is? */
	struct word data[WORDS];
};

struct machine {
	struct word a, x, mem[BPF_MEMWORDS];
};

/* The kernel's order of answers is that of signed numbers: the least is the strictest, and counts. */
static int32_t counts(const struct question *q, int32_t a, int32_t b)
{
	return (a < b) != q->surely ? a : b;
}

static int32_t unknown(const struct question *q)
{
	return q->surely ? INT32_MAX : INT32_MIN;
}

static struct word compute(unsigned op, struct word a, struct word b)
{
	struct word r = { 0, a.known && b.known };

	if (!r.known)
		return r;
	switch (op) {
	case BPF_ADD: r.v = a.v + b.v; break;
	case BPF_SUB: r.v = a.v - b.v; break;
	case BPF_MUL: r.v = a.v * b.v; break;
	case BPF_DIV: r.v = b.v ? a.v / b.v : 0; break;
	case BPF_AND: r.v = a.v & b.v; break;
	case BPF_OR: r.v = a.v | b.v; break;
	case BPF_XOR: r.v = a.v ^ b.v; break;
	case BPF_LSH: r.v = b.v < 32 ? a.v << b.v : 0; break;
	case BPF_RSH: r.v = b.v < 32 ? a.v >> b.v : 0; break;
	case BPF_NEG: r.v = -a.v; break;
	default: r.known = false;
	}
	return r;
}

static bool holds(unsigned op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ: return a == b;
	case BPF_JGT: return a > b;
	case BPF_JGE: return a >= b;
	}
	return (a & b) != 0; /* JSET */
}

static struct word load(const struct question *q, const struct machine *m, const struct sock_filter *f)
{
	struct word none = { 0, false };

	switch (BPF_MODE(f->code)) {
	case BPF_IMM: return (struct word){ f->k, true };
	case BPF_LEN: return (struct word){ sizeof(struct seccomp_data), true };
	case BPF_MEM: return f->k < BPF_MEMWORDS ? m->mem[f->k] : none;
	case BPF_ABS: return f->k / 4 < WORDS ? q->data[f->k / 4] : none;
	}
	return none;
}

static int32_t run(struct question *q, struct machine m, unsigned pc, unsigned depth)
{
	while (pc < q->n && q->steps) {
		const struct sock_filter *f = &q->text[pc++];
		struct word k = { f->k, true }, b = BPF_SRC(f->code) == BPF_X ? m.x : k;
		int32_t one;

		q->steps--;
		switch (BPF_CLASS(f->code)) {
		case BPF_LD: m.a = load(q, &m, f); break;
		case BPF_LDX: m.x = load(q, &m, f); break;
		case BPF_ST: m.mem[f->k % BPF_MEMWORDS] = m.a; break;
		case BPF_STX: m.mem[f->k % BPF_MEMWORDS] = m.x; break;
		case BPF_ALU: m.a = compute(BPF_OP(f->code), m.a, b); break;
		case BPF_MISC:
			if (BPF_MISCOP(f->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
			break;
		case BPF_RET:
			if (BPF_RVAL(f->code) == BPF_A)
				k = m.a;
			return k.known ? (int32_t)k.v : unknown(q);
		case BPF_JMP:
			if (BPF_OP(f->code) == BPF_JA) {
				pc += f->k;
			} else if (m.a.known && b.known) {
				pc += holds(BPF_OP(f->code), m.a.v, b.v) ? f->jt : f->jf;
			} else if (f->jt == f->jf) {
				pc += f->jt;
			} else {
				if (depth == DEPTH)
					return unknown(q);
				one = run(q, m, pc + f->jt, depth + 1);
				return counts(q, one, run(q, m, pc + f->jf, depth + 1));
			}
			break;
		}
	}
	return unknown(q); /* no end is found: anything may come */
}

static void know(struct question *q, size_t at, uint64_t v)
{
	q->data[at / 4] = (struct word){ (uint32_t)v, true };
	q->data[at / 4 + 1] = (struct word){ (uint32_t)(v >> 32), true };
}

/* The filter's answer to a call whose argument arg (negative: none) is known. */
static int32_t answer(const struct sock_filter *text, unsigned n, bool surely, long nr, int arg, uint64_t value)
{
	struct question q = { text, n, STEPS, surely, { { 0 } } };

	q.data[offsetof(struct seccomp_data, nr) / 4] = (struct word){ (uint32_t)nr, true };
	q.data[offsetof(struct seccomp_data, arch) / 4] = (struct word){ ARCH_AUDIT, true };
	if (arg >= 0)
		know(&q, offsetof(struct seccomp_data, args) + (size_t)arg * 8, value);
	return run(&q, (struct machine){ { 0, true }, { 0, true }, { { 0 } } }, 0, 0);
}

static bool allows(int32_t r)
{
	return (r & (int32_t)SECCOMP_RET_ACTION_FULL) >= (int32_t)SECCOMP_RET_LOG;
}

/* What libc asks clone for when it makes a thread. */
enum { OF_LIBC = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SYSVSEM | CLONE_SIGHAND | CLONE_THREAD | CLONE_SETTLS |
		 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID };

/* By clone3, and where that is said not to be there, by clone. */
static bool allows_threads(const struct sock_filter *text, unsigned n)
{
	int32_t r = answer(text, n, false, SYS_clone3, ANY, 0);

	return allows(r) || (r == (int32_t)(SECCOMP_RET_ERRNO | ENOSYS) &&
			     allows(answer(text, n, false, SYS_clone, 0, OF_LIBC)));
}

/* The kernel says no by itself: no tracer, listener or handler of SIGSYS may make the call all the same. */
static bool refuses(const struct sock_filter *text, unsigned n, long nr, int arg, uint64_t value)
{
	int32_t r = answer(text, n, true, nr, arg, value) & (int32_t)SECCOMP_RET_ACTION_FULL;

	return r == (int32_t)SECCOMP_RET_KILL_PROCESS || r == (int32_t)SECCOMP_RET_KILL_THREAD ||
	       r == (int32_t)SECCOMP_RET_ERRNO;
}

/* Does the filter allow the line's call? */
static bool allows_own(const struct sock_filter *text, unsigned n, const struct own *o)
{
	/* A CPU clock's number holds a thread's id: unknown, but for the sign. */
	int arg = o->value == CPUCLOCK ? ANY : o->arg;
	uint64_t value = o->value == OWNPID ? (uint64_t)os_getpid() : (uint64_t)o->value;

	/* What libc makes, too, is only spoken of, and its arguments are no others than libc's. */
	return allows(answer(text, n, o->feature == OS_LIBC, o->nr, arg, value));
}

static void ask_all(const struct sock_filter *text, unsigned n, struct os_forbidden *out)
{
	for (unsigned i = 0; i < own_ncalls; i++) {
		const struct own *o = &own_calls[i];

		if (allows_own(text, n, o))
			continue;
		own_add(out->calls, i);
		if (o->feature >= 0)
			out->features |= 1U << o->feature;
		else if (o->feature == OS_start)
			out->start = true;
		else if (!out->all)
			out->all = o->name;
	}
	out->threads = !allows_threads(text, n);
	out->never = refuses(text, n, SYS_clone3, ANY, 0) && refuses(text, n, SYS_clone, 0, OF_LIBC);
}

bool os_filter_ask(const void *prog, struct os_forbidden *out)
{
	struct sock_fprog p;
	struct sock_filter *text;
	size_t bytes;
	bool read;

	*out = (struct os_forbidden){ 0 };
	if (!os_peek(prog, &p, sizeof(p)) || !p.len || p.len > LONGEST)
		return false;
	bytes = p.len * sizeof(*text);
	text = os_alloc(bytes);
	if (!text)
		return false;
	read = os_peek(p.filter, text, bytes);
	if (read)
		ask_all(text, p.len, out);
	os_free(text, bytes);
	return read;
}
