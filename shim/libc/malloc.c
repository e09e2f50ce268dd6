/*
 * malloc: the allocator's entries, marked so that no G is preempted inside one.
 *
 * Malloc's arenas have locks.  A G preempted with one held would make every other that allocates
 * block a kernel thread and its P, so a G inside says so (safepoint.h) and gives way when it comes
 * out: two increments and a test a call.  Libc's own calls of malloc come here too.
 *
 * The next definition may be libc's or that of another preloaded allocator; a program that brings
 * its own never calls these.
 *
 * Must never: allocate; be called by the runtime.
 */
#include "shim/signal/safepoint.h"


#define MARKED(ret, name, params, args)                                                            \
	EXPORT CALLED_BY_LIBC ret name params                                                                     \
	{                                                                                          \
		ret r_;                                                                            \
                                                                                                   \
		if (!on_g())                                                                       \
			return real.name args;                                                     \
		libc_enter();                                                                      \
		r_ = real.name args;                                                               \
		libc_leave();                                                                      \
		return r_;                                                                         \
	}

CALLED_BY_LIBC void called_begin(void)
{
}

MARKED(void *, malloc, (size_t n), (n))
MARKED(void *, calloc, (size_t n, size_t size), (n, size))
MARKED(void *, realloc, (void *p, size_t n), (p, n))
MARKED(void *, reallocarray, (void *p, size_t n, size_t size), (p, n, size))
MARKED(void *, memalign, (size_t align, size_t n), (align, n))
MARKED(void *, aligned_alloc, (size_t align, size_t n), (align, n))
MARKED(int, posix_memalign, (void **out, size_t align, size_t n), (out, align, n))
MARKED(void *, valloc, (size_t n), (n))
MARKED(void *, pvalloc, (size_t n), (n))
MARKED(int, malloc_trim, (size_t pad), (pad))
MARKED(int, mallopt, (int what, int value), (what, value))
MARKED(struct mallinfo, mallinfo, (void), ())
MARKED(struct mallinfo2, mallinfo2, (void), ())

EXPORT CALLED_BY_LIBC void free(void *p)
{
	if (!on_g()) {
		real.free(p);
		return;
	}
	libc_enter();
	real.free(p);
	libc_leave();
}

/*
 * C23, glibc 2.43.  By free(), which they are the same as: a program that asks whether they are there finds these, and
 * the libc below may have none.
 */
EXPORT CALLED_BY_LIBC void free_sized(void *p, size_t n)
{
	(void)n;
	free(p);
}

EXPORT CALLED_BY_LIBC void free_aligned_sized(void *p, size_t align, size_t n)
{
	(void)align, (void)n;
	free(p);
}

CALLED_BY_LIBC void called_end(void)
{
}
