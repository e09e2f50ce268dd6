/*
 * thread: creation, exit, join and detach.
 *
 * A thread's end has two sides: the G ends (ended() sets TH_EXITED, its last act before it leaves
 * its stack), and a joiner takes the result or the thread is detached.  state decides which side
 * frees the G: the bits are set by fetch_or, and the thread that completes EXITED|DETACHED, or the
 * joiner that sees EXITED, frees it, after the stack was left.
 *
 * Must never: touch a struct thread after the G was freed: its memory starts the next life.
 */
#include "runtime/process.h"
#include "shim/sync/eintr.h"
#include "shim/thread/thread.h"
#include "shim/thread/attr.h"
#include "shim/libc/dlopen.h"
#include "shim/syscall/seccomp.h"
#include "shim/sync/futex.h"
#include "shim/sync/inherit.h"
#include "shim/libc/dlguest.h"
#include "shim/sync/mutex.h"
#include "shim/signal/safepoint.h"
#include "shim/thread/schedparam.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"

#include <setjmp.h>

__thread struct thread self_thread __attribute__((tls_model("initial-exec")));

/* ---- end ------------------------------------------------------------------------------------- */

/* From here on the thread has ended.  True: it was detached, and its G is to be freed, which main's never is. */
static bool ended(void *arg)
{
	struct thread *th = arg;
	bool is_main = th->g == g_main();
	uint32_t old = fetch_or_seqcst(&th->state, TH_EXITED);

	if (old & TH_DETACHED) {
		fetch_or_seqcst(&th->state, TH_GONE);
		return !is_main;
	}
	/* A joiner says that it is one before it looks whether the thread has ended: seq_cst with join(). */
	if (old & TH_JOINING)
		lot_wake(&th->state, 1, 0, READY_NEXT, NULL, NULL);
	return false;
}

/*
 * Frees the G of a thread that has ended and that no other thread will free: from now on no thread
 * knows it.
 */
static void forget(struct thread *th, struct g *gp)
{
	uint32_t detached = load_relaxed(&th->state) & TH_DETACHED;

	if (unlikely(load_relaxed(&th->strict)))
		gp = g_main(); /* as main's: its kernel thread may be on the stack for a moment */
	/* No other bit can be set any more: no thread has a valid id of this one. */
	store_release(&th->state, TH_EXITED | TH_GONE | detached);
	if (gp != g_main())
		g_free(gp);
}

static inline void __attribute__((noreturn)) leave(struct thread *th)
{
	tcb_cancel_over(tcb_self());
	signals_end();
	if (unlikely(th->leaves_more)) {
		robust_exit();
		robustlist_thread_ends();
		inherit_thread_ends();
	}
	futexpi_thread_ends();
	if (unlikely(th->leaves_more)) {
		cleared_tid_thread_ends();
		schedparam_leave();
	}
	if (th->g != g_main())
		tcb_leave();
	goexit(ended, th);
}

/* A result on the own stack: as natively, nothing but the thread's own end writes there before the join. */
static inline void keep_result(struct thread *th)
{
	struct gmemory mem = g_memory(th->g);

	if (unlikely((uintptr_t)th->result - (uintptr_t)mem.stack < mem.size))
		g_memory_told(th->g);
}

void thread_end(struct thread *th)
{
	compat_call_tls_dtors();
	keys_run_destructors();
	if (unlikely(weft_tls.strict))
		strict_end();
	keep_result(th);
	leave(th);
}

/*
 * exit(2), by number: a thread that ends unknown to libc.  Nothing of the program's runs for it, and
 * libc goes on counting it: the last one then does not end the process as pthread_exit does, but the
 * kernel, with the status that the last one gave.
 */
static _Atomic bool by_number;

/* the caller's exit status; 0: the thread ends in another way, as in libc */
static __thread int status;

long ends_thread(const struct call *x)
{
	struct thread *th = &self_thread;

	syscall_reset();
	th->result = NULL;
	status = (int)x->a;
	store_release(&by_number, true);
	leave(th);
}

bool thread_ended_by_number(int *of_last)
{
	*of_last = status;
	return load_acquire(&by_number);
}

static inline struct tcb_stack stack_of(const struct g *gp)
{
	struct gmemory mem = g_memory(gp);

	return (struct tcb_stack){ .base = mem.stack, .size = mem.size, .guard = mem.guard };
}

