/*
 * describe: what a parked G waits for and which thread holds it: in words for dumps, as a number for deadlock.c.
 *
 * The lot knows addresses; here an address becomes a mutex, a lock, a semaphore.  Owners are libc's
 * ids in the object, so a lock that libc itself took is understood as well.  The object may be gone
 * (a dump may be read to find a program that frees what others wait for): it is copied first, by
 * the peek that the runtime gives.
 *
 * Must never: take a lock, touch the object itself, allocate.
 */
#include "runtime/base/log.h"
#include "shim/sync/mutex.h"
#include "shim/sync/rwslot.h"
#include "shim/thread/thread.h"

#include <string.h>

enum { OWNER_BITS = 0x3fffffff }; /* FUTEX_TID_MASK */

static void print_g(struct outbuf *o, struct g *gp)
{
	char name[16];

	g_getname(gp, name);
	weft_print(o, "G%lu \"%s\"", g_id(gp), name);
}

static void print_owner(struct outbuf *o, uint32_t id)
{
	struct g *gp;
	uint32_t i = 0;

	if (!id) {
		weft_print(o, ", held by nobody");
		return;
	}
	weft_print(o, ", held by ");
	while ((gp = g_next(&i))) {
		struct tcb *t = g_tls(gp);

		if (t && tcb_tid(t) == id) {
			print_g(o, gp);
			return;
		}
	}
	weft_print(o, "thread %u, which is not weft's or has ended", id);
}

static const void *object_of(const void *addr)
{
	return (const void *)((uintptr_t)addr & ~(uintptr_t)3); /* the family is in the low bits */
}

/*
 * In the robust and the inheriting kinds the word itself is the owner, and says so first; but for a private inheriting
 * one that weft has taken, whose word is a plain one (mutex.c).
 */
static uint32_t mutex_owner(const pthread_mutex_t *mu)
{
	uint32_t word = (uint32_t)mu->__data.__lock;
	bool plain = !(mu->__data.__kind & (MUTEX_ROBUST | MUTEX_SHARED)) && word <= 2;

	if (!word)
		return 0;
	if (mu->__data.__kind & (MUTEX_ROBUST | MUTEX_INHERIT) && !plain)
		return word & OWNER_BITS;
	return (uint32_t)mu->__data.__owner;
}

/* Of one that readers hold nothing tells which. */
static uint32_t rwlock_owner(const pthread_rwlock_t *rw)
{
	return rw->__data.__readers & 2 ? (uint32_t)rw->__data.__cur_writer : 0;
}

static bool describe_mutex(struct outbuf *o, runtime_peek *peek, const void *addr)
{
	pthread_mutex_t mu;

	if (!peek(addr, &mu, sizeof(mu)))
		return false;
	weft_print(o, "%smutex %p", mu.__data.__kind & MUTEX_ROBUST ? "robust " : "", addr);
	print_owner(o, mutex_owner(&mu));
	return true;
}

static bool describe_rwlock(struct outbuf *o, runtime_peek *peek, const void *addr)
{
	pthread_rwlock_t rw;

	if (!peek(addr, &rw, sizeof(rw)))
		return false;
	weft_print(o, "rwlock %p", addr);
	if ((rw.__data.__readers & RW_READERS) / RW_READER)
		weft_print(o, ", held by %u readers", (rw.__data.__readers & RW_READERS) / RW_READER);
	else
		print_owner(o, rwlock_owner(&rw));
	return true;
}

/* A semaphore's value, a futex word: what the object says about itself is one number. */
static bool describe_word(struct outbuf *o, runtime_peek *peek, const char *what, const void *addr)
{
	uint32_t word;

	if (!peek(addr, &word, sizeof(word)))
		return false;
	weft_print(o, "%s %p, which says %u", what, addr, word);
	return true;
}

/* Nothing in the object tells which thread should come. */
static bool describe_place(struct outbuf *o, const char *what, const void *addr)
{
	weft_print(o, "%s %p", what, addr);
	return true;
}

/* Joiners wait on the state of the thread they join. */
static bool describe_join(struct outbuf *o, const void *addr)
{
	struct g *gp;
	uint32_t i = 0;

	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		if (th && (const void *)&th->state == addr) {
			print_g(o, gp);
			return true;
		}
	}
	return false;
}

bool describe(unsigned reason, const void *addr, runtime_peek *peek, char *text, size_t n)
{
	struct outbuf o = OUTBUF_INIT;
	const void *obj = object_of(addr);
	bool known = false;

	switch (reason) {
	case WaitMutexLock:
		known = describe_mutex(&o, peek, obj);
		break;
	case WaitRwlockRead:
	case WaitRwlockWrite:
		known = describe_rwlock(&o, peek, obj);
		break;
	case WaitSemaphore:
		known = describe_word(&o, peek, "semaphore", obj);
		break;
	case WaitFutex:
		known = describe_word(&o, peek, "word", obj);
		break;
	case WaitCondWait:
		known = describe_place(&o, "condition", obj);
		break;
	case WaitBarrier:
		known = describe_place(&o, "barrier", obj);
		break;
	case WaitOnce:
		known = describe_place(&o, "once control", obj);
		break;
	case WaitJoin:
		known = describe_join(&o, addr);
		break;
	}
	if (!known || o.len >= n)
		return false;
	memcpy(text, o.data, o.len);
	text[o.len] = '\0';
	return true;
}

uint32_t describe_holder(unsigned reason, const void *addr, runtime_peek *peek)
{
	const void *obj = object_of(addr);
	pthread_rwlock_t rw;
	pthread_mutex_t mu;
	struct g *gp;

	switch (reason) {
	case WaitMutexLock:
		return peek(obj, &mu, sizeof(mu)) ? mutex_owner(&mu) : 0;
	case WaitRwlockRead:
	case WaitRwlockWrite:
		return peek(obj, &rw, sizeof(rw)) ? rwlock_owner(&rw) : 0;
	case WaitJoin:
		/* Joiners wait on the state of the thread that they join. */
		obj = (const char *)addr - offsetof(struct thread, state) + offsetof(struct thread, g);
		return peek(obj, &gp, sizeof(gp)) && gp ? g_tid(gp) : 0;
	}
	return 0;
}
