/*
 * signals: what a signal carries comes whole out of the ring (sigroute.c) and of the slots of signals that were given back
 * to the kernel (sigrequeue.c).  Two threads defer, one drains, and all keep and take tickets.  The rest of the shim
 * is not linked: what these files ask of it is below, and nothing else is called.
 *
 * A drained signal names a thread, the driver's own, so that no G is looked for.
 */
#include "tests/tsan/drive.h"

#include "shim/signal/sigrequeue.c"
#include "shim/signal/sigroute.c"

enum { SIGNALS = RING, TICKETS = 4000, A_SIGNAL = 40 };

__thread struct thread self_thread;
static struct thread receiver;
static struct g receives = { .shim = { .thread = &receiver } };
static unsigned long sum[DRIVERS], drained; /* the drainer's */

static int number_of(const siginfo_t *si)
{
	return si->si_value.sival_int;
}

int timer_row(const siginfo_t *si)
{
	(void)si;
	return 0;
}

struct thread *timer_target(const siginfo_t *si)
{
	(void)si;
	return &receiver;
}

int thread_timer(struct thread *th, int slot, const siginfo_t *si)
{
	(void)th, (void)slot;
	must(si->si_signo == A_SIGNAL && si->si_uid < DRIVERS, "a signal is whole");
	sum[si->si_uid] += (unsigned)number_of(si);
	drained++;
	return 0;
}

static void producer(struct driver *d)
{
	for (int i = 0; i < SIGNALS; i++) {
		siginfo_t si = { .si_signo = A_SIGNAL, .si_code = SI_TIMER };

		si.si_uid = d->id;
		si.si_value.sival_int = i;
		/* Room is seen by the limit alone, as by any producer. */
		while (load_seqcst(&head) - load_seqcst(&limit) >= RING - DRIVERS)
			os_osyield();
		sigroute_defer(A_SIGNAL, &si);
	}
}

static void drainer(struct driver *d)
{
	(void)d;
	while (drained < 2 * SIGNALS)
		if (sigroute_drain() && !slot_at(load_relaxed(&tail)))
			os_osyield();
}

static void tickets(struct driver *d)
{
	for (int i = 0; i < TICKETS; i++) {
		int sig = chance(d, 2) ? SIGUSR1 : FIRST_RT + 2;
		siginfo_t si = { .si_signo = sig, .si_code = SI_USER }, ticket = { .si_signo = sig };

		si.si_pid = si.si_status = i;
		ticket.si_code = SI_QUEUE;
		ticket.si_value.sival_ptr = (void *)keep(sig, &si);
		pace(d);
		sigroute_original(&ticket);
		must(ticket.si_code == SI_QUEUE || ticket.si_status == ticket.si_pid, "a ticket's signal is whole");
	}
}

static void ticket_of_both(struct driver *d)
{
	tickets(d);
}

static void drain_and_tickets(struct driver *d)
{
	tickets(d);
	drainer(d);
}

int main(void)
{
	unsigned long all = (unsigned long)SIGNALS * (SIGNALS - 1) / 2;

	drive_world(1);
	receiver.g = &receives;
	store_relaxed(&sigthread_started, 1);
	drive((void (*[])(struct driver *)){ producer, producer, drain_and_tickets, ticket_of_both });
	must(sum[0] == all && sum[1] == all, "each signal comes once");
	puts("1 passed, 0 failed");
}
