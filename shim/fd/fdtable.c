/*
 * fdtable: the table of descriptors: a slot for each number, and which of them no G parks for.
 *
 * Here a slot is found, made and visited; what stands in it is fdkind.c's (what the number is), fdflags.c's
 * (may a call wait?) and fdlife.c's (closed, made anew).
 *
 * What does not pass through this library (libc's own closes, system calls in assembly) is
 * survived: a wrong kind shows in the first call's error, and before a park that follows a call
 * that would block, the registered file is compared with the open one.
 *
 * Must never: give a slot back, for a waiter may have it.
 */
#include "shim/fd/fdask.h"
#include "shim/syscall/tablepart.h"

void *_Atomic fdtable_chunks[SLOTS_CHUNKS]; /* of fdslots */
/*
 * seq_cst with the slot's barred and pd: fdslot_bar() adds here before it wakes the waiters, which
 * read it
 */
static _Atomic uint32_t bars;
_Atomic bool fdtable_notries;

struct fdslot *fdslot_make(int fd)
{
	if (fd < 0 || fd >= SLOTS_MAX || runtime_fault("table of descriptors") ||
	    !tablepart(&fdtable_chunks[fd / SLOTS_CHUNK], SLOTS_CHUNK * sizeof(struct fdslot)))
		return NULL;
	return fdslot_known(fd);
}

void fdtable_each(void (*fn)(struct fdslot *s, int fd))
{
	for (int i = 0; i < SLOTS_CHUNKS; i++) {
		struct fdslot *chunk = load_acquire(&fdtable_chunks[i]);

		for (int k = 0; chunk && k < SLOTS_CHUNK; k++)
			if ((load_seqcst(&chunk[k].state) & 0xff) != FDK_NEW || load_seqcst(&chunk[k].poll.pd))
				fn(&chunk[k], i * SLOTS_CHUNK + k);
	}
}

/* ---- no G parks for it ----------------------------------------------------------------------- */

static void retry_all(struct fdslot *s, int fd)
{
	netpoll_changed(&s->poll, fd, NETPOLL_RETRY);
}

/* One that has no P needs the caller's.  A handler may have left such a call by a jump: hence the bound. */
void fdtable_await_asking(void)
{
	struct moment w = { 0 };
	uint32_t at = 0;

	for (struct g *gp; (gp = g_next(&at));) {
		struct thread *th = gp == getg() ? NULL : g_shim(gp)->thread;

		while (th && load_acquire(&th->asking) && !moment_over(&w, STANDSTILL_NS))
			thread_turn(&w);
	}
}

/* A waiter for several sees that something was barred; a waiter for one sees it at its next try. */
void fdtable_tries_end(void)
{
	store_seqcst(&fdtable_notries, true); /* before the count, and before a waiter is woken */
	fetch_add_seqcst(&bars, 1);
	if (weft_on)
		fdtable_each(retry_all);
}

void fdslot_bar(struct fdslot *s, int fd)
{
	fetch_add_seqcst(&bars, 1); /* before the waiters are woken, for they read it */
	if (weft_on)
		netpoll_changed(&s->poll, fd, NETPOLL_BARS);
	else
		fetch_add_seqcst(&s->poll.barred, 1);
}

uint32_t fdtable_bars(void)
{
	return load_seqcst(&bars);
}

void fdslot_unbar(struct fdslot *s)
{
	netpoll_unbar(&s->poll);
}

bool fdslot_is_barred(const struct fdslot *s)
{
	return load_seqcst(&s->poll.barred) || fdslot_kindnow(s) == FDK_FILE;
}

/* ---- a fork child ---------------------------------------------------------------------------- */

static void reset(struct fdslot *s)
{
	store_relaxed(&s->poll.pd, NULL);
	store_relaxed(&s->poll.closing, 0);
	store_relaxed(&s->memo[0].key, 0);
	store_relaxed(&s->memo[1].key, 0);
}

/*
 * Nothing is watched in the child, and no thread is in the middle of a call.  A slot that is blank is not
 * written: each page would be memory of its own in every child.
 */
void fdtable_fork_child(void)
{
	for (int i = 0; i < SLOTS_CHUNKS; i++) {
		struct fdslot *chunk = load_relaxed(&fdtable_chunks[i]);

		for (struct fdslot *s = chunk; s && s < chunk + SLOTS_CHUNK; s++)
			if (load_relaxed(&s->poll.pd) || load_relaxed(&s->poll.closing) ||
			    load_relaxed(&s->memo[0].key) || load_relaxed(&s->memo[1].key))
				reset(s);
	}
}
