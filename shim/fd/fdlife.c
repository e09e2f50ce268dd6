/*
 * fdlife: the lives of descriptors' numbers: each begins when the number is made or closed.
 *
 * What was learnt of a number is of one life.  fdevents.c tells here what each call does to it.
 *
 * Must never: miss that a number names another file from now on: a wait would go to that one.
 */
#include "shim/fd/fdtable.h"

/* The life first: what is learned from here on is of the next one. */
static void next_gen(struct fdslot *s)
{
	uint32_t was = load_seqcst(&s->state);

	while (!cas_weak_seqcst(&s->state, &was, ((was >> 8) + 1) << 8 | FDK_NEW))
		;
}

static bool noted(const struct fdslot *s)
{
	return fdslot_kindnow(s) != FDK_NEW || load_relaxed(&s->poll.pd);
}

/*
 * Before the start nothing is watched, and the runtime cannot be asked.  Afterwards each number
 * that is closed is marked: another thread may begin to wait for it between here and the call.  A
 * number without a slot (a program that closes all numbers there are) gets none: for the time of
 * its call no number is watched under its own name.
 */
struct fdslot *fdtable_closing(int fd)
{
	struct fdslot *s = fdslot_known(fd);

	if (weft_on && !s) {
		netpoll_closing(NULL, fd);
		s = fdslot_known(fd); /* its slot is there, or is made by one that sees the count */
		if (s)
			netpoll_closed(NULL);
	}
	if (!s)
		return NULL;
	if (load_relaxed(&s->alone))
		store_release(&s->alone, 0);
	if (load_relaxed(&s->peer))
		store_relaxed(&s->peer, 0);
	/*
	 * A thread that looks at a number of which nothing is known does so after this, and still
	 * in this life of the number.
	 */
	if (noted(s))
		next_gen(s);
	if (weft_on)
		netpoll_closing(&s->poll, fd);
	return s;
}

void fdtable_closed(struct fdslot *s)
{
	if (!weft_on)
		return;
	if (!s) {
		netpoll_closed(NULL);
		return;
	}
	/* What was learned of the old file since fdtable_closing() goes, too. */
	next_gen(s);
	netpoll_closed(&s->poll);
}

static void each_between(unsigned int from, unsigned int to, void (*fn)(struct fdslot *, int))
{
	for (unsigned int i = from; i <= to && i < SLOTS_MAX; i++) {
		struct fdslot *s = fdslot_known((int)i);

		if (s)
			fn(s, (int)i);
		else
			i |= SLOTS_CHUNK - 1; /* the chunk has nothing */
	}
}

static void relearn(struct fdslot *s, int fd)
{
	(void)fd;
	if (noted(s))
		next_gen(s);
}

static void end(struct fdslot *s, int fd)
{
	store_release(&s->alone, 0);
	store_relaxed(&s->peer, 0);
	relearn(s, fd);
	if (weft_on)
		netpoll_changed(&s->poll, fd, NETPOLL_KEEPS);
}

void fdtable_closing_range(unsigned int from, unsigned int to)
{
	if (weft_on)
		netpoll_closing(NULL, -1);
	each_between(from, to, end);
}

void fdtable_closed_range(unsigned int from, unsigned int to)
{
	each_between(from, to, relearn);
	if (weft_on)
		netpoll_closed(NULL);
}

void fdtable_made(int fd, uint32_t was_alone)
{
	struct fdslot *s = fdslot_there(fd);

	if (!s)
		return;
	/* Closed out of our sight: what we knew of the number is of a file that is gone. */
	if (unlikely(noted(s))) {
		next_gen(s);
		if (weft_on)
			netpoll_changed(&s->poll, fd, NETPOLL_GONE);
	}
	store_release(&s->alone, was_alone);
	if (load_relaxed(&s->peer))
		store_relaxed(&s->peer, 0);
}
