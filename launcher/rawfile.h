/*
 * rawfile: files that the options trace and profile name.
 */
#ifndef WEFT_RAWFILE_H
#define WEFT_RAWFILE_H

/* Removes what a process that is gone left there; a file that is no trace and no profile stays. */
void rawfile_clear(const char *path);

#endif
