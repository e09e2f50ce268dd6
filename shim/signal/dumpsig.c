/*
 * dumpsig: WEFT=dumpsig=SIG: this signal prints every G.
 *
 * It must work when the program is stuck: when all Gs are parked, when each blocks all signals,
 * when the stack in use is nearly full.  So a kernel thread of its own does the printing; of the
 * program's signals it lets in this one alone.  The handler, on whatever thread the kernel chose,
 * only wakes it.  A fork child has no such thread until it makes its first thread, and main alone
 * (onlymain.c) none until it makes another: there the handler prints by itself.
 *
 * The handler is libc's business alone: the program's sigaction() replaces it, and the signal is
 * the program's again.
 *
 * Must never: take a lock, call the program.
 */
#include "runtime/arch/sigframe.h"
#include "runtime/base/options.h"
#include "runtime/process.h"
#include "shim/signal/sigroute.h"

#include <linux/futex.h>
#include <string.h>

enum { DUMPSIG_STACK = 128 * 1024 };

static _Atomic uint32_t requests; /* futex: counts the requests */
static struct helper dumper = { .name = "stack of the dumper" };
static _Atomic bool dumper_quits; /* asked to end */
static _Atomic int listening;   /* the thread lets the signal in */

static void wake_dumper(void)
{
	fetch_add_acq_rel(&requests, 1);
	direct3(SYS_futex, &requests, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
}

static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	const struct sigframe *f = sigframe_of(ctx);

	(void)sig;
	if (si->si_code == SI_TKILL && si->si_pid == (pid_t)direct3(SYS_getpid, 0, 0, 0) &&
	    runtime_note_running(sigframe_pc(f), sigframe_sp(f)))
		return;
	if (!load_acquire(&listening)) {
		runtime_dump(2);
		return;
	}
	wake_dumper();
}

static void *dumper_main(void *arg)
{
	/* libc's own 32 and 33 stay open: setuid() waits for every kernel thread to take 33. */
	uint64_t others = ~(SIGBIT(weft_opt.dumpsig) | SIGS_OURS);
	uint32_t seen = load_acquire(&requests);

	(void)arg;
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &others, NULL, sizeof(others));
	store_release(&listening, 1);
	own3(SYS_prctl, PR_SET_NAME, "weft-dump", 0);
	for (;;) {
		/*
		 * Requests that come during a dump are one more dump.  One that asks to end may have come
		 * before this thread first read the count: so it is looked for before each sleep.
		 */
		while (load_acquire(&requests) == seen && !load_acquire(&dumper_quits))
			direct4(SYS_futex, &requests, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, NULL);
		seen = load_acquire(&requests);
		if (load_acquire(&dumper_quits))
			return NULL;
		runtime_dump(2);
	}
}

void dumpsig_init(void)
{
	struct sigaction sa;

	if (!weft_opt.dumpsig)
		return;
	memset(&sa, 0, sizeof(sa));
	sa.sa_sigaction = on_signal;
	sa.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigfillset(&sa.sa_mask);
	if (real.sigaction(weft_opt.dumpsig, &sa, NULL))
		weft_opt.dumpsig = 0;
}

void dumpsig_start(void)
{
	/* One that cannot be made now, the next thread tries to make again. */
	if (weft_opt.dumpsig)
		helper_start(&dumper, dumper_main, DUMPSIG_STACK);
}

/* Main is alone and keeps out all signals: the next thread starts it again. */
void dumpsig_stop(void)
{
	if (!helper_started(&dumper))
		return;
	store_release(&dumper_quits, true);
	wake_dumper();
	helper_join(&dumper);
	store_release(&listening, 0);
	store_release(&dumper_quits, false);
}

void dumpsig_fork_child(void)
{
	helper_forget(&dumper);
	store_relaxed(&dumper_quits, false);
	store_relaxed(&listening, 0);
}
