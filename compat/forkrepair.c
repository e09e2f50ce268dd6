/*
 * forkrepair: what a fork child has to repair in thread blocks.
 *
 * glibc's own child code has already emptied its stack lists, put the surviving block back on the
 * one that its user-stack mark says, and re-initialised the lock.  The kernel has written the
 * child's id into the block that FS pointed to, which is a G's: its id is ours to give.  Every
 * other block of ours is off all lists and will never run; its memory is the runtime's to forget.
 *
 * Must never: be called in the parent, or before libc's own child work is done.
 */
#include "compat/glibc.h"
#include "compat/rseqfield.h"
#include "compat/setxid.h"
#include "compat/stacklist.h"
#include "compat/tcb.h"

void tcb_fork_child_orphans(void) hidden;

void tcb_fork_child(struct tcb *keep)
{
	struct list_node *n = at(keep, (ptrdiff_t)layout.list);
	struct tcb *own = compat_registered();
	bool bad = false;

	tcb_fork_child_orphans();
	*layout.lock = 0;
	/*
	 * The child inherits its kernel thread's registration, which lies in a block (and a stack)
	 * that no thread owns any more, or in keep, which will move.
	 */
	rseq_off(keep);
	if (own && own != keep)
		rseq_off(own);
	/* A raw clone, or a libc whose child does less: make it true ourselves. */
	if (!list_holds(layout.user, n, &bad) && !list_holds(layout.used, n, &bad)) {
		list_self(n);
		stacklist_insert(n);
	}
}

void tcb_fork_child_first(struct tcb *t, uint32_t tid)
{
	struct list_node *n = at(t, (ptrdiff_t)layout.list);

	list_self(n);
	stacklist_insert(n);
	tcb_set_tid(t, tid);
}
