/*
 * signode: the memory of signals that are queued on threads.
 *
 * Must never: wait, or be given back: a sender may be a handler.
 */
#include "shim/signal/sigforget.h"
#include "shim/signal/sigpending.h"
#include "shim/syscall/tablepart.h"

/*
 * From memory of our own: a sender may be a handler.  More undelivered signals than NODES is EAGAIN,
 * as RLIMIT_SIGPENDING: so many as the ring holds (sigring.c).  They are mapped by the PART, as more are used at once.
 */
enum { NODES = 131072, PART = 256 };

static void *_Atomic nodes[NODES / PART];

static _Atomic uint32_t nodes_there; /* mapped: whole parts, from the first on */

static _Atomic uint32_t rover;

/* at least so many: a sender that finds them all taken need not look at each */
/* seq_cst with the mailboxes: a node is counted here before it is queued there; sigforget() reads this first */
static _Atomic int32_t nodes_used;

static struct signode *node_at(uint32_t i)
{
	struct signode *part = load_acquire(&nodes[i / PART]);

	return &part[i % PART];
}

/* There are want, or as many as there is memory for: how many. */
static uint32_t nodes_for(uint32_t want)
{
	uint32_t there;

	while ((there = load_acquire(&nodes_there)) < want &&
	       tablepart(&nodes[there / PART], PART * sizeof(struct signode)))
		cas_acq_rel(&nodes_there, &there, there + PART);
	return there;
}

struct signode *signode_get(void)
{
	uint32_t mine = (uint32_t)fetch_add_seqcst(&nodes_used, 1) + 1;

	if (mine > NODES || nodes_for(mine) < mine) {
		fetch_sub_seqcst(&nodes_used, 1);
		return NULL;
	}
	/*
	 * One of the nodes that are mapped now is free, or about to be.  A caller that is overtaken
	 * while it searches goes round again.
	 */
	for (;;) {
		struct signode *n = node_at(fetch_add_relaxed(&rover, 1) % load_acquire(&nodes_there));
		uint32_t unused = 0;

		if (!load_relaxed(&n->used) &&
		    cas_acq_rel(&n->used, &unused, 1))
			return n;
	}
}

void signode_put(struct signode *n)
{
	store_release(&n->used, 0);
	fetch_sub_seqcst(&nodes_used, 1);
}

/* It was not taken. */
void signode_drop(struct signode *n)
{
	overrun_dropped(n->of);
	signode_put(n);
}

bool signals_queued(void)
{
	return load_seqcst(&nodes_used) != 0;
}

uint64_t signals_waiting(void)
{
	return (uint64_t)load_seqcst(&nodes_used);
}

/* The senders of the parent are gone. */
void signode_fork_child(void)
{
	uint32_t there = 0;

	/* Counted in a page that was copied late, the part's address in one that was copied before. */
	for (; there < NODES && load_relaxed(&nodes[there / PART]); there++)
		store_relaxed(&node_at(there)->used, 0);
	store_relaxed(&nodes_there, there);
	store_relaxed(&nodes_used, 0);
}
