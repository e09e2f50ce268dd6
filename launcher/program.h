/*
 * program: finds what would be executed and refuses what preloading cannot reach.
 *
 * ld.so only says "ignored" when it cannot preload, and says nothing at all for a static program:
 * it would then run on plain pthreads while its user believes otherwise.  So everything is looked
 * at first.  Advice, not a guard: what changes between the look and the exec is the user's own
 * doing.
 */
#ifndef WEFT_LAUNCHER_PROGRAM_H
#define WEFT_LAUNCHER_PROGRAM_H

enum {
	EXIT_OWN = 125,	      /* weft's own failure: options, its library */
	EXIT_CANNOT = 126,    /* the program exists but cannot be run, or not under weft */
	EXIT_NOTFOUND = 127,  /* no such program */
};

/* `weft: ` + text + newline on stderr, then exit(code). */
_Noreturn void refuse(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same line, and the program is run. */
void advise(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * The file that name stands for, by execvp's rules.  malloc'ed; does not return when there is none.
 */
char *program_find(const char *name);

/*
 * Returns if the file (or, for a script, its interpreter) will load a preloaded library; else
 * refuses.
 */
void program_check(const char *path);

/* True for a shared library of this machine: ELF, 64 bits, x86-64. */
int library_usable(const char *path);

#endif
