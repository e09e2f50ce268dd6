/*
 * sigpending: the list of sigpending.h.
 *
 * One list, in which each number's stand together, and the first of them knows the last: a walk
 * meets each number once, and there are 64 at most.  (Rejected: a list in order of arrival, searched
 * by each taker; with thousands queued that was all a process did.)
 *
 * Must never: call anything.
 */
#include "shim/signal/sigpending.h"

#include "shim/signal/sigroute.h"

/* As the kernel's next_signal(): those that a fault makes go before all others. */
static int turn(int sig)
{
	const uint64_t faults = SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) |
				SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | SIGBIT(SIGSYS);

	return faults & SIGBIT(sig) ? sig : sig + 64;
}

void sigpending_put(struct signode **held, struct signode *n)
{
	struct signode **link = held, *first;

	while ((first = *link) && turn(first->sig) < turn(n->sig))
		link = &first->last->next;
	if (first && first->sig == n->sig) {
		n->next = first->last->next;
		first->last->next = n;
		first->last = n;
	} else {
		n->next = first;
		n->last = n;
		*link = n;
	}
}

struct signode *sigpending_take(struct signode **held, uint64_t set)
{
	struct signode **link = held, *first;

	while ((first = *link) && !(set & SIGBIT(first->sig)))
		link = &first->last->next;
	if (first) {
		*link = first->next;
		if (first != first->last)
			first->next->last = first->last;
	}
	return first;
}

static bool has_shared(const struct signode *first)
{
	for (const struct signode *n = first;; n = n->next)
		if (n->shared || n == first->last)
			return n->shared;
}

struct signode *sigpending_take_shared(struct signode **held, uint64_t set)
{
	struct signode **link = held, *first, *before = NULL, *n;

	while ((first = *link) && !((set & SIGBIT(first->sig)) && has_shared(first)))
		link = &first->last->next;
	if (!first || first->shared)
		return sigpending_take(link, set);
	for (n = first; !n->shared; n = n->next)
		before = n;
	before->next = n->next;
	if (first->last == n)
		first->last = before;
	return n;
}

int sigpending_first(const struct signode *held, uint64_t set)
{
	while (held && !(set & SIGBIT(held->sig)))
		held = held->last->next;
	return held ? held->sig : 0;
}

uint64_t sigpending_set(const struct signode *held)
{
	uint64_t set = 0;

	for (; held; held = held->last->next)
		set |= SIGBIT(held->sig);
	return set;
}

bool sigpending_has(const struct signode *held, int sig, bool shared)
{
	while (held && held->sig != sig)
		held = held->last->next;
	while (held && held->sig == sig && held->shared != shared)
		held = held->next;
	return held && held->sig == sig;
}
