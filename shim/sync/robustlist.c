/*
 * robustlist: lists of held futex words, registered by number with set_robust_list(2).
 *
 * The kernel walks such a list when a kernel thread ends, and finds the words that hold its id.  A G
 * is no kernel thread: its list is walked here, when it ends, by the kernel's rules: at most 2,048
 * entries; a word that holds the thread's id gets FUTEX_OWNER_DIED, and one waiter is woken.  What
 * cannot be read ends the walk.  A word that inherits (bit 0 of its link) goes to its next owner in
 * futexpi.c, which comes after this.
 *
 * The list that libc registers for its own mutexes is in the thread's block, and mutex_robust.c does not
 * use it: it stays what get_robust_list() tells a thread that has registered none.
 *
 * So is the word of set_tid_address(2): it becomes 0 when the G ends, and one waiter is woken.
 *
 * Must never: touch a word that does not hold the id of the calling thread, but that one.
 */
#include "shim/sync/futex.h"
#include "shim/thread/tid.h"
#include "shim/sync/sync.h"
#include "shim/thread/thread.h"
#include "shim/syscall/usermem.h"

enum { LIST_LIMIT = 2048 }; /* ROBUST_LIST_LIMIT of the kernel */

long sets_robust_list(const struct call *x)
{
	if (x->b != sizeof(struct robust_list_head))
		return -EINVAL;
	self_thread.robustlist = (struct robust_list_head *)x->a;
	self_thread.robustlist_set = true;
	self_thread.leaves_more = true;
	return 0;
}

long reads_robust_list(const struct call *x)
{
	struct thread *th = x->a ? thread_by_id(x->a) : &self_thread;
	const struct robust_list_head *head;
	size_t size = sizeof(*head);

	if (!th)
		return call_plain(x); /* not a thread of ours */
	head = th->robustlist_set ? th->robustlist : tcb_robust_list(g_tls(th->g));
	if (!user_write((void *)x->c, &size, sizeof(size)) || !user_write((void *)x->b, &head, sizeof(head)))
		return -EFAULT;
	return 0;
}

/* The kernel takes the word for a shared one: a waiter with FUTEX_PRIVATE_FLAG sleeps on, there and here. */
static void wake_one(uint32_t *word)
{
	direct(SYS_futex, (long)word, FUTEX_WAKE, 1, 0, 0, 0);
}

/* False: the word cannot be there.  seq_cst, as the kernel's own exchange of it. */
static bool owner_dies(uint32_t *word, bool inherits, bool pending)
{
	uint32_t value, dead;
	long err;

	if (futex_bad_word(word, &err) || !user_read(&value, word, sizeof(value)))
		return false;
	/* Unlocked, and the thread ended before it woke the next. */
	if (pending && !inherits && !value)
		wake_one(word);
	do {
		if ((value & FUTEX_TID_MASK) != weft_tls.tid)
			return true;
		dead = (value & FUTEX_WAITERS) | FUTEX_OWNER_DIED;
	} while (!cas_seqcst(word, &value, inherits ? value | FUTEX_OWNER_DIED : dead));
	if (!inherits && (value & FUTEX_WAITERS))
		wake_one(word);
	return true;
}

static inline uint32_t *word_of(uintptr_t link, long offset)
{
	return (uint32_t *)((link & ~1UL) + (uintptr_t)offset);
}

void robustlist_thread_ends(void)
{
	const struct robust_list_head *from = self_thread.robustlist;
	struct robust_list_head head;
	uintptr_t l, next, pending;

	if (likely(!from))
		return;
	self_thread.robustlist = NULL;
	if (!user_read(&head, from, sizeof(head)))
		return;
	l = (uintptr_t)head.list.next;
	pending = (uintptr_t)head.list_op_pending;
	for (int i = 0; i < LIST_LIMIT && (l & ~1UL) != (uintptr_t)&from->list; i++, l = next) {
		bool there = user_read(&next, (void *)(l & ~1UL), sizeof(next));

		if ((l & ~1UL) != (pending & ~1UL) &&
		    !owner_dies(word_of(l, head.futex_offset), l & 1, false))
			return;
		if (!there)
			return;
	}
	if (pending)
		owner_dies(word_of(pending, head.futex_offset), pending & 1, true);
}

/* libc's own word, which a thread has that named none: its joiner is told otherwise. */
static uint32_t *usual_word(void)
{
	return tcb_tid_word(tcb_self());
}

long sets_tid_address(const struct call *x)
{
	uint32_t *word = (uint32_t *)x->a;

	self_thread.cleared_tid = word == usual_word() ? NULL : word;
	self_thread.no_tid_word = !word;
	self_thread.leaves_more = true;
	return weft_tls.tid;
}

/* The kernel has that of the M: whoever got it and gave it back would end the M in the eyes of what joins it. */
long reads_tid_address(const struct call *x)
{
	uint32_t *word = self_thread.cleared_tid || self_thread.no_tid_word ? self_thread.cleared_tid : usual_word();
	long r = call_plain(x);

	return r == 0 && !user_write((void *)x->b, &word, sizeof(word)) ? -EFAULT : r;
}

/* Last, as in the kernel: what waits for it finds all words of the lists as the thread left them. */
void cleared_tid_thread_ends(void)
{
	uint32_t *word = self_thread.cleared_tid;
	long err;

	self_thread.no_tid_word = false;
	if (likely(!word))
		return;
	self_thread.cleared_tid = NULL;
	if (futex_bad_word(word, &err) || !user_word_writable(word))
		return;
	store_seqcst(word, 0); /* seq_cst: a waiter queues itself in the kernel, then reads it */
	wake_one(word);
}
