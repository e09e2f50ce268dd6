/*
 * options: the WEFT variable, parsed once into weft_opt.
 *
 * WEFT=key=value,key=value; the keys are the table options.def.  A later entry wins over an earlier
 * one.  GOMAXPROCS is honoured where procs is not set.  An option that was renamed is read by its old name
 * for one release; inside a program a line says so.
 *
 * Inside a program a bad entry costs one line on stderr and keeps its default: a typo must not stop
 * a server.  The launcher runs the same parser on the same text and refuses instead.
 *
 * Must never: allocate, use stdio or the locale, keep a pointer into the environment (programs
 * overwrite it to set their title).
 */
#ifndef WEFT_RUNTIME_OPTIONS_H
#define WEFT_RUNTIME_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTION_STR 64 /* bytes of a str option, its final NUL included */

typedef unsigned opt_uint;
typedef bool opt_bool;
typedef size_t opt_size;
typedef uint64_t opt_msec; /* unsigned, as nanotime() is */
typedef uint64_t opt_nsec;
typedef int opt_sig;
typedef unsigned opt_word; /* the ith word; 0 is the default */
typedef unsigned opt_set; /* bit i: the ith word */
typedef char opt_str[OPTION_STR];

enum { DEADLOCK_REPORT, DEADLOCK_ABORT, DEADLOCK_OFF }; /* the words of the option deadlock */

struct weft_options {
#define OPT(name, type, dflt, help) opt_##type name;
#include "runtime/base/options.def"
#undef OPT
};

/*
 * Written by weft_options_init() before the first G, and by sysmon alone afterwards (control.c), a word at a time:
 * needs no lock.
 */
extern struct weft_options weft_opt;

/* Reads WEFT and GOMAXPROCS from envp (NULL-terminated) into weft_opt. */
void weft_options_init(char *const envp[]);

/* --- for the launcher, the tests and the documentation --- */

struct option_desc {
	const char *name;
	const char *type; /* "uint" */
	const char *dflt; /* as one would write it */
	const char *help;
};

extern const struct option_desc weft_option_table[];
extern const size_t weft_option_count;

/* Sets every field to its default. */
void weft_options_default(struct weft_options *opt);

/*
 * Parses KEY=VALUE,KEY=VALUE… into opt.  Each bad entry is handed to bad(), with the entry's text
 * and a reason that reads after a colon ("no such option"), and leaves its field alone.  Returns
 * how many entries were bad.
 */
int weft_options_parse(struct weft_options *opt, const char *text,
		       void (*bad)(const char *entry, int len, const char *why));

/* What a program with that environment would read, but for the lines that it would say. */
void weft_options_read(struct weft_options *opt, char *const envp[],
		       void (*bad)(const char *entry, int len, const char *why));

#endif
