/*
 * signals: what a signal carries comes whole out of the ring (sigring.c) and of the slots of signals that were
 * given back to the kernel (sigrequeue.c).  Two threads defer, one drains, and all keep and take tickets.  The
 * rest of the shim is not linked: what these files ask of it ends the driver.
 */
#include "tests/tsan/drive.h"

#include "shim/syscall/tablepart.c"
#include "shim/signal/sigrequeue.c"
#include "shim/signal/sigring.c"

enum { SIGNALS = RING, TICKETS = 4000, A_SIGNAL = 40 };

__thread struct thread self_thread;
static unsigned long sum[DRIVERS], drained; /* the drainer's */

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
	siginfo_t si;
	long named;
	int sig;

	(void)d;
	while (drained < 2 * SIGNALS) {
		if (!sigring_first(&sig, &si, &named)) {
			os_osyield();
			continue;
		}
		sigring_done();
		must(sig == A_SIGNAL && si.si_signo == A_SIGNAL && si.si_uid < DRIVERS, "a signal is whole");
		sum[si.si_uid] += (unsigned)si.si_value.sival_int;
		drained++;
	}
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
	store_relaxed(&sigthread.started, true);
	drive((void (*[])(struct driver *)){ producer, producer, drain_and_tickets, ticket_of_both });
	must(sum[0] == all && sum[1] == all, "each signal comes once");
	puts("1 passed, 0 failed");
}
