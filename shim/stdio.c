/*
 * stdio: a FILE's lock, held by a G that may be switched away.
 *
 * libc locks a FILE around every call with a lock that blocks the kernel thread.  Between flockfile and
 * funlockfile, or in a write to a full pipe, the owner may be off its CPU while others of its Ms wait for the
 * lock in the kernel, each holding a P: with enough of them nobody is left to run the owner.  So a G takes
 * the lock here first, with libc's own ftrylockfile (it is recursive and its owner is the thread block, so it
 * belongs to the G wherever that runs), and waits in the lot.  The call itself then finds the lock its own; what
 * may reach the kernel runs with the P given away.
 *
 * Release: libc's unlock, then a look at the waiter count; a waiter counts itself, then tries the lock under the
 * lot's lock.  One of them sees the other.
 *
 * Must never: hold the lot's lock while libc might wait (ftrylockfile never does).
 */
#include "shim/shim.h"
#include "shim/sync.h"

#include <stdatomic.h>

enum { SLOTS = 256 };

static _Atomic uint32_t nwait[SLOTS]; /* waiters of the FILEs that share the slot */

static _Atomic uint32_t *slot(FILE *f)
{
	return &nwait[((uintptr_t)f >> 4) % SLOTS];
}

static int got_it(void *arg)
{
	return real.ftrylockfile(arg) == 0;
}

static void wait_for(FILE *f)
{
	struct park pk = { .addr = lot_key(f, KEY_OTHER),
			   .refuse = got_it,
			   .arg = f,
			   .reason = WaitFile };

	atomic_fetch_add(slot(f), 1);
	while (lot_park(&pk) != -EAGAIN)
		;
	atomic_fetch_sub(slot(f), 1);
}

static inline void take(FILE *f)
{
	if (unlikely(real.ftrylockfile(f) != 0))
		wait_for(f);
}

static inline void leave(FILE *f)
{
	real.funlockfile(f);
	atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(atomic_load_explicit(slot(f), memory_order_relaxed)))
		lot_wake(lot_key(f, KEY_OTHER), 1, 0, READY_TAIL, NULL, NULL);
}

/* Cancellation unwinds through the calls below. */
static inline void leave_held(FILE **f)
{
	leave(*f);
}

#define WITH_FILE(f) FILE *held_ __attribute__((cleanup(leave_held))) = (take(f), f)

EXPORT void flockfile(FILE *f)
{
	if (on_g())
		take(f);
	else
		real.flockfile(f);
}

EXPORT int ftrylockfile(FILE *f)
{
	return real.ftrylockfile(f);
}

EXPORT void funlockfile(FILE *f)
{
	if (weft_on)
		leave(f);
	else
		real.funlockfile(f);
}

/* A whole call of libc's on f, which may read, write or seek. */
#define FILE_CALL(ret, name, params, f, ...)                                                        \
	EXPORT ret name params                                                                         \
	{                                                                                              \
		if (!on_g())                                                                           \
			return real.name(__VA_ARGS__);                                                 \
		WITH_FILE(f);                                                                          \
		return HANDOFF(real.name(__VA_ARGS__));                                                \
	}

FILE_CALL(int, fputs, (const char *s, FILE *f), f, s, f)
FILE_CALL(int, puts, (const char *s), stdout, s)
FILE_CALL(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), f, p, size, n, f)
FILE_CALL(size_t, fread, (void *p, size_t size, size_t n, FILE *f), f, p, size, n, f)
FILE_CALL(size_t, __fread_chk, (void *p, size_t len, size_t size, size_t n, FILE *f), f, p, len, size, n, f)
FILE_CALL(char *, fgets, (char *s, int n, FILE *f), f, s, n, f)
FILE_CALL(char *, __fgets_chk, (char *s, size_t len, int n, FILE *f), f, s, len, n, f)
FILE_CALL(ssize_t, getline, (char **line, size_t *n, FILE *f), f, line, n, f)
FILE_CALL(ssize_t, getdelim, (char **line, size_t *n, int delim, FILE *f), f, line, n, delim, f)
FILE_CALL(ssize_t, __getdelim, (char **line, size_t *n, int delim, FILE *f), f, line, n, delim, f)
FILE_CALL(int, fseek, (FILE *f, long off, int whence), f, f, off, whence)
FILE_CALL(int, fseeko, (FILE *f, off_t off, int whence), f, f, off, whence)
FILE_CALL(int, fseeko64, (FILE *f, off64_t off, int whence), f, f, off, whence)
FILE_CALL(int, vfprintf, (FILE *f, const char *format, va_list ap), f, f, format, ap)
FILE_CALL(int, __vfprintf_chk, (FILE *f, int flag, const char *format, va_list ap), f, f, flag, format, ap)
FILE_CALL(int, vprintf, (const char *format, va_list ap), stdout, format, ap)
FILE_CALL(int, __vprintf_chk, (int flag, const char *format, va_list ap), stdout, flag, format, ap)
FILE_CALL(int, __isoc99_vfscanf, (FILE *f, const char *format, va_list ap), f, f, format, ap)

