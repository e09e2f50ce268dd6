/*
 * signal: what is pending; where signals begin, in a process and in the child of a fork.
 *
 * Must never: ask the kernel for more than it is asked to show: its threads are not the program's.
 */
#include "shim/signal/altstack.h"
#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"

#include <fcntl.h>
#include <string.h>

static uint64_t status_set(const char *field, uint64_t unknown)
{
	char text[4096], *at;
	uint64_t set = 0;
	long fd = own4(SYS_openat, AT_FDCWD, "/proc/thread-self/status", O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return unknown;
	n = direct3(SYS_read, fd, text, sizeof(text) - 1);
	direct3(SYS_close, fd, 0, 0);
	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, field);
	if (!at)
		return unknown;
	for (at += strlen(field); (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
		set = set << 4 | (uint64_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
	return set;
}

/*
 * What waits in the kernel for the process is every thread's.  What waits there for a kernel thread
 * is main's, whose id names M0, whatever G runs on M0 now.
 */
EXPORT int sigpending(sigset_t *set)
{
	uint64_t kept = 0;
	int r;

	if (on_g()) {
		/*
		 * In this order: a signal goes from a thread to the ring, from there to the kernel or to a thread
		 * that was chosen before it kept the signal out, and from that to the kernel.
		 */
		kept = signals_kept(sigmask_of(getg()));
		sigroute_settle(sigmask_of(getg()));
		kept |= signals_kept(sigmask_of(getg()));
	}
	r = real.sigpending(set);
	if (r || !on_g())
		return r;
	if (unlikely(sigs_of(set)) && getg() != g_main())
		*(uint64_t *)(void *)set &= status_set("ShdPnd:\t", ~0ULL);
	*(uint64_t *)(void *)set |= signals_pending() | kept;
	return 0;
}

TWIN(sigpending);

/*
 * Signals raised and blocked before the first thread: pending for main's G, and not for another G
 * on its kernel thread.
 */
static void adopt_pending(void)
{
	struct timespec zero = { 0, 0 };
	uint64_t set;
	sigset_t any;
	siginfo_t si;
	int sig;

	if (real.sigpending(&any) || !sigs_of(&any))
		return;
	while ((set = status_set("SigPnd:\t", 0) & sigs_of(&any))) {
		sig = (int)direct4(SYS_rt_sigtimedwait, &set, &si, &zero, sizeof(set));
		if (sig <= 0 || thread_kill(&self_thread, sig, &si))
			return;
	}
}

void signal_init(void)
{
	altstack_adopt();
	action_adopt();
	runtime_sigstack(NULL);
	adopt_pending();
}

void signal_fork_child(void)
{
	signode_fork_child(); /* pending signals are not inherited (fork, POSIX) */
	store_relaxed(mailbox(&self_thread), NULL);
	self_thread.held = NULL;
	store_relaxed(&self_thread.pending[0], 0);
	store_relaxed(&self_thread.pending[1], 0);
	action_fork_child();
	sigroute_fork_child();
}
