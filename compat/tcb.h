/*
 * tcb: a real glibc thread control block for each G.
 *
 * glibc finds everything it knows of "this thread" through the FS base: struct pthread (its address
 * is the thread pointer and the pthread_t) with static TLS below it.  A G owns one such block for
 * its whole life; the scheduler swaps FS when it switches.  Layout is discovered at run time
 * (glibc.h), never hard-coded; what cannot be proved makes compat_init() fail and the program stays
 * on plain pthreads.
 *
 * Must never: be used before compat_init() succeeded; unmap an area whose block is still listed.
 */
#ifndef WEFT_COMPAT_TCB_H
#define WEFT_COMPAT_TCB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/arch/cpu.h"
#include "runtime/base/atomic.h"

struct tcb; /* glibc's struct pthread, opaque; a pthread_t is this address */

struct tcb_stack {
	void *base;   /* lowest address of the block, guard included (glibc's stackblock) */
	size_t size;  /* bytes, guard included */
	size_t guard; /* bytes at the low end that fault */
};

/*
 * Discovers the layout and runs the self-test, about 1 ms, by starting real threads: call it once,
 * from the first pthread_create, with no runtime lock held.  The calling thread's block is taken to
 * be the one that becomes the main G's: its rseq registration ends.  0, or -1 and compat_why() says
 * which check failed (a static string such as "glibc 2.31 unsupported: no thread_db descriptors in
 * libc").
 */
int compat_init(void);
extern bool compat_noproc; /* set before it: a filter forbids to open what is in /proc */
const char *compat_why(void);

/* Bytes of an area (static TLS + struct pthread) and its alignment; set by compat_init(). */
size_t tcb_area_size(void);
size_t tcb_area_align(void);

/*
 * Makes a block inside area (tcb_area_size() bytes, tcb_area_align() aligned, zero-filled, owned by
 * the caller for as long as the block lives), lists it and returns it; NULL when memory ran out.
 * tid is the unique id that glibc compares for ownership.  Takes glibc's loader and stack locks:
 * the caller must not hold a P if it may have to wait, nor any runtime lock.
 */
struct tcb *tcb_create(void *area, const struct tcb_stack *stk, uint32_t tid);

/* First thing a new life runs, with FS on the block: locale, ctype. */
void tcb_enter(void);
/* It began on this stack, which may be another than that with which the block was made. */
void tcb_began_on(const struct tcb_stack *stk);

/*
 * Last thing a life runs, with FS on the block, after TLS destructors and keys: gives back what
 * libc hung on the thread (second-level key blocks, dlerror, resolver state) but keeps what reuse
 * needs.
 */
void tcb_leave(void);

/* It is the thread that asks: was a key's value set? */
bool tcb_keys_marked(struct tcb *t);
/* libc's mark that a key's value was set: sets it anew, and says how it was. */
bool tcb_mark_keys(struct tcb *t, bool used);

/*
 * A block that left gets a next life the short way: the storage stays, its contents start anew.  0,
 * or -1 when the last life left something that only tcb_reuse() frees; nothing has changed then.
 * Takes the loader's TLS lock for a moment, allocates nothing.
 */
int tcb_renew(struct tcb *t, const struct tcb_stack *stk, uint32_t tid);

/* Before dlmopen makes a namespace, or adds to one: from now on there is only the long way. */
void tcb_namespace_comes(void);

/* The long way: fresh TLS, new id, new stack bounds.  0 or -1 (out of
 * memory). */
int tcb_reuse(struct tcb *t, const struct tcb_stack *stk, uint32_t tid);

/* Unlists and frees what tcb_create allocated; the area is the caller's again. */
void tcb_destroy(struct tcb *t);

/*
 * The allocator's caches of destroyed blocks that wait for a new one: how many.  tcb_bury(), called on
 * a thread of libc's own that is about to end, takes one over, and libc frees it as that thread's.
 */
int tcb_orphans(void);
void tcb_bury(void);

static inline struct tcb *tcb_self(void)
{
	return arch_getfs();
}

uint32_t tcb_tid(const struct tcb *t);
/* That word: what the kernel would clear when a thread of libc's ends. */
uint32_t *tcb_tid_word(struct tcb *t);
void tcb_set_tid(struct tcb *t, uint32_t tid);

/* The word that pthread_testcancel() reads; bits below.  Pairs with glibc's own atomics on it. */
int *tcb_cancelhandling(struct tcb *t);
extern int tcb_cancel_request_bits; /* what pthread_cancel() sets: CANCELED, and CANCELING up
				       to 2.40 */
