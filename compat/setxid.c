/*
 * setxid: glibc's signal for setuid and its family, on kernel threads whose FS is a block of ours.
 *
 * POSIX ids belong to the process and the kernel's to a thread, so glibc signals every listed
 * thread and waits until each has cleared a flag in *its own* block, found through FS.  A kernel
 * thread that runs a G would clear the G's flag, and the caller would wait for ever.  The wrapper
 * lends the handler the block that glibc knows for this kernel thread.
 *
 * The first kernel thread has two: main's, and the one of its scheduler's stack.  glibc passes over
 * the caller's own block, and main may call it on any kernel thread, from wherever it has the
 * address of the function: by the other block the first one is reached then, too.  When another
 * thread calls, both are flagged, and a signal comes for each.
 *
 * A change must be made once by each kernel thread: setuid(0) made twice changes more than made once.
 * So the second signal of such a pair is answered by a kernel thread that lives for this alone, which
 * shares all but its ids with the one that waits for it; what it answers is what the first one
 * answered.  The same is done where the caller itself runs: glibc signals that kernel thread by the
 * block of its scheduler's stack, and makes the change there once more, last, as the caller's.
 * The caller is known by two things: it has said so (shim/process/setids.c), and it alone is not flagged;
 * a caller that waits for another's change is flagged.  A caller that has libc's function by a
 * handle has not said so.  There the change is made twice, as by two calls in a row.
 *
 * All signals are blocked meanwhile: no other handler may see the borrowed FS.  SIGABRT alone is let in
 * while libc's handler runs: where the change fails in some threads alone that handler calls abort(), and
 * since 2.41 abort() does not let SIGABRT in itself.  A program's handler would not run.  The shim's
 * takes such a signal as one that comes while the scheduler is busy (shim/signal/sighandler.c).
 * Must never: read thread-local storage before FS is back, or call anything but the old handler
 * between.
 */
#include "compat/glibc.h"
#include "compat/setxid.h"
#include "compat/tcb.h"
#include "runtime/base/atomic.h"

#include <signal.h>
#include <stdbool.h>

enum { SETXID_FLAG = 64, EXITING_FLAG = 16 }; /* of cancelhandling, since glibc 2.34 and before */
enum { SETXID = 33, ACT_SIGINFO = 4, ACT_ONSTACK = 0x08000000 };

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void (*old_handler)(int, siginfo_t *, void *);
static struct tcb *(*registered_block)(bool other);
static bool (*is_calling)(void);
static struct tcb *_Atomic answers; /* the caller's block, while another kernel thread answers for it */
static int answerer;                /* the id of that one; written before the signal that reads it can come */

static bool flagged(struct tcb *t, int flags)
{
	return load_acquire(tcb_cancelhandling(t)) & flags;
}

static void run_old(siginfo_t *si, void *uc)
{
	enum { BLOCK = 0, UNBLOCK = 1 }; /* the kernel's values of SIG_BLOCK and SIG_UNBLOCK */
	static const uint64_t abort_alone = UINT64_C(1) << (SIGABRT - 1);

	sys_4(SYS_rt_sigprocmask, UNBLOCK, &abort_alone, NULL, 8);
	old_handler(SETXID, si, uc);
	sys_4(SYS_rt_sigprocmask, BLOCK, &abort_alone, NULL, 8);
}

struct answer {
	siginfo_t *si;
	void *uc;
};

static void answer(void *arg)
{
	const struct answer *a = arg;

	answerer = sys_gettid();
	run_old(a->si, a->uc);
	sys_1(SYS_exit, 0);
}

/*
 * The handler on a kernel thread of its own, on this stack, with FS as it is; the calling one waits
 * (CLONE_VFORK).  False: there can be none.
 */
__attribute__((noinline)) static bool answer_beside(siginfo_t *si, void *uc)
{
	enum {
		FLAGS = 0x100 /* VM */ | 0x200 /* FS */ | 0x400 /* FILES */ | 0x800 /* SIGHAND */ |
			0x4000 /* VFORK */ | 0x10000 /* THREAD */ | 0x40000 /* SYSVSEM */
	};
	_Alignas(16) char stack[24 * 1024]; /* a frame (11 KB with AMX) and a program's handler of SIGABRT */
	struct answer a = {si, uc};

	return arch_clone(FLAGS, stack + sizeof(stack), NULL, answer, &a) > 0;
}

static bool again; /* written on the first kernel thread alone: the second of a pair comes */

/* A signal that was to come to the parent comes to no child. */
void compat_setxid_fork_child(void)
{
	again = false;
	store_relaxed(&answers, NULL);
}

static void handler(int sig, siginfo_t *si, void *uc)
{
	struct tcb *cur = tcb_self(), *own = registered_block(false), *other = registered_block(true);
	bool caller = is_calling() && !flagged(cur, SETXID_FLAG | EXITING_FLAG), beside = caller;

	if (own && own != other) {
		if (flagged(own, SETXID_FLAG) && flagged(other, SETXID_FLAG)) {
			again = true;
		} else {
			beside |= again;
			again = false;
		}
		if (!flagged(own, SETXID_FLAG))
			own = other;
	}
	if (own && own != cur)
		arch_setfs(own);
	if (beside) {
		store_release(&answers, cur);
		beside = answer_beside(si, uc);
		store_release(&answers, NULL);
	}
	if (!beside)
		run_old(si, uc);
	if (own && own != cur)
		arch_setfs(cur);
}

/* TLS is the caller's while run() runs, and the caller waits. */
bool compat_setxid_as_caller(void (*run)(void *), void *arg)
{
	struct tcb *t = load_acquire(&answers), *own = tcb_self();

	if (!t || answerer != sys_gettid())
		return false;
	arch_setfs(t);
	run(arg);
	arch_setfs(own);
	return true;
}

int compat_setxid_wrap(struct tcb *(*registered)(bool other), bool (*calling)(void))
{
	struct kernel_sigaction sa;
	long e = sys_4(SYS_rt_sigaction, SETXID, NULL, &sa, 8);

	if (e)
		return (int)e;
	registered_block = registered;
	is_calling = calling;
	if (sa.handler == handler)
		return 0;
	/*
	 * A main that has cancelled itself before there was a second thread: libc takes that for
	 * one, and does not install its handler with the first.  Natively setuid() then kills the
	 * process.  There is nothing to wrap.
	 */
	if ((uintptr_t)sa.handler < 2)
		return 0;
	if (!(sa.flags & ACT_SIGINFO) || !sa.restorer)
		return -22; /* EINVAL */
	old_handler = sa.handler;
	sa.handler = handler;
	/* Wherever the thread is, its stack may be too small: the M's signal stack (runtime/mem/sigstack.c). */
	sa.flags |= ACT_ONSTACK;
	sa.mask = ~UINT64_C(0);
	/* The restorer stays libc's: debuggers and unwinders recognise it. */
	return (int)sys_4(SYS_rt_sigaction, SETXID, &sa, NULL, 8);
}

struct tcb *compat_registered(void)
{
	return registered_block ? registered_block(false) : NULL;
}