/*
 * Cancellation and pthread_exit unwind to here, exactly as to libc's own start routine: also out of
 * a handler before the thread's function began, and out of a destructor, more than once.
 */
void thread_gmain(struct g *gp)
{
	struct thread *th = &self_thread;
	__pthread_unwind_buf_t buf;
	struct tcb_stack stk;

	stk = stack_of(gp);
	tcb_began_on(&stk);
	tcb_enter();
	if (unlikely(th->filtered))
		filter_born(th);
	schedparam_apply();
	if (__sigsetjmp_cancel(buf.__cancel_jmp_buf, 0) == 0) {
		compat_register_cancel(&buf);
		signals_deliver(); /* what came before it started */
		th->result = th->start ? th->start(th->arg) : (void *)(intptr_t)th->start11(th->arg);
	} else {
		syscall_reset();
		if (!th->exiting)
			th->result = PTHREAD_CANCELED;
	}
	thread_end(th); /* in this frame: buf is still where libc unwinds to */
}

EXPORT void pthread_exit(void *result)
{
	if (on_g()) {
		syscall_reset();
		self_thread.result = result;
		self_thread.exiting = true;
	}
	unwind_ready();
	real.pthread_exit(result);
	__builtin_unreachable();
}

EXPORT void thrd_exit(int result)
{
	pthread_exit((void *)(intptr_t)result);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* A G with a thread block for a new life, or NULL and *err an errno value. */
static struct g *make(const pthread_attr_t *attr, int *err)
{
	struct tcb_stack stk;
	struct gattr a;
	struct g *gp = g_new(attr_parse(attr, &a), err);
	struct tcb *t;
	uint32_t tid;

	/* libc's word for want of memory, too. */
	*err = *err == -EINVAL ? EINVAL : EAGAIN;
	if (!gp)
		return NULL;
	tid = g_nextid();
	stk = stack_of(gp);
	t = g_tls(gp);
	/*
	 * The loader's locks are taken here.  A G that is switched away with one (in a handler of
	 * the program's, too) blocks every kernel thread that makes a thread.
	 */
	libc_enter();
	if (!t || tcb_renew(t, &stk, tid)) {
		entersyscall(); /* allocates */
		if (runtime_fault("thread block"))
			t = NULL;
		else if (!t)
			t = tcb_create(g_memory(gp).area, &stk, tid);
		else if (tcb_reuse(t, &stk, tid))
			t = NULL;
		exitsyscall();
	}
	libc_leave();
	if (!t) {
		g_free(gp);
		return NULL;
	}
	g_shim(gp)->fs = t;
	g_shim(gp)->tid = tid;
	thread_of((pthread_t)t)->g = gp; /* the rest is zero, as all fresh thread-local storage of ours */
	return gp;
}

/* *lets: signals that the attribute lets in. */
static int inherit(struct thread *th, const pthread_attr_t *attr, struct g *gp, uint64_t *lets)
{
	int err = schedparam_inherit(th, attr);
	uint64_t mask;

	if (on_g())
		g_copyname(gp, getg());
	if (err || likely(attr_plain(attr)))
		return err;
	th->inheritsched = attr_inheritsched(attr);
	if (attr_sigmask(attr, &mask)) {
		sigmask_set(gp, mask & ~SIGS_NEVER, false);
		*lets = ~mask;
	}
	if (attr_detached(attr))
		store_seqcst(&th->state, TH_DETACHED);
	return 0;
}

/* Runnable from here on; what the caller's kernel thread has of its own, this one's gets. */
static int begin(struct thread *th)
{
	int err;

	if (unlikely(on_g() && self_thread.passes_os))
		threadstate_shared();
	if (likely(!on_g() || !self_thread.passes_os))
		return -g_start(th->g, false);
	threadstate_born(th);
	libc_enter();
	err = g_start(th->g, true);
	libc_leave();
	return -err;
}

static int create(pthread_t *out, const pthread_attr_t *attr, void *(*start)(void *),
		  int (*start11)(void *), void *arg)
{
	struct thread *th;
	uint64_t lets = 0;
	struct g *gp;
	int err;

	/* As natively: the filter says. */
	if (fromnow_holds(FROMNOW_NOMORE))
		return direct3(SYS_clone3, NULL, 0, 0) == -EPERM ? EPERM : EAGAIN;
	/* Once a process.  Without the signal thread signals that find no G would be lost. */
	if (!sigroute_start())
		return EAGAIN;
	dumpsig_start();
	if (unlikely(dl_loading()))
		execstack_look();
	gp = make(attr, &err);
	if (!gp) {
		/*
		 * Threads that wait to run hold the memory: a caller that tries again must not
		 * starve them.
		 */
		if (on_g() && err == EAGAIN)
			gosched();
		return err;
	}
	th = thread_of((pthread_t)g_tls(gp));
	th->start = start;
	th->start11 = start11;
	th->arg = arg;
	g_shim(gp)->thread = th;
	g_shim(gp)->entry = start ? (uintptr_t)start : (uintptr_t)start11;
	err = inherit(th, attr, gp, &lets);
	*out = (pthread_t)g_tls(gp);
	if (!err)
		err = begin(th);
	if (err) {
		g_free(gp);
		return err;
	}
	if (unlikely(lets))
		sigroute_unblocked(lets); /* perhaps the first that does */
	runtime_checkyield();
	return 0;
}

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	if (!weft_on && !activate())
		return activate_later() ? EAGAIN : real.pthread_create(t, attr, start, arg);
	if (unlikely(dlguest_present(__builtin_return_address(0))))
		return real.pthread_create(t, attr, start, arg);
	return create(t, attr, start, NULL, arg);
}

