/*
 * clone: processes and kernel threads that a program makes by clone(2), by libc's function or by
 * number.
 *
 *	memory of its own	a fork without handlers: fork_ends() puts the scheduler in order.  What it asks
 *				of vfork by number would share the stack with the functions here: it gets
 *				memory of its own, and its parent waits as before (CLONE_VFORK alone)
 *	our memory, parent	the thread block is the parent's, as natively.  weft_tls in it says
 *	waits			meanwhile that this is no G, and is the parent's again at its return
 *	our memory, beside	natively both use one thread block.  The child would look like the G that made
 *				it, so it gets a block of its own: a native thread like those that libc makes
 *	CLONE_SETTLS		it has brought its own block: nothing to do
 *
 * A child in our memory may be a process with a table of descriptors and dispositions of its own.
 * What we note of these is the parent's: weft_tls.unshared says what the child leaves alone.
 *
 * Blocks of children that ended are used again: the kernel says whether the thread is still there.
 *
 * Must never: return to a caller in a child that shares our memory; unmap a block (libc lists it).
 */
#include "shim/process/clone.h"
#include "shim/signal/altstack.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/fd/fdtable.h"
#include "shim/signal/safepoint.h"
#include "shim/signal/sigroute.h"
#include "shim/thread/thread.h"
#include "shim/syscall/usermem.h"

#include <linux/sched.h>
#include <string.h>
#include <sys/mman.h>

/* ---- thread blocks of children beside us ----------------------------------------------------- */

enum { BLOCK_FREE, USED, TAKEN };

struct block {
	struct block *next; /* never changes: blocks are never taken off */
	_Atomic int state;
	_Atomic int tgid, tid; /* of its child; tid 0: being made */
	struct tcb *tcb;       /* NULL until its first use */
	struct tcb_stack bounds;
};

static struct block *_Atomic blocks;

/* A child that ended, but was not waited for, is still there. */
static bool gone(struct block *b)
{
	int tid = load_acquire(&b->tid);

	return tid && direct3(SYS_tgkill, load_acquire(&b->tgid), tid, 0) == -ESRCH;
}

static struct block *take_old(void)
{
	for (struct block *b = load_acquire(&blocks); b; b = b->next) {
		int was = BLOCK_FREE;

		if (cas_acq_rel(&b->state, &was, TAKEN))
			return b;
		if (was == USED && gone(b) && cas_acq_rel(&b->state, &was, TAKEN))
			return b;
	}
	return NULL;
}

static struct block *map_new(void)
{
	size_t n = (tcb_area_size() + sizeof(struct block) + 4095) & ~(size_t)4095;
	void *area = MAP_FAILED;
	struct block *b;

	if (!runtime_fault("thread block of a clone"))
		area = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	b = (struct block *)((char *)area + tcb_area_size());
	b->bounds = (struct tcb_stack){ .base = area, .size = n };
	b->next = load_acquire(&blocks);
	store_release(&b->state, TAKEN);
	while (!cas_weak_acq_rel(&blocks, &b->next, b))
		;
	return b;
}

static bool fill(struct block *b)
{
	uint32_t id = g_nextid();
	bool ok;

	libc_enter(); /* the loader's locks, as in thread.c */
	entersyscall();
	if (b->tcb) {
		ok = tcb_reuse(b->tcb, &b->bounds, id) == 0;
	} else {
		b->tcb = tcb_create(b->bounds.base, &b->bounds, id);
		ok = b->tcb != NULL;
	}
	exitsyscall();
	libc_leave();
	return ok;
}

static struct block *block_get(void)
{
	struct block *b = take_old();

	if (!b)
		b = map_new();
	if (!b)
		return NULL;
	store_release(&b->tid, 0);
	if (!fill(b)) {
		store_release(&b->state, BLOCK_FREE);
		return NULL;
	}
	store_release(&b->state, USED);
	return b;
}

void clone_fork_child(void)
{
	/* libc has them off its lists, and half of one may be here. */
	store_relaxed(&blocks, NULL);
}

/* ---- the child ------------------------------------------------------------------------------- */

/*
 * Before weft runs: the kernel forgets the list of robust mutexes in a fork's child, and only
 * libc's fork renews it.
 */
