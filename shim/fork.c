/*
 * fork: fork, _Fork and vfork from any G on any M.
 *
 * libc's fork runs the atfork handlers around its own work, so ours are handlers too, registered before
 * anybody else's (this library is initialised first): prepare then runs last and child first.  _Fork runs no
 * handlers and is wrapped.  vfork becomes _Fork: its child would share this memory, and what it does before exec (close,
 * dup2) would run the parent's scheduler from another process.
 */
#include "shim/dl.h"
#include "shim/mutex.h"
#include "shim/netfd.h"
#include "shim/sched.h"
#include "shim/thread.h"

static void prepare(void)
{
	if (on_g())
		runtime_fork_prepare();
}

static void parent(void)
{
	if (on_g())
		runtime_fork_parent();
}

/* The kernel has written the child's id into this thread's block. */
static void child(void)
{
	if (!on_g())
		return;
	/* First: it ends what the kernel still writes for the M that forked, which runtime_mtls() names. */
	tcb_fork_child(tcb_self(), (uint32_t)getpid());
	netfd_fork_child();
	runtime_fork_child();
	self_thread.g = getg();
	dl_fork_child();
	robust_fork_child();
	signal_fork_child();
	dumpsig_fork_child();
	osthread_showname();
	sched_fork_child();
}

static void __attribute__((constructor(101))) register_handlers(void)
{
	pthread_atfork(prepare, parent, child);
}

EXPORT pid_t _Fork(void)
{
	pid_t pid;

	prepare();
	pid = real._Fork();
	if (pid == 0)
		child();
	else
		parent();
	return pid;
}

EXPORT pid_t vfork(void)
{
	/* Off a G nothing of ours runs in the child; but the stack frame of this call would be shared. */
	return _Fork();
}
