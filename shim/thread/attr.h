/* attr: see attr.c. */
#ifndef WEFT_SHIM_ATTR_H
#define WEFT_SHIM_ATTR_H

#include "runtime/base/options.h"
#include "shim/thread/thread.h"

/* What attr asks for, in *own; libc's default attributes for NULL. */
const struct gattr *attr_parse(const pthread_attr_t *attr, struct gattr *own) hidden;
/* The signal mask that attr, or libc's default when NULL, asks for; false: the creator's. */
bool attr_sigmask(const pthread_attr_t *attr, uint64_t *mask) hidden;
/* Does attr, or libc's default when NULL, ask for a detached thread? */
bool attr_detached(const pthread_attr_t *attr) hidden;
/* PTHREAD_INHERIT_SCHED or _EXPLICIT_SCHED, of libc's default when NULL. */
int attr_inheritsched(const pthread_attr_t *attr) hidden;
/* libc's default attributes, which ask for none of these three. */
extern _Atomic bool attr_dflt_plain hidden;
static inline bool attr_plain(const pthread_attr_t *attr)
{
	return !attr && load_relaxed(&attr_dflt_plain);
}
bool attr_has_stack(const pthread_attr_t *attr) hidden;
void attr_fork_child(void) hidden;

#endif