/* The variadic forms, through the above. */
#define FORWARD(name, params, last, call)                                                           \
	EXPORT int name params                                                                         \
	{                                                                                              \
		va_list ap;                                                                            \
		int r;                                                                                 \
                                                                                                       \
		va_start(ap, last);                                                                    \
		r = call;                                                                              \
		va_end(ap);                                                                            \
		return r;                                                                              \
	}

FORWARD(fprintf, (FILE *f, const char *format, ...), format, vfprintf(f, format, ap))
FORWARD(printf, (const char *format, ...), format, vprintf(format, ap))
FORWARD(__fprintf_chk, (FILE *f, int flag, const char *format, ...), format,
	__vfprintf_chk(f, flag, format, ap))
FORWARD(__printf_chk, (int flag, const char *format, ...), format,
	__vprintf_chk(flag, format, ap))
FORWARD(__isoc99_fscanf, (FILE *f, const char *format, ...), format,
	__isoc99_vfscanf(f, format, ap))
FORWARD(__isoc99_scanf, (const char *format, ...), format, __isoc99_vfscanf(stdin, format, ap))

/* One character: only an empty or full buffer reaches the kernel. */
static int put(int c, FILE *f)
{
	WITH_FILE(f);
	if (f->_IO_write_ptr < f->_IO_write_end && c != '\n')
		return real.fputc(c, f);
	return HANDOFF(real.fputc(c, f));
}

static int get(FILE *f)
{
	WITH_FILE(f);
	if (f->_IO_read_ptr < f->_IO_read_end)
		return real.fgetc(f);
	return HANDOFF(real.fgetc(f));
}

#undef putc
#undef getc
EXPORT int fputc(int c, FILE *f)
{
	return on_g() ? put(c, f) : real.fputc(c, f);
}

EXPORT int putc(int c, FILE *f)
{
	return on_g() ? put(c, f) : real.fputc(c, f);
}

EXPORT int _IO_putc(int c, FILE *f)
{
	return on_g() ? put(c, f) : real.fputc(c, f);
}

EXPORT int putchar(int c)
{
	return on_g() ? put(c, stdout) : real.fputc(c, stdout);
}

EXPORT int fgetc(FILE *f)
{
	return on_g() ? get(f) : real.fgetc(f);
}

EXPORT int getc(FILE *f)
{
	return on_g() ? get(f) : real.fgetc(f);
}

EXPORT int _IO_getc(FILE *f)
{
	return on_g() ? get(f) : real.fgetc(f);
}

EXPORT int getchar(void)
{
	return on_g() ? get(stdin) : real.fgetc(stdin);
}

EXPORT int fflush(FILE *f)
{
	if (!on_g())
		return real.fflush(f);
	if (!f) /* all of them: libc locks each in turn */
		return HANDOFF(real.fflush(NULL));
	WITH_FILE(f);
	return HANDOFF(real.fflush(f));
}

/* The lock goes with the FILE: wait until it is free, then let libc take it once more and for good. */
EXPORT int fclose(FILE *f)
{
	if (!on_g())
		return real.fclose(f);
	take(f);
	real.funlockfile(f);
	return HANDOFF(real.fclose(f));
}
