/*
 * safepoint: where a G may be switched away by a signal.
 *
 * Anywhere, as far as our own code goes: what must not be interrupted is pinned.  Libc is another
 * matter: it has locks of its own (malloc's arenas, the loader, the environment, atexit, time
 * zones, locales).  When a G loses its CPU with one of them held, the next thread that wants the
 * lock blocks a kernel thread, with its P, perhaps the very P that the holder waits for.  So:
 *
 *	inside a call that weft wraps and that takes such a lock	never; the G gives way when it returns
 *								to the program (setenv, dlsym allocate too)
 *	the PC is in the loader, or in one of these wrappers,	never; sysmon asks again
 *	or in the libc of another namespace
 *	the PC is elsewhere in libc, or in a callback of		not at first; after 20 ms all the same
 *	dl_iterate_phdr
 *
 * The last is for long memset, qsort, strlen and their like, which hold no lock; a function that
 * does hold one, and that weft does not wrap, is left within microseconds, so that a request a
 * millisecond later finds it done.  The callback has the loader's lock of the list of objects:
 * dlopen waits for it with the lock that starting a kernel thread takes.
 *
 * Must never: call anything that is interposed, or touch errno: both are the interrupted code's.
 */
#include "shim/signal/safepoint.h"
#include "shim/libc/dlopen.h"
#include "shim/signal/sigroute.h"

#include "compat/findobject.h"
#include "compat/symbol.h"

#include <link.h>
#include <signal.h>
#include <string.h>

struct range {
	uintptr_t start, end;
};

static struct range libc_text, loader_text;
static find_object_fn *find_object; /* NULL: a libc before 2.35 */

static bool inside(const struct range *r, uintptr_t pc)
{
	return pc - r->start < r->end - r->start;
}

/* The object that holds addr: its executable part. */
struct search {
	uintptr_t addr;
	struct range text;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	struct range text = {0, 0};
	bool here = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr, end = start + ph->p_memsz;

		if (ph->p_type != PT_LOAD)
			continue;
		here |= s->addr >= start && s->addr < end;
		if (!(ph->p_flags & PF_X))
			continue;
		text.start = text.end ? text.start : start;
		text.end = end;
	}
	if (here)
		s->text = text;
	return here;
}

static struct range text_of(const void *addr)
{
	struct search s = {.addr = (uintptr_t)addr};

	real.dl_iterate_phdr(search_object, &s);
	return s.text;
}

void safepoint_init(void)
{
	libc_text = text_of((const void *)real.read);
	loader_text = text_of(symbol_loader());
	find_object = find_object_libc();
}

bool safepoint_at_caller(const void *caller)
{
	return !inside(&libc_text, (uintptr_t)caller) && !inside(&loader_text, (uintptr_t)caller);
}

/*
 * A libc of another namespace (dlmopen): its functions are not ours, and share the loader's locks
 * with the first one's, that of the list of stacks above all.  No allocation, no lock: the loader's
 * own answer for unwinders.
 */
static bool in_other_libc(uintptr_t pc)
{
	struct found_object o;
	const char *name, *base;

	if (!find_object || inside(&libc_text, pc) || find_object((void *)pc, &o))
		return false;
	name = o.link_map->l_name;
	base = strrchr(name, '/');
	return !strcmp(base ? base + 1 : name, "libc.so.6");
}

/* No lock of libc or the loader is held where the G was interrupted, as far as its PC tells. */
bool safepoint_at_pc(uintptr_t pc, bool forced)
{
	return weft_tls.depth == 0 && !inside(&loader_text, pc) &&
	       (pc < (uintptr_t)called_begin || pc >= (uintptr_t)called_end) &&
	       (forced || !(inside(&libc_text, pc) || dl_list_held())) && !in_other_libc(pc);
}
