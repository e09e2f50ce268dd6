/*
 * bind: libc's own functions, found one by one at their first call.
 *
 * Other libraries' constructors call interposed names before ours runs, and most programs that
 * inherit the preload never make a thread: so nothing is resolved at start.  Each slot of `real`
 * begins as a stub that saves the argument registers, resolves the slot and jumps on; it works for
 * any prototype, variadic too.  bind_all() resolves the rest before the scheduler starts, so that
 * no look-up happens on a G's small stack.
 *
 * A slot may be filled inside anything that interposed names are called from: an allocator, the
 * loader, a signal handler.  symbol.c therefore reads the tables itself; dlsym() allocates.
 *
 * Must never: call libc.
 */
#include "shim/shim.h"
#include "shim/bind.h"

#include "compat/symbol.h"

static const struct {
	const char *name, *version;
} table[] = {
#define SYM(ret, name, version, params) { #name, version },
#include "shim/symbols.def"
#undef SYM
};

enum { NSYM = sizeof(table) / sizeof(table[0]) };

#define SYM(ret, name, version, params) void bindstub_##name(void) hidden;
#include "shim/symbols.def"
#undef SYM

struct real real = {
#define SYM(ret, name, version, params) .name = (void *)bindstub_##name,
#include "shim/symbols.def"
#undef SYM
};

/*
 * A stub is `mov $index, %r11d; jmp bindstub`; bindstub keeps rdi rsi rdx rcx r8 r9 rax and xmm0-7.
 */
__asm__(".pushsection .text\n"
	".set bindindex, 0\n"
#define SYM(ret, name, version, params)                                                             \
	".globl bindstub_" #name "\n.hidden bindstub_" #name "\n.type bindstub_" #name                 \
	", @function\nbindstub_" #name ":\n"                                                           \
	"	mov $bindindex, %r11d\n"                                                                \
	"	jmp bindstub\n"                                                                         \
	".size bindstub_" #name ", . - bindstub_" #name "\n"                                           \
	".set bindindex, bindindex + 1\n"
#include "shim/symbols.def"
#undef SYM
	".type bindstub, @function\n"
	"bindstub:\n"
	"	push %rdi\n	push %rsi\n	push %rdx\n	push %rcx\n"
	"	push %r8\n	push %r9\n	push %rax\n"
	"	sub $128, %rsp\n"
	"	movups %xmm0, (%rsp)\n	movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp)\n	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n	movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp)\n	movups %xmm7, 112(%rsp)\n"
	"	mov %r11d, %edi\n"
	"	call bind_one\n"
	"	mov %rax, %r11\n"
	"	movups (%rsp), %xmm0\n	movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2\n	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n	movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6\n	movups 112(%rsp), %xmm7\n"
	"	add $128, %rsp\n"
	"	pop %rax\n	pop %r9\n	pop %r8\n"
	"	pop %rcx\n	pop %rdx\n	pop %rsi\n	pop %rdi\n"
	"	jmp *%r11\n"
	".size bindstub, . - bindstub\n"
	".popsection\n");

/* What a name that this libc lacks does: the caller cannot have linked against it. */
static long lacking(void)
{
	errno = ENOSYS;
	return -1;
}

void *bind_one(unsigned i) hidden __attribute__((used)); /* by the assembly above */

void *bind_one(unsigned i)
{
	void *p = symbol_next(table[i].name, table[i].version);

	if (!p)
		p = (void *)lacking;
	store_release((void **)&real + i, p);
	return p;
}

void bind_all(void)
{
	for (unsigned i = 0; i < NSYM; i++)
		bind_one(i);
}
