/*
 * verbs: what weftctl can do, a function each; the table is in weftctl.c.
 *
 * A verb gets its arguments as main() does, argv[0] its own name, and returns the exit status.
 */
#ifndef WEFT_CTL_VERBS_H
#define WEFT_CTL_VERBS_H

#include "ctl/process.h"

#include <stdio.h>

enum { EXIT_DONE = 0, EXIT_REFUSED = 1, EXIT_USAGE = 2 };

int verb_ps(int argc, char **argv);
int verb_dump(int argc, char **argv);
int verb_profile(int argc, char **argv);
int verb_set(int argc, char **argv);
int verb_stat(int argc, char **argv);
int verb_top(int argc, char **argv);
int verb_trace(int argc, char **argv);

uint64_t now_ns(void);              /* CLOCK_MONOTONIC */
void until_signalled(void);         /* from now on an interrupt, or SIGTERM, is only noted */
bool signalled(void);
/* "5s", "300ms"; alone a number is seconds; from a nanosecond up to an hour. */
bool parse_time(const char *s, uint64_t *ns);

/* "weftctl: ..." on standard error. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The process that word names, or NULL when that was said; *status is then the exit status. */
struct proc *open_process(const char *word, int *status);
/* As open_process(), and it has a scheduler to look at: a thread was made. */
struct proc *open_scheduled(const char *word, int *status);
/* Says how the verb is used; EXIT_USAGE. */
int usage_of(const char *verb);
/* Flushes stdout; EXIT_REFUSED where it could not be written. */
int written(void);

#endif
