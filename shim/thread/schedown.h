/*
 * schedown: what a thread has of policy, priority, nice and affinity, for the files schedparam.c, schedkernel.c,
 * schedothers.c and schedcalls.c alone.
 *
 * Must never: be written but under own_lock(), by other threads too.
 */
#ifndef WEFT_SHIM_SCHEDOWN_H
#define WEFT_SHIM_SCHEDOWN_H

#include "runtime/process.h"
#include "shim/thread/schedparam.h"

#include <string.h>

#include "shim/sync/sync.h"

enum { MAXCPUS = 1024 };

struct attrs {
	int policy, priority, nice;
	uint64_t cpus[MAXCPUS / 64];
};

enum { POLICY = 1, NICE = 2, CPUS = 4, ALL_ATTRS = 7 };

/* Zero at the start of a life: all as base. */
struct own {
	unsigned set;     /* which of attrs are not base's; read without the lock, too */
	unsigned pending; /* which are not the kernel's yet */
	bool m_locked;    /* (o) */
	int ceiling;      /* the highest of the ceiling mutexes that it holds; 0: none */
	int inherited;    /* of those that wait for what it holds; 0: none.  Others write it, too */
	struct attrs attrs;
};

extern __thread struct own schedown hidden __attribute__((tls_model("initial-exec")));
/* What the kernel gives every M from the start: schedkernel.c. */
extern struct attrs schedkernel_base hidden;

static inline struct own *own_of(struct thread *th)
{
	return (struct own *)((char *)&schedown + ((char *)th - (char *)&self_thread));
}

void own_lock(struct own *o) hidden;
void own_unlock(struct own *o) hidden;

/* The nearest that there is, as the kernel takes it. */
static inline int nice_within(int n)
{
	enum { NICE_MIN = -20, NICE_MAX = 19 };

	return n < NICE_MIN ? NICE_MIN : n > NICE_MAX ? NICE_MAX : n;
}

static inline bool policy_has_order(int policy)
{
	policy &= ~SCHED_RESET_ON_FORK;
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* With its lock. */
static inline const struct attrs *own_attrs(const struct own *o)
{
	return o->set | o->pending ? &o->attrs : &schedkernel_base;
}

static inline int own_highest(const struct own *o, int priority)
{
	int more = o->ceiling > o->inherited ? o->ceiling : o->inherited;

	return more > priority ? more : priority;
}

static inline void attrs_put(struct attrs *to, const struct attrs *from, unsigned which)
{
	if (which & POLICY) {
		to->policy = from->policy;
		to->priority = from->priority;
	}
	if (which & NICE)
		to->nice = from->nice;
	if (which & CPUS)
		memcpy(to->cpus, from->cpus, sizeof(to->cpus));
}

/* ---- schedkernel.c: the kernel's, of the calling kernel thread ---- */
void schedkernel_read(struct attrs *a) hidden;
void schedkernel_read_policy(struct attrs *a) hidden;
long schedkernel_policy(int policy, int priority) hidden;
void schedkernel_tell(const struct own *o, int tid) hidden;
long schedkernel_write(const struct attrs *a, unsigned which) hidden;
unsigned schedkernel_differences(const struct attrs *a) hidden;

/* ---- schedparam.c ---- */
struct attrs schedparam_known(struct own *o) hidden;
long schedparam_set_own(const struct attrs *a, unsigned which) hidden;
bool schedparam_is_raised(void) hidden;
long schedparam_by_attr(struct thread *th, long nr, long b, long c, long d) hidden;

/* ---- schedothers.c: of any thread ---- */
void schedattrs_get(struct thread *th, struct attrs *a) hidden;
long schedattrs_set(struct thread *th, struct attrs *a, unsigned which) hidden;
void schedothers_reniced(int n) hidden; /* the kernel has, all of this process */
/* sched_getattr(2) and sched_setattr(2) of another thread; its deadline and its clamps are nowhere kept: EPERM. */
long schedothers_get_attr(struct thread *th, void *attr, long size, long flags) hidden;
long schedothers_set_attr(struct thread *th, const void *attr, long flags) hidden;

#endif
