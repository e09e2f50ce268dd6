/*
 * object: reads what a parked G waits for out of the process (object.h).
 *
 * Must never: take the object to be there still; it may be freed, or be another by now.
 */
#include "ctl/object.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

/* glibc's bits of a mutex' kind and words of a lock; shim/sync's. */
enum { KIND_ROBUST = 16, KIND_INHERIT = 32, KIND_SHARED = 128, TID_BITS = 0x3fffffff, RW_WRITER_IN = 2, RW_COUNT = 0x3ffffff8, RW_ONE = 8 };

static void mutex(const struct proc *p, struct object *o)
{
	pthread_mutex_t mu;
	bool robust, plain;

	snprintf(o->text, sizeof(o->text), "mutex 0x%lx", o->addr);
	if (!proc_read(p, o->addr, &mu, sizeof(mu)))
		return;
	robust = mu.__data.__kind & KIND_ROBUST;
	/* A private inheriting one that weft has taken has a plain word: shim/sync/describe.c. */
	plain = !(mu.__data.__kind & (KIND_ROBUST | KIND_SHARED)) && (uint32_t)mu.__data.__lock <= 2;
	if (mu.__data.__lock)
		o->owner = mu.__data.__kind & (KIND_ROBUST | KIND_INHERIT) && !plain
				   ? (uint32_t)mu.__data.__lock & TID_BITS
				   : (uint32_t)mu.__data.__owner;
	snprintf(o->text, sizeof(o->text), "%smutex 0x%lx%s", robust ? "robust " : "", o->addr,
		 mu.__data.__lock ? "" : ", free");
}

static void rwlock(const struct proc *p, struct object *o)
{
	pthread_rwlock_t rw;
	unsigned readers;

	snprintf(o->text, sizeof(o->text), "rwlock 0x%lx", o->addr);
	if (!proc_read(p, o->addr, &rw, sizeof(rw)))
		return;
	readers = (rw.__data.__readers & RW_COUNT) / RW_ONE;
	if (rw.__data.__readers & RW_WRITER_IN)
		o->owner = (uint32_t)rw.__data.__cur_writer;
	else if (readers)
		snprintf(o->text, sizeof(o->text), "rwlock 0x%lx, held by %u readers", o->addr, readers);
}

static void word(const struct proc *p, const char *what, struct object *o)
{
	uint32_t v;

	if (proc_read(p, o->addr, &v, sizeof(v)))
		snprintf(o->text, sizeof(o->text), "%s 0x%lx, which says %u", what, o->addr, v);
	else
		snprintf(o->text, sizeof(o->text), "%s 0x%lx", what, o->addr);
}

static void join(const struct gindex *x, uint64_t addr, struct object *o)
{
	const struct proc_g *g = gindex_by_thread(x, addr);

	if (g) {
		o->joins = g->addr;
		snprintf(o->text, sizeof(o->text), "G%lu \"%s\"", g->goid, g->name);
	} else {
		snprintf(o->text, sizeof(o->text), "a thread");
	}
}

/* addr is one of the two counts of edges that a registration begins with: which direction is its place. */
static void descriptor(const struct proc *p, uint64_t addr, struct object *o)
{
	uint32_t at = p->layout.field[LF_pollseen_fd].at;
	char path[64], target[96];
	int32_t fd = -1;
	ssize_t n;

	if (!proc_read(p, (addr & ~(uint64_t)7) + at, &fd, sizeof(fd)) || fd < 0)
		return;
	o->fd = fd;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", p->pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[n > 0 ? n : 0] = '\0';
	printable(target);
	snprintf(o->text, sizeof(o->text), "descriptor %d %s%s%s", fd, addr & sizeof(uint32_t) ? "to write" : "to read",
		 n > 0 ? ", " : "", target);
}

bool object_of(const struct proc *p, const struct gindex *x, const struct proc_g *g, struct object *o)
{
	*o = (struct object){ .addr = g->waitaddr & ~(uint64_t)3, .fd = -1 };
	if (g->status != GWAITING || !g->waitaddr)
		return false;
	switch ((enum reason)g->waitreason) {
	case WaitMutexLock:
		mutex(p, o);
		break;
	case WaitRwlockRead:
	case WaitRwlockWrite:
		rwlock(p, o);
		break;
	case WaitSemaphore:
		word(p, "semaphore", o);
		break;
	case WaitFutex:
		word(p, "word", o);
		break;
	case WaitCondWait:
		snprintf(o->text, sizeof(o->text), "condition 0x%lx", o->addr);
		break;
	case WaitBarrier:
		snprintf(o->text, sizeof(o->text), "barrier 0x%lx", o->addr);
		break;
	case WaitOnce:
		snprintf(o->text, sizeof(o->text), "once control 0x%lx", o->addr);
		break;
	case WaitJoin:
		join(x, g->waitaddr, o);
		break;
	case WaitIO:
		descriptor(p, g->waitaddr, o);
		break;
	default:
		return false;
	}
	return o->text[0] != '\0';
}
