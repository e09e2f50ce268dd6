/*
 * log: everything weft says, without stdio, without malloc, without a lock.
 *
 * A message is built in a fixed buffer and leaves by one write(2) to fd 2, so that lines of several
 * kernel threads do not mix.  Usable at every point of a process's life: before libc is
 * initialised, on a G's small stack, in a signal handler, after fork.  errno is never touched.
 *
 * Two kinds of text.  A message (weft_say, weft_throw) is one line, `weft[PID]: what: why (what
 * now)`.  A report (schedtrace, dumps) is an outbuf that its writer fills line by line and flushes.
 *
 * Must never: allocate, take a lock, write to stdout, call a function that the shim interposes.
 */
#ifndef WEFT_RUNTIME_LOG_H
#define WEFT_RUNTIME_LOG_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define OUTBUF_SIZE 768 /* a G's stack may be 16 KB: the buffer lives on it */

/* Belongs to the function that declared it, on its stack; no other thread sees it. */
struct outbuf {
	size_t len;
	int to;                 /* 1 and the descriptor that it is written to; 0: standard error */
	char data[OUTBUF_SIZE];
};

#define OUTBUF_INIT { .len = 0 } /* not = {0}: that would clear the whole buffer */

/*
 * Appends.  A full buffer is written out up to its last complete line, so a report may be longer
 * than the buffer; only a single line longer than OUTBUF_SIZE is cut in two writes.  Conversions:
 * %d %i %u %x %c %s %p %%, with l, ll or z before d i u x, an optional width (0 pads with zeros)
 * and %.*s / %.Ns; of a string, control characters as \ooo.  An unknown conversion is printed as it stands: a
 * typo must not be silent.
 */
void weft_print(struct outbuf *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void weft_vprint(struct outbuf *o, const char *fmt, va_list ap);

/* Writes what is left and empties the buffer. */
void weft_flush(struct outbuf *o);

/*
 * What is said long after the start, and was not asked for: false where fd 2 may be a file of the program's by now, for
 * it is not what it was when weft_log_start() was called, nor a terminal, nor a file that is only appended to.
 */
bool weft_may_say(void);
void weft_log_start(void); /* when the program starts */

/* One line on fd 2: `weft[PID]: ` + text + newline. */
void weft_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * A broken invariant of weft itself: says `weft[PID]: fatal: ...` and kills the process with
 * SIGABRT.  The program's own SIGABRT handler does not run: the scheduler it would run on is what
 * has just broken.  Never for errors of the program, which get their POSIX error code.
 */
_Noreturn void weft_throw(const char *fmt, ...) __attribute__((format(printf, 1, 2), cold));

#endif
