/*
 * stdio: the lock of a FILE, and the calls on bytes.  stdio.h says how a call is made.
 *
 * Waiters are woken by our own unlock alone.  Functions of libc that are not wrapped (fflush(NULL)
 * walks over all FILEs) unlock where we cannot see it: so a waiter also looks again after a while.
 *
 * Must never: touch a FILE after its lock was released: the next holder may close it.
 */
#include "runtime/sched/policy.h"
#include "shim/sync/eintr.h"
#include "shim/fd/fdevents.h"
#include "shim/thread/procfile.h"
#include "shim/libc/stdio.h"
#include "shim/sync/sync.h"

/*
 * seq_cst with the FILE's lock: a waiter counts itself, then tries; file_unlock() unlocks, then
 * reads this one
 */
static _Atomic uint32_t nwaiting; /* on any FILE */

/* Under the bucket's lock: taking it means not to sleep. */
static int taken_over(void *arg)
{
	return real.ftrylockfile(arg) == 0;
}

void file_lock_slow(FILE *f)
{
	struct park pk = park_wait(lot_key(f->_lock, KEY_OTHER), taken_over, f, WaitFile);

	if (!on_g()) {
		real.flockfile(f);
		return;
	}
	do {
		int r;

		/* Before the try under the bucket's lock: an unlock that the try did not see, sees this. */
		fetch_add_seqcst(&nwaiting, 1);
		park_until_ns(&pk, nanotime() + FILE_RETRY_NS);
		r = lot_park(&pk);
		fetch_sub_seqcst(&nwaiting, 1);
		if (r == -EAGAIN)
			return;
		if (r == -EINTR)
			eintr_in_lock();
	} while (real.ftrylockfile(f));
}

/* The waiters counted here are threads of the parent. */
void file_fork_child(void)
{
	store_relaxed(&nwaiting, 0);
}

void file_unlock(FILE *f)
{
	const struct compat_file_lock *l = (const struct compat_file_lock *)f->_lock;
	bool last = l->count <= compat_file_held; /* only a hint */

	real.funlockfile(f);
	if (unlikely(load_seqcst(&nwaiting)) && last) /* the unlock is a full barrier */
		lot_wake(lot_key(l, KEY_OTHER), 1, 0, READY_TAIL, NULL, NULL);
}

EXPORT void flockfile(FILE *f)
{
	if (!weft_on)
		real.flockfile(f);
	else
		file_lock(f);
}
ALIAS(_IO_flockfile, flockfile);

EXPORT int ftrylockfile(FILE *f)
{
	return real.ftrylockfile(f);
}
ALIAS(_IO_ftrylockfile, ftrylockfile);

EXPORT void funlockfile(FILE *f)
{
	if (!weft_on)
		real.funlockfile(f);
	else
		file_unlock(f);
}
ALIAS(_IO_funlockfile, funlockfile);

/* NULL means all FILEs: libc locks one after the other. */
EXPORT int fflush(FILE *f)
{
	USE;

	if (likely(weft_on)) {
		if (f)
			use_.locked = use_lock(f);
		use_.away = use_away(true);
	}
	USE_CALL(int, real.fflush(f));
}

/* ---- locking --------------------------------------------------------------------------------- */

LOCKED(int, fgetc, (FILE *f), f, !have(f, 1), (f))
LOCKED(int, getc, (FILE *f), f, !have(f, 1), (f))
LOCKED(int, _IO_getc, (FILE *f), f, !have(f, 1), (f))
LOCKED(int, getchar, (void), stdin, !have(stdin, 1), ())
LOCKED(int, getw, (FILE *f), f, !have(f, sizeof(int)), (f))
LOCKED(int, ungetc, (int c, FILE *f), f, false, (c, f))
LOCKED(char *, fgets, (char *s, int n, FILE *f), f, !have_line(f, n), (s, n, f))
LOCKED(char *, __fgets_chk,
       (char *s, size_t room, int n, FILE *f), f, !have_line(f, n), (s, room, n, f))
