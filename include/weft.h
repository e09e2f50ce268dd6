/*
 * weft.h: what a program may ask of weft when it happens to run under it.
 *
 * Optional: weft runs unmodified programs, and a program that uses this header runs without weft as
 * well.  Nothing needs to be linked; `pkg-config --cflags weft` is all.
 *
 *	const char *version = weft_version();
 *	if (version)
 *		printf("running under weft %s\n", version);
 *
 * Each function looks for its namesake in the process and says so when there is none.  Weak
 * references were rejected: the linker settles them to "none" in executables that are not position
 * independent.
 */
#ifndef WEFT_H
#define WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef WEFT_IMPLEMENTATION /* weft itself; never defined by a program */

#define WEFT_API __attribute__((visibility("default")))

WEFT_API const char *weft_version(void);

#else

#include <dlfcn.h>

/* "0.1.0", a static string; NULL without weft. */
static inline const char *weft_version(void)
{
	const char *(*fn)(void);

	*(void **)&fn = dlsym((void *)0, "weft_version"); /* 0: RTLD_DEFAULT, which needs _GNU_SOURCE */
	return fn ? fn() : (const char *)0;
}

#endif

#ifdef __cplusplus
}
#endif
#endif
