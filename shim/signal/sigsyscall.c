/*
 * sigsyscall: the system calls of signals by number, for what libc's functions would do.
 *
 * The kernel's structures are its own: a set is 8 bytes, and an action has a restorer where libc
 * has one of its own.
 *
 * Must never: tell the kernel anything itself.  What it has of masks, stacks and handlers belongs
 * to whatever G runs, and is kept with it.
 */
#include "shim/signal/altstack.h"
#include "shim/signal/sigroute.h"
#include "shim/signal/sigwait.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

#include <string.h>

extern __typeof__(kill) shim_kill hidden;
extern __typeof__(pthread_sigmask) shim_pthread_sigmask hidden;
extern __typeof__(sigaction) shim_sigaction hidden;
extern __typeof__(sigpending) shim_sigpending hidden;

enum { SET_SIZE = 8 };

struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

/* libc's result and errno, as the kernel's. */
static long of_libc(int r)
{
	return r < 0 ? -errno : r;
}

static void widen(sigset_t *to, const uint64_t *from)
{
	sigemptyset(to);
	memcpy(to, from, SET_SIZE);
}

/* From the program's memory; false: EFAULT. */
static bool read_set(sigset_t *to, long from)
{
	sigemptyset(to);
	return user_read(to, (const void *)from, SET_SIZE);
}

long sets_action(const struct call *x)
{
	struct kernel_action want, old;
	struct sigaction now = { 0 }, was;
	long r;

	if (x->d != SET_SIZE)
		return -EINVAL;
	if (x->b) {
		if (!user_read(&want, (const void *)x->b, sizeof(want)))
			return -EFAULT;
		now.sa_handler = want.handler;
		now.sa_flags = (int)want.flags;
		widen(&now.sa_mask, &want.mask);
	}
	r = of_libc(shim_sigaction((int)x->a, x->b ? &now : NULL, &was));
	if (r || !x->c)
		return r;
	old = (struct kernel_action){ .handler = was.sa_handler,
				      .flags = (unsigned)was.sa_flags,
				      .restorer = was.sa_restorer,
				      .mask = sigs_of(&was.sa_mask) };
	return user_write((void *)x->c, &old, sizeof(old)) ? 0 : -EFAULT;
}

long sets_mask(const struct call *x)
{
	sigset_t want, was;
	int r;

	if (x->d != SET_SIZE)
		return -EINVAL;
	if (x->b && !read_set(&want, x->b))
		return -EFAULT;
	r = shim_pthread_sigmask((int)x->a, x->b ? &want : NULL, &was);
	if (r == 0 && x->c && !user_write((void *)x->c, &was, SET_SIZE))
		return -EFAULT;
	return -r;
}

long sets_altstack(const struct call *x)
{
	return altstack_asked((const stack_t *)x->a, (stack_t *)x->b,
			      (uintptr_t)__builtin_frame_address(0));
}

long reads_pending(const struct call *x)
{
	sigset_t set;
	long r;

	if ((unsigned long)x->b > SET_SIZE)
		return -EINVAL;
	r = of_libc(shim_sigpending(&set));
	if (r || !x->b)
		return r;
	if (x->b == SET_SIZE)
		return user_write((void *)x->a, &set, SET_SIZE) ? 0 : -EFAULT;
	memcpy((void *)x->a, &set, (size_t)x->b);
	return 0;
}

/* pause, rt_sigsuspend and rt_sigtimedwait; no cancellation points. */
long waits_signal(const struct call *x)
{
	struct timespec time;
	sigset_t set;

	if (x->nr == SYS_pause)
		return signal_pause(false);
	if (x->nr == SYS_rt_sigsuspend ? x->b != SET_SIZE : x->d != SET_SIZE)
		return -EINVAL;
	if (!read_set(&set, x->a))
		return -EFAULT;
	if (x->nr == SYS_rt_sigsuspend)
		return signal_suspend(false, &set);
	if (x->c && !user_read(&time, (const void *)x->c, sizeof(time)))
		return -EFAULT;
	return signal_await(false, &set, (siginfo_t *)x->b, x->c ? &time : NULL);
}

long kills_process(const struct call *x)
{
	return of_libc(shim_kill((pid_t)x->a, (int)x->b));
}
