/*
 * single: what the kernel grants to a process of one thread, when main is the only thread left.
 *
 * unshare(2) and setns(2) of some namespaces are refused to a process of several kernel threads.  So the
 * call is made as it is, and when the kernel refuses it and no other thread of the program lives, weft's
 * kernel threads end (runtime_single()) and the call is made again.
 *
 * So do they when main, alone, looks at the list of the process's threads: programs wait until it has
 * one entry.
 *
 * Not then: in a handler, whose main may be anywhere in libc; while a timer on a thread's CPU time may be
 * armed, which the signal thread looks at; behind a filter that allows no more threads.
 *
 * Must never: end a kernel thread while another thread of the program lives.
 */
#include "runtime/process.h"
#include "shim/process/single.h"

#include "runtime/base/moment.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/thread/tid.h"
#include "shim/time/cputimer.h"

#include <fcntl.h>
#include <sys/stat.h>

/*
 * A joined kernel thread is still there for a moment.  The kernel counts those that are as links of this
 * folder.  What is there after the last try is none of weft's, or there is no /proc to ask.
 */
static void await_kernel(void)
{
	enum { LINKS = 3 };
	struct stat st;

	for (struct moment w = { 0 }; !moment_over(&w, GONE_NS); moment_wait(&w))
		if (own4(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &st, 0) || st.st_nlink <= LINKS)
			return;
}

/* Main has looked at the list of the process's threads, and may do so again. */
static bool listed; /* atomic; for good */

static void stop_threads(void)
{
	sigroute_stop();
	dumpsig_stop();
}

bool single_become(void)
{
	if (!on_g() || weft_tls.depth || cputimer_any() || !runtime_single(stop_threads))
		return false;
	await_kernel();
	return true;
}

/* What only the caller's namespaces are changed by, asked with others there, is changed at once. */
long changes_namespace(const struct call *x)
{
	long r = threadstate_change(true, x);

	return (r == -EINVAL || r == -EUSERS) && single_become() ? threadstate_change(true, x) : r;
}

void single_lists(void)
{
	store_relaxed(&listed, true);
	single_become();
}

void single_lists_again(void)
{
	if (unlikely(load_relaxed(&listed)))
		single_become();
}