EXPORT int thrd_create(thrd_t *t, thrd_start_t start, void *arg)
{
	if (!weft_on && !activate())
		return activate_later() ? thrd_error : real.thrd_create(t, start, arg);
	if (unlikely(dlguest_present(__builtin_return_address(0))))
		return real.thrd_create(t, start, arg);
	/*
	 * libc's word for want of memory is pthread_create()'s, EAGAIN: of that it makes thrd_error, never
	 * thrd_nomem.
	 */
	return create(t, NULL, NULL, start, arg) ? thrd_error : thrd_success;
}

/* ---- join, detach ---------------------------------------------------------------------------- */

static int still_running_refused(void *arg)
{
	struct thread *th = arg;

	return (load_seqcst(&th->state) & TH_EXITED) != 0 || load_seqcst(&th->strict);
}

/*
 * Waits until th has ended: 0, ETIMEDOUT, or cancels the caller.  A time that is none is never
 * over, as in libc.
 */
static int await(struct thread *th, const struct until *u)
{
	struct park pk = park_wait(&th->state, still_running_refused, th, WaitJoin);
	int err;

	if (until_park(u, &pk))
		park_until_ns(&pk, 0);
	while (!(load_seqcst(&th->state) & TH_EXITED)) {
		testcancel(); /* as in libc, only a caller that must wait acts on it */
		if (unlikely(load_seqcst(&th->strict))) {
			if (strict_await(th, u))
				return ETIMEDOUT;
			continue;
		}
		err = lot_park(&pk);
		if (err == -ETIMEDOUT)
			return ETIMEDOUT;
		/* Also if it has ended meanwhile: what it sent the caller before is handled before. */
		if (err == -EINTR)
			eintr_look();
	}
	return 0;
}

/* A join that ends without its thread, also by unwinding: another thread may join that one now. */
static void join_left(struct thread **joined)
{
	struct thread *th = *joined;
	uint32_t old, new;
	struct g *gp;

	self_thread.joins = 0;
	if (!th)
		return;
	gp = th->g;
	old = load_seqcst(&th->state);
	do {
		new = old & ~(uint32_t)(TH_JOINING | TH_LET_GO);
		if (old & TH_LET_GO)
			new |= TH_DETACHED;
	} while (!cas_weak_seqcst(&th->state, &old, new));
	/* Else its end sees that it is detached. */
	if (new & TH_DETACHED && new & TH_EXITED && gp != g_main())
		forget(th, gp);
}

static int await_joining(struct thread *th, const struct until *u)
{
	struct thread *joined __attribute__((cleanup(join_left))) = th;
	int err;

	self_thread.joins = (pthread_t)g_tls(th->g);
	err = await(th, u);
	if (!err)
		joined = NULL;
	return err;
}

