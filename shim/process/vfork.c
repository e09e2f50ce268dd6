/*
 * vfork: the child shares the caller's memory and stack, the caller waits for its exec or end.
 *
 * Programs use the sharing: a child that could not exec leaves errno in a variable of its parent's.
 * Before weft runs libc's own function does it all.  Afterwards the child must not look like the G
 * that made it: what it does before exec (close, dup2, sigaction) would run the parent's scheduler
 * from another process.  So weft_tls, which both share, says meanwhile that this is no G and has
 * descriptors and dispositions of its own, as clone_alone() in clone.c does for clone(2).
 *
 * No signal is let in by the parent until weft_tls is the G's again.
 *
 * Rejected: a fork whose parent waits.  No thread then sees the child's writes.
 *
 * Must never: have a frame when runtime_vfork() begins (the calls of vfork() are jumps); hold
 * anything in memory that a child might overwrite.
 */
#include "runtime/process.h"
#include "shim/signal/altstack.h"
#include "shim/process/clone.h"
#include "shim/syscall/rawsyscall.h"
#include "shim/signal/sigroute.h"

/*
 * Of the thread whose block this is, while its child runs.  A child that calls vfork() again finds
 * it used: its own weft_tls is that of its child.
 */
static __thread struct {
	bool used;
	struct weft_tls tls;
} outer;

void vfork_fork_child(void)
{
	outer.used = false;
}

struct vforked vfork_begins(void)
{
	struct vforked v;

	lockosthread(LOCK_CHILD, 0);
	entersyscall();
	v.mask = fork_begins();
	v.nested = outer.used;
	if (!outer.used) {
		outer.tls = weft_tls;
		outer.used = true;
		weft_tls = (struct weft_tls){.unshared = UNSHARED_FILES | UNSHARED_SIGHAND};
	}
	return v;
}

void vfork_child(struct vforked v)
{
	altstack_release();
	fork_ends(false, v.mask);
}

int vfork_parent(long r, struct vforked v)
{
	if (!v.nested) {
		weft_tls = outer.tls;
		outer.used = false;
	}
	fork_ends(false, v.mask);
	exitsyscall();
	child_made((pid_t)r);
	return (int)syscall_ret(r);
}

EXPORT JUMPING pid_t vfork(void)
{
	if (!weft_on)
		TAIL real.vfork();
	TAIL runtime_vfork();
}
ALIAS(__vfork, vfork);
