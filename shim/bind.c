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

/* bindstub.S: a stub calls bind_one() with its index here, and jumps on. */
#define SYM(ret, name, version, params) void bindstub_##name(void) hidden;
#include "shim/symbols.def"
#undef SYM

struct real real = {
#define SYM(ret, name, version, params) .name = (void *)bindstub_##name,
#include "shim/symbols.def"
#undef SYM
};

/* What a name that this libc lacks does: the caller cannot have linked against it. */
static long lacking(void)
{
	errno = ENOSYS;
	return -1;
}

void *bind_one(unsigned i) hidden __attribute__((used)); /* by the stubs */

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
