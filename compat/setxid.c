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
 * thread calls, both are flagged, and a signal comes for each.  The handler takes them in turn;
 * glibc signals again whom it finds flagged still, so each comes to its turn.
 *
 * All signals are blocked meanwhile: no other handler may see the borrowed FS.
 * Must never: read thread-local storage before FS is back, or call anything but the old handler
 * between.
 */
#include "compat/glibc.h"
#include "compat/setxid.h"
#include "compat/tcb.h"

#include <signal.h>
#include <stdbool.h>

enum { SETXID = 33, ACT_SIGINFO = 4, ACT_ONSTACK = 0x08000000 };

struct kernel_sigaction {
	void (*handler)(int, siginfo_t *, void *);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void (*old_handler)(int, siginfo_t *, void *);
static struct tcb *(*registered_block)(bool other);

static void handler(int sig, siginfo_t *si, void *uc)
{
	static bool turn; /* written on the first kernel thread alone */
	struct tcb *cur = tcb_self(), *own = registered_block(false), *other = registered_block(true);

	if (own != other && (turn = !turn))
		own = other;

	if (own && own != cur)
		sys_set_fs(own);
	old_handler(sig, si, uc);
	if (own && own != cur)
		sys_set_fs(cur);
}

int compat_setxid_wrap(struct tcb *(*registered)(bool other))
{
	struct kernel_sigaction sa;
	long e = sys_4(SYS_rt_sigaction, SETXID, NULL, &sa, 8);

	if (e)
		return (int)e;
	registered_block = registered;
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
	/* Wherever the thread is, its stack may be too small: the M's signal stack (runtime/sigstack.c). */
	sa.flags |= ACT_ONSTACK;
	sa.mask = ~UINT64_C(0);
	/* The restorer stays libc's: debuggers and unwinders recognise it. */
	return (int)sys_4(SYS_rt_sigaction, SETXID, &sa, NULL, 8);
}

struct tcb *compat_registered(void)
{
	return registered_block ? registered_block(false) : NULL;
}
