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
#include <sys/mman.h>

enum { DUMPSIG_STACK = 128 * 1024 };

enum { DUMPER_NONE, DUMPER_THERE, DUMPER_ENDS };

static _Atomic uint32_t requests; /* futex: counts the requests */
static _Atomic int started;     /* DUMPER_ENDS: only in dumpsig_stop() */
static _Atomic int listening;   /* the thread lets the signal in */
static uintptr_t dumper_os;     /* for joining it */
static void *stack;             /* its own; a fork child's next one takes it over */

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
		runtime_dump();
		return;
	}
	wake_dumper();
}

static void *dumper(void *arg)
{
	/* libc's own 32 and 33 stay open: setuid() waits for every kernel thread to take 33. */
	uint64_t others = ~(SIGBIT(weft_opt.dumpsig) | SIGS_OURS);
	uint32_t seen = load_acquire(&requests);

	(void)arg;
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &others, NULL, sizeof(others));
	store_release(&listening, 1);
	for (;;) {
		/*
		 * Looked at after the count was read: dumpsig_stop() sets it, then raises the count, so a
		 * count that has the request to end in it shows the end here.
		 */
		if (load_acquire(&started) == DUMPER_ENDS)
			return NULL;
		/* Requests that come during a dump are one more dump. */
		while (load_acquire(&requests) == seen)
			direct4(SYS_futex, &requests, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, seen, NULL);
		seen = load_acquire(&requests);
		if (load_acquire(&started) != DUMPER_ENDS)
			runtime_dump();
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
	if (!weft_opt.dumpsig || exchange_acq_rel(&started, DUMPER_THERE))
		return;
	if (!stack && !runtime_fault("stack of the dumper"))
		stack = mmap(NULL, runtime_ostack(DUMPSIG_STACK), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (!stack || stack == MAP_FAILED) {
		stack = NULL;
		store_release(&started, DUMPER_NONE);
		return;
	}
	if (thread_native(dumper, NULL, stack, runtime_ostack(DUMPSIG_STACK), &dumper_os))
		store_release(&started, DUMPER_NONE); /* the next thread tries again */
}

/* Main is alone and keeps out all signals: the next thread starts it again, on the same stack. */
void dumpsig_stop(void)
{
	if (load_acquire(&started) == DUMPER_NONE)
		return;
	store_release(&started, DUMPER_ENDS);
	wake_dumper();
	thread_native_join(dumper_os);
	store_release(&listening, 0);
	store_release(&started, DUMPER_NONE);
}

void dumpsig_fork_child(void)
{
	store_relaxed(&started, DUMPER_NONE);
	store_relaxed(&listening, 0);
}
