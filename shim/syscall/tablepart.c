/*
 * tablepart: tables that are large for a rare case (a hundred thousand signals that wait, a million descriptors).
 *
 * Such a table has a pointer for each part, and the part is mapped when it is first used.  An array in
 * .bss costs no memory either, but it counts: ulimit -d and -v refuse the library, mlockall() locks and
 * fills all of it.
 */
#include "shim/syscall/tablepart.h"
#include "shim/syscall/scratch.h"

void *tablepart(void *_Atomic *part, size_t n)
{
	void *p = load_acquire(part), *fresh;

	if (likely(p))
		return p;
	/* No lock: the caller may be a handler. */
	if (scratch_map(&fresh, n))
		return NULL;
	/* Release and acquire: a thread that finds another's part finds it filled with zeroes. */
	if (cas_acq_rel(part, &p, fresh))
		return fresh;
	scratch_unmap(fresh, n);
	return p;
}
