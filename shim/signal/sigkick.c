/*
 * sigkick: a thread is made to look at what is queued on it.
 *
 * Parked interruptibly, by g_interrupt(); running or in a system call, by signal 32 to its M.  A kick that
 * meets the G in the runtime, or off its M, leaves g->interrupted set: the G looks at the end of its park, else
 * at its next call (sigkick_arrived()), so that it sees what was sent to it before what woke it.  Should it make
 * none, the signal thread kicks again, each millisecond, until nothing is left undelivered (and then sleeps for good).
 *
 * Must never: take from the lists of the thread.
 */
#include "shim/signal/sigring.h"
#include "shim/thread/schedparam.h"

/* seq_cst with the mailboxes: sigkick_again() clears this one, then looks at them */
static _Atomic uint32_t watching;  /* 1: some G has undelivered signals */

void sigroute_kick(struct g *gp)
{
	struct thread *th = g_shim(gp)->thread;
	int tid;

	if (g_interrupt(gp))
		return;
	/* One at a time: each is a frame on its stack, which may be small. */
	if (th && exchange_seqcst(&th->kicked, true))
		return;
	tid = g_m(gp).ostid;
	if (tid)
		direct3(SYS_tgkill, direct3(SYS_getpid, 0, 0, 0), tid, SIGWEFT);
}

/*
 * A call with a mask of its own looks itself, when it has its mask back; so does one that waits for signals.
 */
void sigkick_arrived(void)
{
	struct thread *th = &self_thread;

	if (!on_g() || signals_busy())
		return;
	schedparam_apply();
	if (!load_relaxed(&th->masked) && !th->waitset)
		signals_deliver();
}

void sigroute_watch(void)
{
	if (exchange_seqcst(&watching, 1) == 0)
		sigring_wake();
}

/* Kicks every G that has signals it lets in and has not taken. */
static bool rekick(void)
{
	bool left = false;
	struct g *gp;
	uint32_t i = 0;

	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		struct tcb *t = g_tls(gp);

		if (th && t && (load_seqcst(&g_shim(gp)->mailbox) || (th->held && th->waitset) ||
				(tcb_cancel_async(t) && tcb_cancel_pending(t)))) {
			left = true;
			store_seqcst(&th->kicked, false); /* that one came when it could not look */
			sigroute_kick(gp);
		}
	}
	return left;
}

bool sigkick_wanted(void)
{
	return load_seqcst(&watching);
}

void sigkick_again(void)
{
	store_seqcst(&watching, 0);
	if (rekick())
		store_seqcst(&watching, 1);
}

void sigkick_main(void)
{
	struct thread *th = g_shim(g_main())->thread;

	if (!exchange_seqcst(&watching, 0))
		return;
	store_seqcst(&th->kicked, false);
	sigroute_kick(g_main());
}

void sigkick_fork_child(void)
{
	store_relaxed(&watching, 0);
}
