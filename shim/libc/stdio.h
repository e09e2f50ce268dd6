/*
 * stdio: a call on a FILE, by a G.
 *
 * Every FILE has a recursive lock in libc, owned by the thread block, which is the G's: so it may
 * be held across switches and calls inside the call find it taken by themselves.  A G may be off
 * its P with the lock held: in flockfile(), or blocked writing to a pipe.  A thread that then asks
 * libc for the lock would block a kernel thread and its P, perhaps the P that the holder needs.
 * Hence, around each call:
 *
 *	take the lock by trying, parking in the lot while it is taken
 *	leave the P if the call may reach the kernel (`away`; looks at the buffer, so with the lock held)
 *	libc's own function
 *	release, wake one waiter; take a P again
 *
 * Both ends are scope cleanups: cancellation unwinds out of these functions.
 */
#ifndef WEFT_SHIM_STDIO_H
#define WEFT_SHIM_STDIO_H

#include <string.h>

#include "shim/syscall/rawsyscall.h"

struct use {
	FILE *locked; /* NULL: not */
	bool away;
	bool done; /* false in the end: cancellation unwinds */
};

void file_lock_slow(FILE *f) hidden;
void file_unlock(FILE *f) hidden;
void file_fork_child(void) hidden;

static inline void file_lock(FILE *f)
{
	runtime_checkyield();
	if (unlikely(real.ftrylockfile(f)))
		file_lock_slow(f);
}

/* With FSETLOCKING_BYCALLER libc's functions do not lock, and neither may we. */
static inline FILE *use_lock(FILE *f)
{
	enum { USER_LOCK = 0x8000 };

	if (unlikely(f->_flags & USER_LOCK))
		return NULL;
	file_lock(f);
	return f;
}

static inline bool use_away(bool away)
{
	if (away)
		entersyscall();
	return away;
}

/* The lock first: it needs no P, and taking one back may take a while. */
static inline void use_end(const struct use *u)
{
	if (unlikely(u->away && !u->done))
		handoff_unwound();
	if (u->locked)
		file_unlock(u->locked);
	if (u->away)
		exitsyscall();
}

/* ---- what the buffer has: hints, the FILE's layout is libc's ABI ----------------------------- */

static inline size_t bytes(size_t size, size_t n)
{
	size_t all;

	return __builtin_mul_overflow(size, n, &all) ? SIZE_MAX : all;
}

/* n bytes can be read without the kernel. */
static inline bool have(const FILE *f, size_t n)
{
	return f->_IO_read_ptr < f->_IO_read_end && (size_t)(f->_IO_read_end - f->_IO_read_ptr) >= n;
}

static inline bool have_line(const FILE *f, int n)
{
	size_t got = f->_IO_read_ptr < f->_IO_read_end
			     ? (size_t)(f->_IO_read_end - f->_IO_read_ptr)
			     : 0;

	if (n <= 1 || got >= (size_t)n - 1)
		return true;
	return got && memchr(f->_IO_read_ptr, '\n', got);
}

/*
 * n bytes can be written without the kernel.  (The end is the beginning when lines or bytes are
 * flushed.)
 */
static inline bool room(const FILE *f, size_t n)
{
	return f->_IO_write_ptr < f->_IO_write_end &&
	       (size_t)(f->_IO_write_end - f->_IO_write_ptr) >= n;
}

/* ---- the three shapes ------------------------------------------------------------------------ */

#define USE struct use use_ __attribute__((cleanup(use_end))) = {0}
#define USE_CALL(ret, call)                                                                        \
	ret r_ = (call);                                                                           \
                                                                                                   \
	use_.done = true;                                                                          \
	return r_
#define USE_CALL_VOID(ret, call)                                                                   \
	call;                                                                                      \
	use_.done = true

/* Locks f; leaves the P if `away`.  A native thread takes part: it may hold what a G waits for. */
#define LOCKED_BY(finish, ret, name, params, f, away_if, args)                                     \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		USE;                                                                               \
                                                                                                   \
		if (likely(weft_on)) {                                                             \
			use_.locked = use_lock(f);                                                 \
			use_.away = use_away(away_if);                                             \
		}                                                                                  \
		finish(ret, real.name args);                                                       \
	}
#define LOCKED(...) LOCKED_BY(USE_CALL, __VA_ARGS__)
#define LOCKED_VOID(...) LOCKED_BY(USE_CALL_VOID, void, __VA_ARGS__)

/* For FILEs that the caller locks, or that libc locks in an order of its own. */
#define UNLOCKED_BY(finish, ret, name, params, away_if, args)                                      \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		USE;                                                                               \
                                                                                                   \
		if (likely(weft_on))                                                               \
			use_.away = use_away(away_if);                                             \
		finish(ret, real.name args);                                                       \
	}
#define UNLOCKED(...) UNLOCKED_BY(USE_CALL, __VA_ARGS__)
#define WHOLE(ret, name, params, args) UNLOCKED(ret, name, params, true, args)
#define WHOLE_VOID(name, params, args) UNLOCKED_BY(USE_CALL_VOID, void, name, params, true, args)

/* name(..., ...) by vname(..., ap) of the same file. */
#define VARIADIC(name, vname, params, args)                                                        \
	TWIN(vname);                                                                               \
	EXPORT int name params                                                                     \
	{                                                                                          \
		va_list ap;                                                                        \
		int r;                                                                             \
                                                                                                   \
		va_start(ap, format);                                                              \
		r = shim_##vname args;                                                             \
		va_end(ap);                                                                        \
		return r;                                                                          \
	}

#endif
