/*
 * init: weft starts at the first pthread_create, or when libc is asked for a thread that will call
 * the program (async.c), never earlier.
 *
 * Until then every wrapper passes through (weft_on == 0), so a program that makes no thread pays
 * one load and one branch a call.  If something does not fit, one line says so and the program
 * stays on plain pthreads for good.
 */
/*
 * The first thread's way through the kernel and libc so far, and what becomes of it.  Each line has
 * a row in tests/programs/start-finds-what-was-there.c.  Which code makes the first thread, and
 * where, are the rows of start-first-thread-from-anywhere.c.
 *
 *	alternate stack			altstack_adopt(): the G's, as that of any other
 *	mask				runtime_start() notes it as main's
 *	pending signals			adopt_pending(): main's are queued on the G; the process's stay
 *	actions				action_adopt(): the handlers become ours in the kernel
 *	timers, itimers, alarms		the kernel's; SIGEV_THREAD_ID names M0: to main (sigroute.c)
 *	name				threadname_init()
 *	policy, nice, affinity		schedparam_init(): what every kernel thread of ours inherits
 *	timer slack, privileges, ids	the same, by the kernel: all Ms descend from this thread
 *	robust mutexes			robust_adopt(): from libc's list to ours, and main locked to its M if shared
 *	other locks, semaphores, FILEs	libc's words are ours; the owner's id stays
 *	rseq				rseq_end(): the kernel would write to a block that moves
 *	id, keys, TLS, errno, locale,	the thread block goes on as main's; rounding modes are part of
 *	cancellation, rounding		the context that each switch saves, and a new G's are its maker's
 *	key destructors			key.c has noted them all along
 *	atfork handlers			ours were registered first (fork.c)
 *	descriptors, epolls, requests	asked what they are when first used (fdkind.c)
 *	children			the process's
 *	threads of libc's own		run no code of the program: else weft is on before (async.c)
 */
#include "runtime/base/moment.h"
#include "shim/process/clone.h"
#include "shim/thread/schedparam.h"
#include "shim/bind.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/libc/dlopen.h"
#include "shim/fd/fdtable.h"
#include "shim/sync/mutex.h"
#include "shim/signal/safepoint.h"
#include "shim/signal/sigroute.h"
#include "shim/thread/rseq.h"
#include "compat/glibc.h"
#include "compat/guestkind.h"
#include "compat/mainarena.h"
#include "compat/symbol.h"
#include "runtime/base/log.h"
#include "runtime/base/options.h"
#include "runtime/process.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum { STAGE_NOT_YET, STAGE_STARTING, STAGE_ACTIVE, STAGE_PLAIN };

static _Atomic int stage;

/*
 * What libc allocates or frees for our own kernel threads (spawner, sysmon) comes from main's arena.
 * To the end of the scope.
 */
static bool lends(void)
{
	return !on_g() && mainarena_borrow();
}

static void lent(const bool *borrowed)
{
	if (*borrowed)
		mainarena_return();
}

#define MAIN_ARENA bool borrowed_ __attribute__((cleanup(lent), unused)) = lends()

int thread_native(void *(*fn)(void *), void *arg, void *stack, size_t size, uintptr_t *os)
{
	int saved = errno, err;
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t t;

	MAIN_ARENA;

	/* A stack of ours: glibc then never caches it, not even in a fork child. */
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, size);
	schedparam_of_native(&attr);
	sigfillset(&all);
	real.pthread_sigmask(SIG_SETMASK, &all, &old);
	err = fromnow_holds(FROMNOW_NOMORE) || runtime_fault("kernel thread")
		      ? EAGAIN
		      : real.pthread_create(&t, &attr, fn, arg);
	real.pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		store_release(os, (uintptr_t)t);
	errno = saved;
	return -err;
}

void thread_native_join(uintptr_t os)
{
	struct moment w = { 0 };
	MAIN_ARENA;

	if (!on_g()) {
		real.pthread_join((pthread_t)os, NULL);
		return;
	}
	/* Main, alone (single.c): libc's own wait is a cancellation point. */
	while (real.pthread_tryjoin_np((pthread_t)os, NULL) == EBUSY)
		moment_wait(&w);
}

/* Main's kernel thread runs g0 too: that stack needs a thread block of its own. */
static void *newmtls(void)
{
	size_t n = (tcb_area_size() + 4095) & ~(size_t)4095;
	struct tcb_stack none = { 0 };
	void *area = MAP_FAILED;

	if (!runtime_fault("thread block of main"))
		area = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return NULL;
	none.base = area;
	none.size = n;
	/* libc changes the ids of M0 by this block: main's is passed over when main is the caller. */
	return tcb_create(area, &none, (uint32_t)direct3(SYS_gettid, 0, 0, 0));
}

static void *bury(void *unused)
{
	tcb_bury();
	return unused;
}

static void dropblock(void *tls)
{
	MAIN_ARENA;

	tcb_destroy(tls);
}

/*
 * What the allocator kept for such blocks waits for new ones; libc frees such things only when a thread
 * ends that has them, so for those that are too many one does.  (On the spawner, which alone is here.)
 */
