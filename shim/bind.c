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

/*
 * Each name, and behind it its version, empty where that is the default one.  By their places in one text:
 * the loader writes each pointer of a table at each start of a program, whether or not that makes a thread.
 */
#pragma push_macro("NULL")
#undef NULL
#define NULL ""
static const struct {
#define SYM(ret, name, version, params) char name_##name[sizeof(#name)], version_##name[sizeof(version)];
#include "shim/symbols.def"
#undef SYM
} texts = {
#define SYM(ret, name, version, params) .name_##name = #name, .version_##name = version,
#include "shim/symbols.def"
#undef SYM
};
#pragma pop_macro("NULL")

static const uint16_t places[] = {
#define SYM(ret, name, version, params) offsetof(__typeof__(texts), name_##name),
#include "shim/symbols.def"
#undef SYM
};

enum { NSYM = sizeof(places) / sizeof(places[0]) };
_Static_assert(sizeof(texts) <= UINT16_MAX, "a place has 16 bits");

static struct symbol_name wanted(unsigned i)
{
	struct symbol_name s = { (const char *)&texts + places[i], NULL };
	/* Volatile: clang from 21 on makes a call of strlen() of this loop otherwise. */
	const volatile char *version = s.name;

	while (*version++)
		;
	if (*version)
		s.version = (const char *)version;
	return s;
}

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

static void *found(unsigned i, void *p)
{
	if (!p)
		p = (void *)lacking;
	store_release((void **)&real + i, p);
	return p;
}

void *bind_one(unsigned i) hidden __attribute__((used)); /* by the stubs */

void *bind_one(unsigned i)
{
	struct symbol_name s = wanted(i);

	return found(i, symbol_next(s.name, s.version));
}

void bind_all(void)
{
	symbol_next_all(NSYM, wanted, found);
}