extern ptrdiff_t tcb_cancel_at; /* where in t the word is */
/*
 * Since 2.43: pthread_join acts on a request also where it need not wait (libc's bug 33717), and a thread that is
 * detached while another waits for it is detached.
 */
extern bool tcb_join_acts;
/* A join with a time that is none is refused at once (since 2.41); before, such a time is never over. */
extern bool tcb_join_checks;
/* A request may be there: tcb_cancel_pending() says whether it counts. */
static inline int tcb_cancel_noted(const struct tcb *t)
{
	return load_acquire((const int *)(const void *)((const char *)t + tcb_cancel_at)) & tcb_cancel_request_bits;
}
/* True when t has cancellation enabled (asynchronous: and asynchronous). */
int tcb_cancel_enabled(const struct tcb *t);
int tcb_cancel_async(const struct tcb *t);
/* True when t would act on a request: it has cancellation enabled and is not exiting already. */
int tcb_cancel_acts(const struct tcb *t);
/*
 * pc is in a system call of libc's own that is a cancellation point and has not had its effect:
 * where it is over (with -EINTR as its result libc acts on a request), else 0.
 */
uintptr_t tcb_cancel_bridge(uintptr_t pc);
/* True when a request is set, cancellation is enabled and the thread is not exiting already. */
int tcb_cancel_pending(const struct tcb *t);
/* The destructors of t have run: from here on it is ending, and acts on no request any more. */
void tcb_cancel_over(struct tcb *t);
/* True when t was cancelled, whether it may act on it yet or not, or is ending. */
int tcb_cancel_requested(const struct tcb *t);

/*
 * Tests only: the field that tcb_create() and friends get wrong on purpose ("ctype", "resp",
 * "list", "unlisted", "pointer_guard", "robust", "same_tid", "tid0", "rseq", "stackblock",
 * "multiple_threads", "stale_tls", "malloc_words", "orphans", "request", "main_rseq").  NULL in
 * every program.
 */
extern const char *tcb_break;

/* glibc-private entry points, bound by compat_init(). */
extern void (*compat_call_tls_dtors)(void);
extern void (*compat_register_cancel)(void *unwind_buf);
extern void (*compat_unregister_cancel)(void *unwind_buf);

/* Byte offset in pthread_cond_t of the word that holds the pshared (bit 0) and MONOTONIC (bit 1)
 * flags. */
extern size_t compat_cond_flags_offset;

/* libc makes random numbers by itself, without a system call (since 2.41, where the kernel helps). */
extern bool compat_random;

/* The lock of a FILE, and its count when it is held once: 1, or since 2.37 0. */
struct compat_file_lock {
	int word, count;
	void *owner;
};
extern int compat_file_held;

/*
 * A live thread on a stack of libc's: libc made it past us, for a timer, asynchronous I/O or the
 * like, or somebody through a handle of libc.  The word is *id until the thread has ended (the
 * kernel then clears it and wakes a futex; since 2.43 libc clears it, and wakes none); the memory may
 * be gone by then.  NULL: there is none.
 */
uint32_t *tcb_other(uint32_t *id);

/* The list of libc's robust mutexes in this block: what libc registers with the kernel for a thread. */
void *tcb_robust_list(struct tcb *t);

/*
 * Wraps glibc's signal 33 (setuid family) so that its handler runs with FS on the kernel thread's
 * own registered block; registered() returns it for the calling kernel thread, or NULL to leave FS
 * alone; other: a second one with this thread's id, or the same.  calling() says whether the calling
 * thread is inside setuid or one of its family.  Call after the first real pthread_create.  0 or
 * -errno.
 */
int compat_setxid_wrap(struct tcb *(*registered)(bool other), bool (*calling)(void));
void compat_setxid_fork_child(void);

/*
 * For a handler of SIGABRT: glibc aborts where kernel threads give different answers, and that may
 * be a kernel thread that answers for another one (setxid.c), which is no thread of the program.
 * Then run() runs as the thread that called setuid; otherwise false.
 */
bool compat_setxid_as_caller(void (*run)(void *), void *arg);

/*
 * In a fork child, on the surviving thread: repairs what the kernel and glibc wrote into blocks
 * (the child pid in its tid, glibc's stack lists).  keep is the block FS points to; every other
 * block is off the lists from here on and must never be reused or destroyed.  registered() should
 * still answer as it did in the parent: its block's rseq registration ends too, or the kernel goes
 * on writing to memory that no thread owns.
 */
void tcb_fork_child(struct tcb *keep);
/* After it: the second block of the first kernel thread (setxid.c) is on libc's list again. */
void tcb_fork_child_first(struct tcb *t, uint32_t tid);

#endif