LOCKED(char *, gets, (char *s), stdin, true, (s))
LOCKED(char *, __gets_chk, (char *s, size_t room), stdin, true, (s, room))
LOCKED(size_t, fread,
       (void *p, size_t size, size_t n, FILE *f), f, !have(f, bytes(size, n)), (p, size, n, f))
LOCKED(size_t, __fread_chk,
       (void *p, size_t room, size_t size, size_t n, FILE *f), f, !have(f, bytes(size, n)), (p, room, size, n, f))
LOCKED(ssize_t, getdelim, (char **line, size_t *n, int end, FILE *f), f, true, (line, n, end, f))
LOCKED(ssize_t, __getdelim, (char **line, size_t *n, int end, FILE *f), f, true, (line, n, end, f))
LOCKED(ssize_t, getline, (char **line, size_t *n, FILE *f), f, true, (line, n, f))
LOCKED(int, fputc, (int c, FILE *f), f, !room(f, 1), (c, f))
LOCKED(int, putc, (int c, FILE *f), f, !room(f, 1), (c, f))
LOCKED(int, _IO_putc, (int c, FILE *f), f, !room(f, 1), (c, f))
LOCKED(int, putchar, (int c), stdout, !room(stdout, 1), (c))
LOCKED(int, putw, (int w, FILE *f), f, !room(f, sizeof(int)), (w, f))
LOCKED(int, fputs, (const char *s, FILE *f), f, !room(f, strlen(s)), (s, f))
LOCKED(int, puts, (const char *s), stdout, !room(stdout, strlen(s) + 1), (s))
LOCKED(size_t, fwrite,
       (const void *p, size_t size, size_t n, FILE *f), f, !room(f, bytes(size, n)), (p, size, n, f))
LOCKED(int, feof, (FILE *f), f, false, (f))
LOCKED(int, ferror, (FILE *f), f, false, (f))
LOCKED_VOID(clearerr, (FILE *f), f, false, (f))
LOCKED(int, fseek, (FILE *f, long at, int from), f, true, (f, at, from))
LOCKED(int, fseeko, (FILE *f, off_t at, int from), f, true, (f, at, from))
LOCKED(int, fseeko64, (FILE *f, off64_t at, int from), f, true, (f, at, from))
LOCKED(long, ftell, (FILE *f), f, true, (f))
LOCKED(off_t, ftello, (FILE *f), f, true, (f))
LOCKED(off64_t, ftello64, (FILE *f), f, true, (f))
LOCKED_VOID(rewind, (FILE *f), f, true, (f))
LOCKED(int, fgetpos, (FILE *f, fpos_t *at), f, true, (f, at))
LOCKED(int, fsetpos, (FILE *f, const fpos_t *at), f, true, (f, at))
LOCKED(int, fgetpos64, (FILE *f, fpos64_t *at), f, true, (f, at))
LOCKED(int, fsetpos64, (FILE *f, const fpos64_t *at), f, true, (f, at))
LOCKED(int, setvbuf, (FILE *f, char *buf, int mode, size_t n), f, true, (f, buf, mode, n))
LOCKED_VOID(setbuf, (FILE *f, char *buf), f, true, (f, buf))
LOCKED_VOID(setbuffer, (FILE *f, char *buf, size_t n), f, true, (f, buf, n))
LOCKED_VOID(setlinebuf, (FILE *f), f, true, (f))

/* ---- for callers that locked, and the inline functions of <stdio.h> -------------------------- */

UNLOCKED(int, fgetc_unlocked, (FILE *f), !have(f, 1), (f))
UNLOCKED(int, getc_unlocked, (FILE *f), !have(f, 1), (f))
UNLOCKED(int, getchar_unlocked, (void), !have(stdin, 1), ())
UNLOCKED(char *, fgets_unlocked, (char *s, int n, FILE *f), !have_line(f, n), (s, n, f))
UNLOCKED(char *, __fgets_unlocked_chk,
       (char *s, size_t room, int n, FILE *f), !have_line(f, n), (s, room, n, f))
