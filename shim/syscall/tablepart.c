/*
 * tablepart: tables that are large for a rare case (a hundred thousand signals that wait, a million descriptors).
 *
 * Such a table has a pointer for each part, and the part is mapped when it is first used.  An array in
 * .bss costs no memory either, but it counts: ulimit -d and -v refuse the library, mlockall() locks and
 * fills all of it.
 */
#include "shim/syscall/tablepart.h"

void *tablepart(void *_Atomic *part, size_t n)
{
	void *p = load_acquire(part), *fresh;

	if (likely(p))
		return p;
	/* No lock: the caller may be a handler. */
	fresh = (void *)direct6(SYS_mmap, NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)fresh > -4096UL)
		return NULL;
	/* Release and acquire: a thread that finds another's part finds it filled with zeroes. */
	if (cas_acq_rel(part, &p, fresh))
		return fresh;
	direct3(SYS_munmap, fresh, n, 0);
	return p;
}
