/*
 * stacklist: glibc's list of thread blocks, under glibc's lock.
 *
 * The lock is glibc's low-level lock: 0 free, 1 held, 2 held with (perhaps) a sleeper on a private
 * futex. The self-test has seen glibc itself move the word from 1 to 2 under contention before
 * anything here is written (selftest.c), so both sides agree on the protocol.
 *
 * fork may happen while another thread is inside these sections, because glibc's fork does not take
 * the lock: its child re-initialises lock and lists, and unlinks only the forking thread's own
 * node.  Every order of stores below leaves the neighbours' links pointing at mapped nodes, so that
 * unlink is safe.
 *
 * Must never: be called with that lock held; block while holding it.
 */
#include "compat/stacklist.h"
#include "compat/tcb.h"
#include "runtime/base/atomic.h"

#include <errno.h>

void stacklist_lock(void)
{
	int *w = layout.lock, v = 0;

	if (cas_acquire(w, &v, 1))
		return;
	/* From here on the word is left at 2: another thread may sleep. */
	while (exchange_acquire(w, 2) != 0)
		sys_futex_wait(w, 2, 0);
}

void stacklist_unlock(void)
{
	if (exchange_release(layout.lock, 0) > 1)
		sys_futex_wake(layout.lock, 1);
}

void stacklist_insert(struct list_node *n)
{
	struct list_node *head = layout.user;

	stacklist_lock();
	n->next = head->next;
	n->prev = head;
	head->next->prev = n;
	/* A debugger or a fork child walks forward only: n is complete before it is reachable. */
	store_release(&head->next, n);
	stacklist_unlock();
}

void stacklist_remove(struct list_node *n)
{
	stacklist_lock();
	/* glibc's fork child replays a removal that it finds announced here. */
	store_relaxed(layout.in_flight, (uintptr_t)n);
	fence_compiler();
	n->next->prev = n->prev;
	n->prev->next = n->next;
	fence_compiler();
	store_relaxed(layout.in_flight, 0);
	stacklist_unlock();
	list_self(n);
}

bool list_holds(const struct list_node *head, const struct list_node *n, bool *broken)
{
	const struct list_node *p = head;
	bool found = false;

	for (int i = 0; i < 1000000; i++) {
		if (!p->next || p->next->prev != p) {
			*broken = true;
			return found;
		}
		p = p->next;
		if (p == head)
			return found;
		if (p == n)
			found = true;
	}
	*broken = true; /* no end */
	return found;
}

/*
 * A thread that was not joined stays listed; and not every libc clears its id.  The first thread of
 * a process is none of libc's: in a fork child, libc lists the block of the thread that forked.
 */
static bool alive(uint32_t id)
{
	long pid = sys_getpid();

	return id && id != (uint32_t)pid && sys_3(SYS_tgkill, pid, id, 0) != -ESRCH;
}

uint32_t *tcb_other(uint32_t *id)
{
	uint32_t *found = NULL;

	stacklist_lock();
	for (struct list_node *n = layout.used->next; n != layout.used && !found; n = n->next) {
		uint32_t *word = at(n, (ptrdiff_t)layout.tid - (ptrdiff_t)layout.list);

		*id = load_relaxed(word);
		if (alive(*id))
			found = word;
	}
	stacklist_unlock();
	return found;
}
