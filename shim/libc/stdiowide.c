/*
 * stdiowide: the calls on wide characters.  The layout of their buffers is libc's own, so each call
 * leaves its P.
 */
#include "shim/libc/stdio.h"

LOCKED(wint_t, fgetwc, (FILE *f), f, true, (f))
LOCKED(wint_t, getwc, (FILE *f), f, true, (f))
LOCKED(wint_t, getwchar, (void), stdin, true, ())
LOCKED(wint_t, ungetwc, (wint_t c, FILE *f), f, false, (c, f))
LOCKED(wchar_t *, fgetws, (wchar_t *s, int n, FILE *f), f, true, (s, n, f))
LOCKED(wchar_t *, __fgetws_chk, (wchar_t *s, size_t room, int n, FILE *f), f, true, (s, room, n, f))
LOCKED(wint_t, fputwc, (wchar_t c, FILE *f), f, true, (c, f))
LOCKED(wint_t, putwc, (wchar_t c, FILE *f), f, true, (c, f))
LOCKED(wint_t, putwchar, (wchar_t c), stdout, true, (c))
LOCKED(int, fputws, (const wchar_t *s, FILE *f), f, true, (s, f))
LOCKED(int, fwide, (FILE *f, int mode), f, false, (f, mode))

/* Those that do not lock. */

WHOLE(wint_t, fgetwc_unlocked, (FILE *f), (f))
WHOLE(wint_t, getwc_unlocked, (FILE *f), (f))
WHOLE(wint_t, getwchar_unlocked, (void), ())
WHOLE(wchar_t *, fgetws_unlocked, (wchar_t *s, int n, FILE *f), (s, n, f))
WHOLE(wchar_t *, __fgetws_unlocked_chk, (wchar_t *s, size_t room, int n, FILE *f), (s, room, n, f))
WHOLE(wint_t, fputwc_unlocked, (wchar_t c, FILE *f), (c, f))
WHOLE(wint_t, putwc_unlocked, (wchar_t c, FILE *f), (c, f))
WHOLE(wint_t, putwchar_unlocked, (wchar_t c), (c))
WHOLE(int, fputws_unlocked, (const wchar_t *s, FILE *f), (s, f))
WHOLE(wint_t, __wuflow, (FILE *f), (f))
WHOLE(wint_t, __wunderflow, (FILE *f), (f))
WHOLE(wint_t, __woverflow, (FILE *f, wint_t c), (f, c))