static int join(pthread_t t, void **result, const struct until *u)
{
	struct thread *th = thread_of(t);
	struct g *gp = th->g;
	uint32_t old;
	int err;

	old = load_acquire(&th->state);
	/* Both as libc: one that ended detached looks detached still, and one may ask about itself. */
	if (old & TH_DETACHED)
		return EINVAL;
	if (old & TH_GONE)
		return ESRCH;
	if (t == (pthread_t)tcb_self())
		return EDEADLK;
	/* A cycle, unless th will leave its join: it was cancelled, or is ending already. */
	if (th->joins && th->joins == (pthread_t)tcb_self() && !tcb_cancel_requested((struct tcb *)t))
		return EDEADLK;
	old = fetch_or_seqcst(&th->state, TH_JOINING);
	/* A join of ours that a handler left by a jump still stands there: this is the same. */
	if (self_thread.joins == t)
		old &= ~(uint32_t)TH_JOINING;
	if (old & (TH_DETACHED | TH_JOINING)) {
		if (!(old & TH_JOINING))
			fetch_and_seqcst(&th->state, ~(uint32_t)TH_JOINING);
		return EINVAL;
	}
	err = await_joining(th, u);
	if (err)
		return err;
	if (result)
		*result = th->result;
	forget(th, gp);
	return 0;
}

/*
 * A libc since 2.43 acts on a request before its join looks at the arguments; an older one only where the join waits,
 * which await() sees to.
 */
static void join_asked(void)
{
	if (tcb_join_acts)
		cancel_point();
}

EXPORT int pthread_join(pthread_t t, void **result)
{
	if (!weft_on || !g_of(t))
		return real.pthread_join(t, result);
	runtime_checkyield();
	join_asked();
	return join(t, result, FOREVER);
}

EXPORT int pthread_tryjoin_np(pthread_t t, void **result)
{
	if (!weft_on || !g_of(t))
		return real.pthread_tryjoin_np(t, result);
	if (!(load_seqcst(&thread_of(t)->state) & TH_EXITED) && !strict_has_ended(thread_of(t)))
		return EBUSY;
	return join(t, result, FOREVER);
}

EXPORT int pthread_clockjoin_np(pthread_t t, void **result, clockid_t clock,
				const struct timespec *abs)
{
	struct until u = { clock, abs };

	if (!weft_on || !g_of(t))
		return real.pthread_clockjoin_np(t, result, clock, abs);
	join_asked();
	if (!wait_clock(clock) || (tcb_join_checks && abs && bad_nsec(abs)))
		return EINVAL;
	return join(t, result, abs ? &u : FOREVER);
}

EXPORT int pthread_timedjoin_np(pthread_t t, void **result, const struct timespec *abs)
{
	if (!weft_on || !g_of(t))
		return real.pthread_timedjoin_np(t, result, abs);
	return pthread_clockjoin_np(t, result, CLOCK_REALTIME, abs);
}

EXPORT int pthread_detach(pthread_t t)
{
	struct thread *th = thread_of(t);
	struct g *gp;
	uint32_t old, new;

	if (!weft_on || !th->g)
		return real.pthread_detach(t);
	gp = th->g;
	old = load_seqcst(&th->state);
	do {
		if (old & TH_DETACHED)
			return EINVAL;
		if (old & TH_GONE)
			return ESRCH;
		/*
		 * As in libc before 2.43 nothing changes: the joiner frees the thread.  Since then that one may
		 * also leave without it, and then it is detached.
		 */
		if (old & TH_JOINING && (!tcb_join_acts || old & TH_LET_GO))
			return tcb_join_acts ? EINVAL : 0;
		new = old | (old & TH_JOINING ? TH_LET_GO : TH_DETACHED);
	} while (!cas_weak_seqcst(&th->state, &old, new));
	if ((old & TH_EXITED) && new & TH_DETACHED && gp != g_main())
		forget(th, gp);
	return 0;
}

EXPORT int thrd_join(thrd_t t, int *result)
{
	void *value = NULL;

	if (!weft_on || !g_of(t))
		return real.thrd_join(t, result);
	if (pthread_join(t, &value))
		return thrd_error;
	if (result)
		*result = (int)(intptr_t)value;
	return thrd_success;
}

EXPORT int thrd_detach(thrd_t t)
{
	if (!weft_on || !g_of(t))
		return real.thrd_detach(t);
	return pthread_detach(t) ? thrd_error : thrd_success;
}
