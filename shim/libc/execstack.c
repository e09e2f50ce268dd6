/*
 * execstack: executable stacks for objects that ask for them.
 *
 * The address of a nested function in GNU C is code on the stack.  An object with one (or from an
 * assembler that says nothing) asks for executable stacks in its program headers, and the loader
 * then makes the stacks of all threads that it knows executable, before the object's constructors
 * run.  It does not know those of Gs.
 *
 * So each of these looks at the objects that are loaded: weft's start, dlopen when it returns, and
 * pthread_create while an object is being loaded, for a constructor that starts threads.  A dlopen
 * that left by a jump (dlopen.c) is found out by the next pthread_create.  The look does not wait
 * for a dl_iterate_phdr of the program's, whose callback may wait for the caller; the next look
 * finds the objects.  As with the loader's own, there is no way back, and memory that the program
 * brought for a stack stays as it is.
 *
 * Known gap: a constructor that makes threads of before its object run on code of their stacks.
 */
#include "runtime/process.h"
#include "shim/libc/dlopen.h"

#include <link.h>
#include <sys/auxv.h>

static _Atomic bool executable; /* for good */
/* Objects that had ever been loaded when all were last looked at. */
static _Atomic unsigned long long seen;

struct look {
	unsigned long long adds;
	bool asked;
};

static bool asks(const struct dl_phdr_info *info)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_STACK)
			return info->dlpi_phdr[i].p_flags & PF_X;
	/*
	 * An object that says nothing wants it; but the kernel's own object says nothing, and is
	 * not loaded.
	 */
	return (uintptr_t)info->dlpi_phdr - __getauxval(AT_SYSINFO_EHDR) >= 4096;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct look *l = arg;

	(void)size;
	if (info->dlpi_adds == load_acquire(&seen))
		return 1;
	l->adds = info->dlpi_adds;
	l->asked |= asks(info);
	return l->asked;
}

bool execstack_look(void)
{
	struct look l = {0};

	if (load_relaxed(&executable))
		return true;
	if (!dl_each_object(look_at, &l))
		return false;
	if (l.asked) {
		runtime_fromnow(FROMNOW_EXECUTABLE);
		store_release(&executable, true);
	} else if (l.adds) {
		store_release(&seen, l.adds);
	}
	return true;
}
