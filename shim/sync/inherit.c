/*
 * inherit: the holder of a lock with PTHREAD_PRIO_INHERIT runs at the highest priority of those that wait
 * for the lock, and of those that wait for locks that these hold.
 *
 * A thread that parks for such a lock notes a claim.  settle() looks at all claims, finds the owner of each
 * by the id in the lock, and gives each owner the highest priority among its claimants, over chains of any
 * length; owners that have none any more get their own back.  It runs when a claim is made or withdrawn,
 * when a lock for which there may be claims gets an owner, and when an heir releases one.  Priorities are
 * kept by thread/schedparam.c, which tells the kernel.
 *
 * A priority is a kernel thread's.  So a holder stays on its M (runtime_hold()): it gets a P of its own when
 * it would have left the M, and the M's id is the holder's from before it has the lock until after it looked
 * whether it is an heir.  Both looks are Dekker's: a claim is written before the owner's id is read, and an
 * owner writes its id before it reads whether there are claims; settle() lists an heir before it reads once
 * more that the heir owns the lock, and an owner releases the lock before it reads whether it is listed.
 *
 * Only threads that have a priority make a difference, and those that hold such a lock while they wait:
 * they may inherit one.  A program without real-time threads pays for a count.
 *
 * Process-shared locks are the kernel's (FUTEX_LOCK_PI), which does all this itself.  Rejected: the kernel's
 * lock for private ones, too: each wait would hold a kernel thread, and each hand-over be two calls.
 *
 * Must never: park, or switch, with the lock held; follow a claim's word after the claim is withdrawn.
 */
#include "shim/sync/inherit.h"

#include "shim/thread/schedparam.h"

static struct shimlock lock = SHIMLOCK(Inherit);
listhead inherit_claims;          /* (L) changed */
static struct heir *heirs;        /* (L) */
__thread struct heir inherit_heir;

static struct heir *heir_of(struct thread *th)
{
	return (struct heir *)((char *)&inherit_heir + ((char *)th - (char *)&self_thread));
}

/* NULL: none now, or one that was not counted as a holder, which may be on any M. */
static struct thread *owner_of(const struct claim *c)
{
	struct thread *th = thread_by_id(load_seqcst(c->owner) & FUTEX_TID_MASK);

	return th && runtime_holds(th->g, 0) ? th : NULL;
}

static int priority_of(const struct claim *c)
{
	int own = schedparam_priority(c->th), got = heir_of(c->th)->want;

	return own > got ? own : got;
}

/* Lists the owners that are not.  A claim that claims nothing for any thread costs no search. */
static void list_owners(void)
{
	LIST_EACH(struct claim, c, &inherit_claims, link) {
		struct thread *th = owner_of(c);
		struct heir *h = th ? heir_of(th) : NULL;

		if (!h || load_relaxed(&h->listed))
			continue;
		h->th = th;
		h->next = heirs;
		heirs = h;
		store_relaxed(&h->listed, true);
	}
	/* seq_cst: owners that release now see themselves listed, or are seen to own nothing. */
	fence_seqcst();
}

/* What each heir is to have.  False: a lock has got an owner meanwhile that is not listed. */
static bool work_out(void)
{
	bool more;

	for (struct heir *h = heirs; h; h = h->next)
		h->want = 0;
	do {
		more = false;
		LIST_EACH(struct claim, c, &inherit_claims, link) {
			struct thread *th = owner_of(c);
			int priority = priority_of(c);

			if (!th)
				continue;
			if (!load_relaxed(&heir_of(th)->listed))
				return false;
			if (heir_of(th)->want < priority) {
				heir_of(th)->want = priority;
				more = true;
			}
		}
	} while (more);
	return true;
}

static bool matters(void)
{
	if (heirs)
		return true;
	LIST_EACH(struct claim, c, &inherit_claims, link)
		if (schedparam_priority(c->th))
			return true;
	return false;
}

static void settle(void)
{
	struct heir **link = &heirs, *h;

	/* seq_cst: between a claim and the look at its owner, see inherit_claims. */
	fence_seqcst();
	if (!matters())
		return;
	do
		list_owners();
	while (!work_out());
	while ((h = *link)) {
		schedparam_inherits(h->th, h->want);
		if (h->want) {
			link = &h->next;
		} else {
			*link = h->next;
			store_relaxed(&h->listed, false);
		}
	}
}

void inherit_settle(void)
{
	shimlock(&lock);
	settle();
	shimunlock(&lock);
}

void inherit_claim(struct claim *c, const int *owner)
{
	c->owner = owner;
	/* The lock that it waits for is counted. */
	c->th = on_g() && ((schedparam_ordered() && schedparam_priority(&self_thread)) || runtime_holds(getg(), 1))
			? &self_thread
			: NULL;
	if (likely(!c->th))
		return;
	shimlock(&lock);
	list_put(&inherit_claims, &c->link);
	settle();
	shimunlock(&lock);
}

void inherit_unclaim(struct claim *c)
{
	if (likely(!c->th))
		return;
	shimlock(&lock);
	list_take(&c->link);
	settle();
	shimunlock(&lock);
}

void inherit_begin(void)
{
	if (on_g())
		self_thread.leaves_more = true;
	runtime_hold();
}

void inherit_thread_ends(void)
{
	while (on_g() && runtime_holds(getg(), 0))
		runtime_release(true);
	/* seq_cst, as holds: settle() lists this thread before, or finds that it holds nothing. */
	fence_seqcst();
	if (load_seqcst(&inherit_heir.listed))
		inherit_settle();
}

void inherit_fork_child(void)
{
	shimlock_fork_child(&lock);
	store_relaxed(&inherit_claims, NULL);
	heirs = NULL;
	store_relaxed(&inherit_heir.listed, false);
}
