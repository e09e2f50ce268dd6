/*
 * actiontable: the last handler of each signal, and what goes with it, for handlers that read it.
 *
 * A reader takes no lock: it may be a handler that interrupted a writer.  Of two copies the writer
 * fills the one that is not current, then makes it so; a reader that finds the version moved on
 * reads again.  The writer that a reader interrupted does not move it on.  A copy is read while it may be written,
 * in words; what was read then is thrown away.
 *
 * Must never: wait; call anything.
 */
#include "shim/signal/sigroute.h"

#include <string.h>

enum { ACTION_WORDS = sizeof(struct sigaction) / sizeof(uint64_t) };
_Static_assert(ACTION_WORDS * sizeof(uint64_t) == sizeof(struct sigaction), "an action is whole words");

/* Aligned, so that none lies in two pages, which a fork may copy at two moments. */
static struct action {
	/* release and acquire with the copies: a reader that sees a copy current sees all of it */
	_Atomic uint32_t version; /* written under rank Actions; copies[version % 2] is current */
	_Atomic uint64_t copies[2][ACTION_WORDS];
} __attribute__((aligned(512))) actions[NSIG_ + 1];

void action_get(int sig, struct sigaction *sa)
{
	struct action *a = &actions[sig];
	uint64_t words[ACTION_WORDS];
	uint32_t version;

	do {
		version = load_acquire(&a->version);
		for (size_t k = 0; k < ACTION_WORDS; k++)
			words[k] = load_acquire(&a->copies[version % 2][k]); /* before the second look at version */
	} while (load_relaxed(&a->version) != version);
	memcpy(sa, words, sizeof(*sa));
}

int action_flags(int sig)
{
	struct sigaction sa;

	action_get(sig, &sa);
	return sa.sa_flags;
}

/* Release: a reader that sees a word of this copy sees that version has moved on since it was current. */
void action_put(int sig, const struct sigaction *sa)
{
	struct action *a = &actions[sig];
	uint32_t next = load_relaxed(&a->version) + 1;
	uint64_t words[ACTION_WORDS];

	memcpy(words, sa, sizeof(words));
	for (size_t k = 0; k < ACTION_WORDS; k++)
		store_release(&a->copies[next % 2][k], words[k]);
	store_release(&a->version, next);
}