static bool leftovers(void)
{
	enum { ORPHANS = 64, BURY_STACK = 64 * 1024 };
	static char stack[BURY_STACK] __attribute__((aligned(64)));
	uintptr_t os;

	if (tcb_orphans() <= ORPHANS || thread_native(bury, NULL, stack, BURY_STACK, &os))
		return false;
	thread_native_join(os);
	return true;
}

/*
 * Not out of a handler that interrupted the allocator or the loader: to make a kernel thread takes
 * their locks.  What comes during that park waits until the G is back (nosigthread.c).
 */
static bool start_sigthread(void)
{
	return weft_tls.depth == 0 && sigroute_start();
}

static struct tcb *registered(bool other)
{
	struct mseen mp = g_m(NULL);

	return other ? mp.g0block : mp.block;
}

static bool calling(void)
{
	return self_thread.setxid;
}

static bool knows_libc(void **tls, uint32_t *tid)
{
	compat_noproc = runtime_missing(SYS_openat, AT_FDCWD, (long)"/proc/self/status", 0) != 0;
	if (compat_init()) {
		weft_say("%s (running with plain pthreads)", compat_why());
		return false;
	}
	if (compat_setxid_wrap(registered, calling)) {
		weft_say("signal 33 cannot be wrapped (running with plain pthreads)");
		return false;
	}
	rseq_end();
	self_thread.g = NULL;
	*tls = tcb_self();
	*tid = tcb_tid(tcb_self());
	return true;
}

static const struct runtime_hooks hooks = {
	.vfork_begins = vfork_begins,
	.vfork_child = vfork_child,
	.vfork_parent = vfork_parent,
	.knows_libc = knows_libc,
	.newosproc = thread_native,
	.stacktaken = tcb_area_size,
	.joinosproc = thread_native_join,
	.gmain = thread_gmain,
	.newmtls = newmtls,
	.dropblock = dropblock,
	.leftovers = leftovers,
	.lastexit = thread_lastexit,
	.describe = describe,
	.holder = describe_holder,
	.handler_may_wake = action_may_wake,
	.cancel_may_wake = cancel_may_wake,
	.start_sigthread = start_sigthread,
	.interrupted = sigkick_arrived,
};

void options_read(char **envp)
{
	static bool done;

	if (!done)
		weft_options_init(envp);
	done = true;
}

/*
 * Without memory for one native thread there is none for weft either: the caller gets EAGAIN, and
 * may try again.
 */
static bool have_room(void)
{
	enum { ROOM = 1 << 20 };
	void *p = mmap(NULL, ROOM, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, ROOM);
	return true;
}

/* A Go program knows that its threads are Go's, and is a child more often than not: no word. */
static bool has_guest(void)
{
	struct guest guest = guestkind_find();

	if (guest.what && !(guest.program && guest.is_go))
		weft_say("threads: %s manages kernel threads itself (running with plain pthreads)",
			 guest.what);
	return guest.what != NULL;
}

/* Two of this library in one process: the first is at work, and speaks; the other passes through. */
static bool is_second(void)
{
	if (symbol_second())
		weft_say("LD_PRELOAD: names weft twice (%s is not used)", symbol_second());
	return symbol_is_second();
}

static bool start(void)
{
	struct runtime_filter filter;
	int err;

	options_read(glibc_environ());
	if (is_second() || weft_opt.disable)
		return false;
	/* First: with a guest, too, nothing is bound any more when threads run; helgrind would say so. */
	bind_all();
	find_kernel_clock();
	if (has_guest())
		return false;
	if (weft_opt.breaktcb[0])
		tcb_break = weft_opt.breaktcb;
	if (direct3(SYS_gettid, 0, 0, 0) != direct3(SYS_getpid, 0, 0, 0)) {
		weft_say("start: the first thread is made by a kernel thread that is not the main one "
			 "(running with plain pthreads)");
		return false;
	}
	err = runtime_start(&hooks);
	if (err == -EOPNOTSUPP)
		weft_say("start: a thread that blocks unseen would not be found, with neither membarrier "
			 "nor exact CPU clocks (running with plain pthreads)");
	else if (err && err != -ECANCELED)
		weft_say("start: error %d (running with plain pthreads)", -err);
	if (err)
		return false;
	thread_default_attr();
	self_thread.g = g_main();
	g_shim(g_main())->thread = &self_thread;
	threadname_init();
	cpuclock_init();
	schedparam_init();
	robust_adopt();
	safepoint_init();
	sig32_init();
	signal_init();
	dumpsig_init();
	execstack_look();
	if (runtime_filter_ask(NULL, &filter) && filter.tries)
		fdtable_tries_end();
	return true;
}

bool activate(void)
{
	int s = STAGE_NOT_YET;

	if (cas_acq_rel(&stage, &s, STAGE_STARTING)) {
		s = !have_room() ? STAGE_NOT_YET : start() ? STAGE_ACTIVE : STAGE_PLAIN;
		store_release(&stage, s);
	}
	/* compat's own probe threads, and a native thread that came at the same moment. */
	return s == STAGE_ACTIVE;
}

void activate_never(void)
{
	int s = STAGE_NOT_YET;

	cas_acq_rel(&stage, &s, STAGE_PLAIN);
}

bool activate_later(void)
{
	return load_acquire(&stage) == STAGE_NOT_YET;
}