struct robust {
	uintptr_t *head;
	size_t len;
};

static struct robust robust_now(void)
{
	struct robust r = { NULL, 0 };

	if (!weft_on)
		direct3(SYS_get_robust_list, 0, &r.head, &r.len);
	return r;
}

static void robust_renew(const struct robust *r)
{
	if (!r->head)
		return;
	r->head[0] = (uintptr_t)r->head; /* none is held */
	direct3(SYS_set_robust_list, r->head, r->len, 0);
}

/* At the top of the child's stack: its parent may be gone from the call before it looks. */
struct begin {
	int (*fn)(void *);
	void *arg;
	int flags;
	uint64_t mask; /* as it was */
	struct robust robust;
};

static uint32_t unshared_of(int flags)
{
	return (flags & CLONE_FILES ? 0 : UNSHARED_FILES) | (flags & CLONE_SIGHAND ? 0 : UNSHARED_SIGHAND);
}

static int run_fork(void *p)
{
	struct begin b = *(struct begin *)p;
	int r;

	robust_renew(&b.robust);
	fork_ends(!(b.flags & CLONE_SETTLS), b.mask);
	if (!(b.flags & CLONE_SETTLS))
		child_made(0);
	r = b.fn(b.arg);
	/* libc would end this kernel thread alone, and idle ones of ours would go on. */
	if (weft_on)
		direct3(SYS_exit_group, r, 0, 0);
	return r;
}

/* What comes back as a G is the child of a fork that the function made: a process of its own. */
static int run_beside(void *p)
{
	struct begin b = *(struct begin *)p;
	int r;

	weft_tls.unshared = unshared_of(b.flags);
	tcb_enter();
	r = b.fn(b.arg);
	if (on_g())
		direct3(SYS_exit_group, r, 0, 0);
	return r;
}

static int run_alone(void *p)
{
	struct begin b = *(struct begin *)p;
	int r;

	weft_tls = (struct weft_tls){ .unshared = unshared_of(b.flags) };
	altstack_release();
	fork_ends(false, b.mask);
	r = b.fn(b.arg);
	if (on_g())
		direct3(SYS_exit_group, r, 0, 0);
	return r;
}

/* ---- clone ----------------------------------------------------------------------------------- */

/* The optional arguments. */
struct more {
	void *parent, *tls, *child;
};

static struct begin *begin_at(void *stack, int (*fn)(void *), void *arg, int flags)
{
	struct begin *b = (struct begin *)(((uintptr_t)stack - sizeof(*b)) & ~(uintptr_t)15);

	*b = (struct begin){ .fn = fn, .arg = arg, .flags = flags };
	return b;
}

static int call(int (*run)(void *), struct begin *b, int flags, const struct more *m)
{
	return real.clone(run, b, flags, b, m->parent, m->tls, m->child);
}

static int clone_fork(struct begin *b, const struct more *m)
{
	bool waits = b->flags & CLONE_VFORK;
	uint64_t was;
	int r;

	b->robust = robust_now();
	lockosthread(LOCK_CHILD, 0);
	if (waits)
		entersyscall();
	was = b->mask = fork_begins();
	r = call(run_fork, b, b->flags, m);
	fork_ends(false, was);
	if (waits)
		exitsyscall();
	child_made(r);
	return r;
}

static int clone_beside(struct begin *b, struct more *m)
{
	struct block *block = block_get();
	int r;

	if (!block) {
		errno = ENOMEM;
		return -1;
	}
	m->tls = block->tcb;
	if (!(b->flags & CLONE_THREAD))
		lockosthread(LOCK_CHILD, 0);
	r = call(run_beside, b, b->flags | CLONE_SETTLS, m);
	if (!(b->flags & CLONE_THREAD))
		child_made(r);
	if (r < 0) {
		store_release(&block->state, BLOCK_FREE);
		return r;
	}
	store_release(&block->tgid, b->flags & CLONE_THREAD ? (int)direct3(SYS_getpid, 0, 0, 0) : r);
	store_release(&block->tid, r);
	return r;
}

/*
 * No signal is let in until weft_tls is the parent's again: its handler would take this for a
 * native thread. That goes for signal 33 as well: a thread that waits for its effect waits for the
 * child's exec, as natively.
 */
