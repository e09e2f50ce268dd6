/*
 * weft.h: what a program may ask of weft when it happens to run under it.
 *
 * Optional: weft runs unmodified programs, and a program that uses this header runs without weft as
 * well.  Every function is a weak reference: test it before the call.
 *
 *	if (weft_version)
 *		printf("running under weft %s\n", weft_version());
 *
 * Nothing needs to be linked; `pkg-config --cflags weft` is all.
 */
#ifndef WEFT_H
#define WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API __attribute__((weak, visibility("default")))

/* "0.1.0"; a static string. */
WEFT_API const char *weft_version(void);

#undef WEFT_API

#ifdef __cplusplus
}
#endif
#endif