UNLOCKED(size_t, fread_unlocked,
       (void *p, size_t size, size_t n, FILE *f), !have(f, bytes(size, n)), (p, size, n, f))
UNLOCKED(size_t, __fread_unlocked_chk,
       (void *p, size_t room, size_t size, size_t n, FILE *f), !have(f, bytes(size, n)), (p, room, size, n, f))
UNLOCKED(int, fputc_unlocked, (int c, FILE *f), !room(f, 1), (c, f))
UNLOCKED(int, putc_unlocked, (int c, FILE *f), !room(f, 1), (c, f))
UNLOCKED(int, putchar_unlocked, (int c), !room(stdout, 1), (c))
UNLOCKED(int, fputs_unlocked, (const char *s, FILE *f), !room(f, strlen(s)), (s, f))
UNLOCKED(size_t, fwrite_unlocked,
       (const void *p, size_t size, size_t n, FILE *f), !room(f, bytes(size, n)), (p, size, n, f))
WHOLE(int, __uflow, (FILE *f), (f))
WHOLE(int, __underflow, (FILE *f), (f))
WHOLE(int, __overflow, (FILE *f, int c), (f, c))

/* ---- a FILE begins or ends ------------------------------------------------------------------- */

WHOLE(int, fflush_unlocked, (FILE *f), (f))

/*
 * libc closes the descriptor itself, after it has flushed the buffer: meanwhile, and that may take
 * long, other threads may wait for the same number.  Memory and cookies have none (-1).
 */
EXPORT int fclose(FILE *f)
{
	USE;

	FD_ENDS(f->_fileno);
	if (likely(weft_on))
		use_.away = use_away(true);
	USE_CALL(int, real.fclose(f));
}
ALIAS(_IO_fclose, fclose);

/* The number stays and names another file. */
static FILE *reopen(FILE *(*libc)(const char *, const char *, FILE *), const char *path,
		    const char *mode, FILE *f)
{
	USE;
	FD_ENDS(f->_fileno);
	if (likely(weft_on))
		use_.away = use_away(true);
	USE_CALL(FILE *, libc(path, mode, f));
}

#define REOPENS(name)                                                                              \
	EXPORT FILE *name(const char *path, const char *mode, FILE *f)                             \
	{                                                                                          \
		USE;                                                                               \
                                                                                                   \
		if (likely(weft_on))                                                               \
			use_.locked = use_lock(f);                                                 \
		USE_CALL(FILE *, reopen(real.name, path, mode, f));                                \
	}
REOPENS(freopen)
REOPENS(freopen64)

WHOLE(int, fcloseall, (void), ())

/* Or, where that is the path of a thread in /proc, what is made for it. */
static FILE *opens(FILE *(*libc)(const char *, const char *), const char *path, const char *mode)
{
	USE;

	if (likely(weft_on))
		use_.away = use_away(true);
	USE_CALL(FILE *, libc(path, mode));
}

#define OPENS(name)                                                                                \
	EXPORT FILE *name(const char *path, const char *mode)                                      \
	{                                                                                          \
		FILE *f = opens(real.name, path, mode);                                            \
		struct procfile pf;                                                                \
                                                                                                   \
		if (likely(!procfile_may_be(path, f ? 0 : errno)) || !procfile_find(path, &pf))    \
			return f;                                                                  \
		if (f)                                                                             \
			fclose(f);                                                                 \
		f = opens(real.name, pf.path, mode);                                               \
		procfile_end(&pf);                                                                 \
		return f;                                                                          \
	}

OPENS(fopen)
OPENS(fopen64)
WHOLE(FILE *, tmpfile, (void), ())
WHOLE(FILE *, tmpfile64, (void), ())
WHOLE_VOID(perror, (const char *s), (s))
