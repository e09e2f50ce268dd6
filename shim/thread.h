/*
 * thread: what the shim knows of each thread beyond its G.  Lives in the thread's own TLS, so a pthread_t
 * (glibc's thread pointer) leads to it by a constant offset.
 */
#ifndef WEFT_SHIM_THREAD_H
#define WEFT_SHIM_THREAD_H

#include <stdatomic.h>

#include "compat/tcb.h"
#include "shim/shim.h"

enum {
	TH_EXITED = 1,   /* the stack is left; result is final */
	TH_DETACHED = 2, /* whoever exits frees */
	TH_JOINING = 4,  /* somebody waits in join */
};

struct thread {
	_Atomic uint32_t state;      /* TH_ bits; joiners park on its address */
	struct g *g;
	void *(*start)(void *);
	int (*start11)(void *);      /* thrd_create's form, exclusive with start */
	void *arg;
	void *result;
	bool exiting;                /* result was set by pthread_exit */
	pthread_t joins;             /* whom this thread is joining: EDEADLK of a cycle */
	_Atomic uint64_t sigpending; /* directed at it while it did not run */
	int policy;                  /* what getschedparam answers */
	int priority;
};

extern __thread struct thread self_thread hidden __attribute__((tls_model("initial-exec")));

static inline struct thread *thread_of(pthread_t t)
{
	ptrdiff_t off = (char *)&self_thread - (char *)tcb_self();

	return (struct thread *)((char *)t + off);
}

/* The G behind a pthread_t; NULL for a kernel thread that weft does not schedule. */
static inline struct g *g_of(pthread_t t)
{
	return thread_of(t)->g;
}

/* First pthread_create: starts weft.  False: this program stays on plain pthreads. */
bool activate(void) hidden;
/* Ends the calling thread from its outermost frame: destructors, then goexit. */
void thread_end(struct thread *th) __attribute__((noreturn)) hidden;
void keys_run_destructors(void) hidden;
void thread_gmain(struct g *gp) hidden;
void thread_default_attr(void) hidden; /* re-reads libc's default attributes */
/* Raises on the calling G what arrived while it did not run. True when something was raised. */
bool signals_deliver(void) hidden;
void cancel_init(void) hidden;
void fork_init(void) hidden;
void signal_init(void) hidden;

#endif
