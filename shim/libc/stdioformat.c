/*
 * stdioformat: printf and scanf in all their forms.
 *
 * How much they write or read is known only afterwards, so each leaves its P.  The names with a
 * standard's number are what <stdio.h> makes of scanf, by the standard the program is compiled for;
 * the fortified ones have a flag more.
 */
#include "shim/libc/stdio.h"

LOCKED(int, vfprintf, (FILE *f, const char *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, vprintf, (const char *format, va_list ap), stdout, true, (format, ap))
LOCKED(int, __vfprintf_chk,
       (FILE *f, int flag, const char *format, va_list ap), f, true, (f, flag, format, ap))
LOCKED(int, __vprintf_chk,
       (int flag, const char *format, va_list ap), stdout, true, (flag, format, ap))
LOCKED(int, vfscanf, (FILE *f, const char *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, vscanf, (const char *format, va_list ap), stdin, true, (format, ap))
LOCKED(int, __isoc99_vfscanf, (FILE *f, const char *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, __isoc99_vscanf, (const char *format, va_list ap), stdin, true, (format, ap))
LOCKED(int, __isoc23_vfscanf, (FILE *f, const char *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, __isoc23_vscanf, (const char *format, va_list ap), stdin, true, (format, ap))
LOCKED(int, vfwprintf, (FILE *f, const wchar_t *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, vwprintf, (const wchar_t *format, va_list ap), stdout, true, (format, ap))
LOCKED(int, __vfwprintf_chk,
       (FILE *f, int flag, const wchar_t *format, va_list ap), f, true, (f, flag, format, ap))
LOCKED(int, __vwprintf_chk,
       (int flag, const wchar_t *format, va_list ap), stdout, true, (flag, format, ap))
LOCKED(int, vfwscanf, (FILE *f, const wchar_t *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, vwscanf, (const wchar_t *format, va_list ap), stdin, true, (format, ap))
LOCKED(int, __isoc99_vfwscanf,
       (FILE *f, const wchar_t *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, __isoc99_vwscanf, (const wchar_t *format, va_list ap), stdin, true, (format, ap))
LOCKED(int, __isoc23_vfwscanf,
       (FILE *f, const wchar_t *format, va_list ap), f, true, (f, format, ap))
LOCKED(int, __isoc23_vwscanf, (const wchar_t *format, va_list ap), stdin, true, (format, ap))
WHOLE(int, vdprintf, (int fd, const char *format, va_list ap), (fd, format, ap))
WHOLE(int, __vdprintf_chk,
       (int fd, int flag, const char *format, va_list ap), (fd, flag, format, ap))

/* ---- with their arguments in a row ----------------------------------------------------------- */

VARIADIC(fprintf, vfprintf, (FILE *f, const char *format, ...), (f, format, ap))
VARIADIC(printf, vprintf, (const char *format, ...), (format, ap))
VARIADIC(__fprintf_chk, __vfprintf_chk,
	 (FILE *f, int flag, const char *format, ...), (f, flag, format, ap))
VARIADIC(__printf_chk, __vprintf_chk, (int flag, const char *format, ...), (flag, format, ap))
VARIADIC(fscanf, vfscanf, (FILE *f, const char *format, ...), (f, format, ap))
VARIADIC(scanf, vscanf, (const char *format, ...), (format, ap))
VARIADIC(__isoc99_fscanf, __isoc99_vfscanf, (FILE *f, const char *format, ...), (f, format, ap))
VARIADIC(__isoc99_scanf, __isoc99_vscanf, (const char *format, ...), (format, ap))
VARIADIC(__isoc23_fscanf, __isoc23_vfscanf, (FILE *f, const char *format, ...), (f, format, ap))
VARIADIC(__isoc23_scanf, __isoc23_vscanf, (const char *format, ...), (format, ap))
VARIADIC(fwprintf, vfwprintf, (FILE *f, const wchar_t *format, ...), (f, format, ap))
VARIADIC(wprintf, vwprintf, (const wchar_t *format, ...), (format, ap))
VARIADIC(__fwprintf_chk, __vfwprintf_chk,
	 (FILE *f, int flag, const wchar_t *format, ...), (f, flag, format, ap))
VARIADIC(__wprintf_chk, __vwprintf_chk, (int flag, const wchar_t *format, ...), (flag, format, ap))
VARIADIC(fwscanf, vfwscanf, (FILE *f, const wchar_t *format, ...), (f, format, ap))
VARIADIC(wscanf, vwscanf, (const wchar_t *format, ...), (format, ap))
VARIADIC(__isoc99_fwscanf, __isoc99_vfwscanf,
	 (FILE *f, const wchar_t *format, ...), (f, format, ap))
VARIADIC(__isoc99_wscanf, __isoc99_vwscanf, (const wchar_t *format, ...), (format, ap))
VARIADIC(__isoc23_fwscanf, __isoc23_vfwscanf,
	 (FILE *f, const wchar_t *format, ...), (f, format, ap))
VARIADIC(__isoc23_wscanf, __isoc23_vwscanf, (const wchar_t *format, ...), (format, ap))
VARIADIC(dprintf, vdprintf, (int fd, const char *format, ...), (fd, format, ap))
VARIADIC(__dprintf_chk, __vdprintf_chk,
	 (int fd, int flag, const char *format, ...), (fd, flag, format, ap))
