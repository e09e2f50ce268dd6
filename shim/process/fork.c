/*
 * fork: fork, forkpty and _Fork from any G on any M.
 *
 * libc's fork runs the atfork handlers around its own work, so ours are handlers too, registered
 * before all others (this library is initialised first): prepare then runs last, parent and child
 * first.  Between them libc takes every lock of malloc, whose holder may be a G that waits for a P:
 * the P is given away there.  (Not around the whole call: the program's handlers need one.)
 * Meanwhile libc also holds the lock with which the next fork begins.  A G that forks then waits in
 * the lot, not in libc with its kernel thread.  That saves a kernel thread and nothing else: a fork
 * that is not held up here is right too.  _Fork runs no handlers and is wrapped.
 *
 * Signals are kept out from before the kernel copies until the child's scheduler is rebuilt: a
 * handler would run on the parent's, and what was deferred would be forgotten with the parent's.
 */
#include "runtime/process.h"
#include "shim/sync/eintr.h"
#include "shim/signal/altstack.h"
#include "shim/process/clone.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/libc/dlopen.h"
#include "shim/sync/futex.h"
#include "shim/sync/inherit.h"
#include "shim/sync/mutex.h"
#include "shim/fd/fdevents.h"
#include "shim/syscall/seccomp.h"
#include "shim/fd/fdwait.h"
#include "shim/thread/attr.h"
#include "shim/thread/schedparam.h"
#include "shim/signal/sigroute.h"
#include "shim/libc/stdio.h"
#include "shim/sync/sync.h"
#include "shim/thread/thread.h"
#include "shim/thread/tid.h"

static uint32_t inside; /* Gs between prepare and parent; only with all signals kept out: a handler may fork */

static __thread uint64_t mask; /* between prepare and what ends it */

uint64_t fork_begins(void)
{
	uint64_t all = ~UINT64_C(0), was;

	fdtable_shared(); /* before the kernel copies the table */
	direct4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &was, 8);
	return was;
}

static void prepare(void)
{
	if (!weft_on) {
		fdtable_shared();
		return;
	}
	lockosthread(LOCK_CHILD, ASIDE_NOW); /* first: it may go to another M, and what is kept out is an M's */
	mask = fork_begins();
	if (on_g()) {
		fetch_add_acq_rel(&inside, 1);
		entersyscall();
	}
}

static void parent(void)
{
	if (!weft_on)
		return;
	if (on_g())
		fetch_sub_acq_rel(&inside, 1);
	fork_ends(false, mask);
	if (!on_g())
		return;
	exitsyscall(); /* now that the mask is the G's: it may go on elsewhere */
	lot_wake(lot_key(&inside, KEY_OTHER), 1, 0, READY_TAIL, NULL, NULL);
	unlockosthread(true); /* none, perhaps: the end of the G will tell */
}

static int nobody_inside(void *arg)
{
	(void)arg;
	return load_acquire(&inside) == 0;
}

/* libc's thread, which became main, comes to its end: at its keys. */
static void adopted_ends(void *th)
{
	tcb_mark_keys(tcb_self(), true); /* libc is at them, and does not come back to the rest */
	thread_end(th);
}

/*
 * A thread that weft did not schedule is all that the child has: it becomes the main G.  One that
 * libc made goes back to libc in the end, which would take M0 along.
 */
static void adopt(void)
{
	pthread_key_t key;

	self_thread.g = getg();
	g_shim(getg())->thread = &self_thread;
	if (!real.pthread_key_create(&key, adopted_ends))
		pthread_setspecific(key, &self_thread);
}

/* The kernel has written the child's id into this thread's block; if it was libc's fork. */
static void rebuild(void)
{
	bool native = !on_g();

	weft_tls.unshared = 0;
	/*
	 * First: it ends what the kernel still writes for the M that forked, whose block g_m()
	 * names.
	 */
	tcb_fork_child(tcb_self());
	compat_setxid_fork_child();
	fdtable_fork_child();
	fdwait_fork_child();
	file_fork_child();
	clone_fork_child();
	vfork_fork_child();
	runtime_fork_child();
	tcb_fork_child_first(g_m(NULL).g0block, (uint32_t)getpid());
	inside = 0;
	weft_tls.owner = tcb_tid(tcb_self()); /* the parent's, where libc did not ask the kernel to write the child's */
	self_thread.g = getg();
	if (native)
		altstack_adopt();
	runtime_sigstack(NULL);
	dl_fork_child();
	robust_fork_child();
	signal_fork_child();
	futexpi_fork_child();
	inherit_fork_child();
	self_thread.robustlist = NULL;
	self_thread.robustlist_set = false;
	self_thread.cleared_tid = NULL;
	self_thread.no_tid_word = false;
	dumpsig_fork_child();
	threadname_show();
	rusage_fork_child();
	threadstate_fork_child();
	filter_fork_child();
	schedparam_fork_child();
	attr_fork_child();
	timer_fork_child();
	sigrequeue_fork_child();
	if (native)
		adopt();
}

/* The notes first: a handler runs at once, and looks at them. */
void fork_ends(bool child, uint64_t was)
{
	if (child)
		once_fork_child();
	if (child && weft_on) {
		rebuild();
		sigmask_set(getg(), was & ~SIGS_NEVER, true);
	}
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &was, NULL, 8);
}

static void child(void)
{
	if (weft_on) {
		fork_ends(true, mask);
		unlockosthread(false);
	} else {
		once_fork_child();
	}
}

static void __attribute__((constructor(101))) register_handlers(void)
{
	pthread_atfork(prepare, parent, child);
}

/* One of libc's that fork and run the handlers. */
static bool whole_begins(void)
{
	struct park pk = park_wait(lot_key(&inside, KEY_OTHER), nobody_inside, NULL, WaitFork);

	if (!on_g())
		return false;
	/* One wake-up for one fork's end: each that was waited for here has such an end itself. */
	while (!nobody_inside(NULL) && lot_park(&pk) == -EINTR)
		eintr_in_lock();
	/* The wait for another M is without harm here; where prepare() is called, malloc's lock may be held. */
	lockosthread(LOCK_CHILD, 0);
	return true;
}

/* begun: before the call, by this G; the child is a copy of it. */
static pid_t whole_ends(bool begun, pid_t pid)
{
	if (begun)
		unlockosthread(false);
	sigchild_note(pid);
	return pid;
}

EXPORT pid_t fork(void)
{
	bool begun = whole_begins();

	return whole_ends(begun, real.fork());
}
ALIAS(__fork, fork);

EXPORT int forkpty(int *terminal, char *name, const struct termios *how, const struct winsize *size)
{
	bool begun = whole_begins();

	return whole_ends(begun, real.forkpty(terminal, name, how, size));
}

/* A handler, which this is made for, does not wait for another M (aside.c); all others do. */
EXPORT pid_t _Fork(void)
{
	uint64_t was;
	pid_t pid;

	lockosthread(LOCK_CHILD, 0);
	was = fork_begins();
	pid = real._Fork();
	fork_ends(pid == 0, was);
	child_made(pid);
	return pid;
}