static __attribute__((noinline)) int clone_alone(struct begin *b, const struct more *m)
{
	struct weft_tls ours;
	uint64_t was;
	int r;

	lockosthread(LOCK_CHILD, 0);
	entersyscall();
	was = b->mask = fork_begins(); /* twice: the child may use this piece of its stack */
	ours = weft_tls;
	r = call(run_alone, b, b->flags, m);
	weft_tls = ours;
	fork_ends(false, was);
	exitsyscall();
	child_made(r);
	return r;
}

EXPORT int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	struct begin *b;
	struct more m;
	va_list ap;

	/* However many the caller passed, the registers and stack words are readable. */
	va_start(ap, arg);
	m.parent = va_arg(ap, void *);
	m.tls = va_arg(ap, void *);
	m.child = va_arg(ap, void *);
	va_end(ap);
	fdtable_shared();
	if (!fn || !stack)
		return real.clone(fn, stack, flags, arg, m.parent, m.tls, m.child);
	if (!(flags & CLONE_VM))
		return clone_fork(begin_at(stack, fn, arg, flags), &m);
	/*
	 * One that goes on beside the first G would look like it from its start on: so the start is
	 * now.
	 */
	if (flags & CLONE_SETTLS || (!weft_on && (flags & CLONE_VFORK || !activate())))
		return real.clone(fn, stack, flags, arg, m.parent, m.tls, m.child);
	b = begin_at(stack, fn, arg, flags);
	return flags & CLONE_VFORK ? clone_alone(b, &m) : clone_beside(b, &m);
}
ALIAS(__clone, clone);

/* ---- by number ------------------------------------------------------------------------------- */

static long fork_by(const struct clone_args *a, size_t n)
{
	struct robust robust = robust_now();
	bool waits = a->flags & CLONE_VFORK;
	uint64_t was;
	long r;

	lockosthread(LOCK_CHILD, 0);
	if (waits)
		entersyscall();
	was = fork_begins();
	r = direct3(SYS_clone3, a, n, 0);
	if (r == -ENOSYS && !a->set_tid_size && !(a->flags >> 32))
		r = direct5(SYS_clone, a->flags | a->exit_signal, 0,
			    a->flags & CLONE_PIDFD ? a->pidfd : a->parent_tid, a->child_tid, a->tls);
	if (r == 0)
		robust_renew(&robust);
	fork_ends(r == 0 && !(a->flags & CLONE_SETTLS), was);
	if (r != 0 && waits)
		exitsyscall();
	if (r != 0 || !(a->flags & CLONE_SETTLS))
		child_made(r < 0 ? -1 : (pid_t)r);
	return r;
}

bool clone_by_hand(long nr, long a, long b, long c, long d, long e, long *r)
{
	struct clone_args x = { .exit_signal = SIGCHLD };
	size_t n = sizeof(x);

	if (nr == SYS_clone) {
		x.exit_signal = (unsigned char)a;
		x.flags = (uint64_t)(uint32_t)a & ~UINT64_C(0xff);
		x.stack = (uint64_t)b;
		*(x.flags & CLONE_PIDFD ? &x.pidfd : &x.parent_tid) = (uint64_t)c;
		x.child_tid = (uint64_t)d;
		x.tls = (uint64_t)e;
	} else if (nr == SYS_clone3) {
		/* What is newer than this knows its caller, which then goes by itself. */
		if ((size_t)b < CLONE_ARGS_SIZE_VER0 || (size_t)b > sizeof(x) || !a)
			return false;
		n = (size_t)b;
		x.exit_signal = 0;
		if (!user_read(&x, (const void *)a, n))
			return false; /* EFAULT */
	} else if (nr == SYS_vfork) {
		x.flags = CLONE_VM | CLONE_VFORK;
	} else if (nr != SYS_fork) {
		return false;
	}
	/*
	 * A stack must have been made for the caller's own return; and CLONE_VM without one is a
	 * vfork.
	 */
	if (x.stack || ((x.flags & CLONE_VM) && !(x.flags & CLONE_VFORK)))
		return false;
	x.flags &= ~(uint64_t)(x.flags & CLONE_VM ? CLONE_VM | CLONE_SIGHAND : 0);
	*r = fork_by(&x, n);
	return true;
}
