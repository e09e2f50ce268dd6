/*
 * sigrequeue: a signal that no G wants now goes back to the kernel, and keeps its siginfo.
 *
 * It must stay pending for the process as POSIX wants (sigpending, sigwait, signalfd, exec).  But
 * only the main thread may queue a siginfo that says kill(), a terminal or a child (si_code not
 * negative): from any other thread it is EPERM.  So such a signal is queued as SI_QUEUE with a
 * ticket for its value.  A caller that gets a ticket from the kernel (the trampoline, sigtimedwait)
 * exchanges it for the siginfo of before.
 *
 * A standard signal is pending once, so each has a slot; real-time ones share the others in turn.
 * A slot taken over by a later signal leaves the first with an honest sender and SI_QUEUE, as does
 * a signalfd, which reads past us.
 *
 * Must never: wait: the signal thread gives back, and threads that end, at once.
 */
#include "shim/signal/sigroute.h"

#include <errno.h>
#include <string.h>

enum { FIRST_RT = 34, REQUEUE_SLOTS = 256 };
#define TICKET_MARK 0x5765667400000000UL /* "Weft" */

/*
 * seqs: odd while the slot is written; a ticket names the slot and the seq it was written with.  Apart from
 * what they count, for the child of a fork looks at all of them, and a page of each would be mapped for it.
 * infos are read while they may be written, in words; what was read then is thrown away.
 */
enum { INFO_WORDS = sizeof(siginfo_t) / sizeof(uint64_t) };
static _Atomic uint32_t seqs[REQUEUE_SLOTS];
static _Atomic uint64_t infos[REQUEUE_SLOTS][INFO_WORDS];
static _Atomic uint32_t turn;
_Static_assert(INFO_WORDS * sizeof(uint64_t) == sizeof(siginfo_t), "a siginfo is whole words");

/* Release: a reader that sees a word of this one sees the odd seq, too. */
static void info_write(uint32_t i, const siginfo_t *si)
{
	uint64_t words[INFO_WORDS];

	memcpy(words, si, sizeof(words));
	for (size_t k = 0; k < INFO_WORDS; k++)
		store_release(&infos[i][k], words[k]);
}

/* Acquire: before the second look at seq. */
static void info_read(uint32_t i, siginfo_t *si)
{
	uint64_t words[INFO_WORDS];

	for (size_t k = 0; k < INFO_WORDS; k++)
		words[k] = load_acquire(&infos[i][k]);
	memcpy(si, words, sizeof(words));
}

static uint64_t keep(int sig, const siginfo_t *si)
{
	uint32_t i = (uint32_t)sig, seq;

	if (sig >= FIRST_RT)
		i = FIRST_RT + fetch_add_relaxed(&turn, 1) % (REQUEUE_SLOTS - FIRST_RT);
	seq = load_acquire(&seqs[i]);
	if (seq % 2 || !cas_acq_rel(&seqs[i], &seq, seq + 1))
		return 0; /* another thread writes the slot: no ticket */
	info_write(i, si);
	store_release(&seqs[i], seq + 2);
	return TICKET_MARK | ((seq + 2) & 0xffffff) << 8 | i;
}

bool sigroute_requeue(int sig, siginfo_t *si)
{
	pid_t pid = (pid_t)direct3(SYS_getpid, 0, 0, 0);
	siginfo_t ticket;

	if (si->si_code < 0 && si->si_code != SI_TKILL)
		return direct3(SYS_rt_sigqueueinfo, pid, sig, si) != -EAGAIN;
	memset(&ticket, 0, sizeof(ticket));
	ticket.si_signo = sig;
	ticket.si_code = SI_QUEUE;
	ticket.si_pid = si->si_pid;
	ticket.si_uid = si->si_uid;
	ticket.si_value.sival_ptr = (void *)keep(sig, si);
	return direct3(SYS_rt_sigqueueinfo, pid, sig, &ticket) != -EAGAIN;
}

/* One that another thread was about to write would never have a ticket again. */
void sigrequeue_fork_child(void)
{
	for (int i = 0; i < REQUEUE_SLOTS; i++)
		if (load_relaxed(&seqs[i]) % 2)
			fetch_add_relaxed(&seqs[i], 1);
}

void sigroute_original(siginfo_t *si)
{
	uint64_t ticket = (uint64_t)si->si_value.sival_ptr;
	uint32_t i = ticket % REQUEUE_SLOTS, seq = (uint32_t)(ticket >> 8) & 0xffffff;
	siginfo_t was;

	if (likely(si->si_code != SI_QUEUE || (ticket & ~0xffffffffUL) != TICKET_MARK) ||
	    (load_acquire(&seqs[i]) & 0xffffff) != seq)
		return;
	info_read(i, &was);
	if ((load_acquire(&seqs[i]) & 0xffffff) == seq && was.si_signo == si->si_signo)
		*si = was;
}
