/*
 * sigmask: the signal mask of a thread, and which threads must know that it has changed.
 *
 * The kernel mask of an M is the mask of the G it runs; sigmask_set() changes both.  Besides, what all
 * threads keep out the signal thread keeps out too, so that it stays pending; it is told of every
 * change:
 *
 *	pthread_sigmask, a jump, setcontext		sigroute_mask_change()
 *	a new thread's attribute			sigroute_unblocked(), in thread.c
 *	a handler's sa_mask, from its call to its end	sigroute_mask_closed(); signals_rest()
 *	the mask that a handler leaves in its frame	signals_rest()
 *	a call's own mask (waitmask.c)			sigroute_mask_closed(); sigroute_unblocked()
 *
 * Must never: let a program block 32 or 33.
 */
#include "shim/signal/sigpending.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/usermem.h"

static _Atomic uint64_t counted;

static void closed(uint64_t set)
{
	if (likely(!set))
		return;
	/* seq_cst with itself: of two that keep it out at once, one sees the other's mask. */
	fence_seqcst();
	sigroute_blocked(set);
}

void sigroute_mask_closed(uint64_t set)
{
	if (set)
		signals_hand_on(set & ~REALTIME); /* for the time of a handler or a call: their order stays */
	/* A signal with a handler the signal thread gives back when no G wants it. */
	closed(set & ~(action_handled() | SIGS_NEVER));
}

void sigmask_counted(uint64_t set)
{
	fetch_or_acq_rel(&counted, set);
	if (on_g())
		sigroute_keep_out(set & sigmask_of(getg()) & ~SIGS_NEVER);
}

uint64_t sigmask_finds_out(void)
{
	return action_handled() & ~load_relaxed(&counted);
}

/*
 * The mask opens in the notes, for senders, before it opens in the kernel: what is queued on the caller already
 * comes before what waits in the kernel.
 */
static void open_in_order(uint64_t mask)
{
	signode_queued(&self_thread);
	sigmask_set(getg(), mask, true);
	fence_seqcst(); /* seq_cst with the mailbox, as in signals_rest() */
	signals_deliver();
}

void sigroute_mask_change(uint64_t was, uint64_t mask)
{
	if (was & ~mask && unlikely(load_relaxed(mailbox(&self_thread)) || self_thread.held))
		open_in_order(mask);
	sigmask_set(getg(), mask, false);
	if (was & ~mask) {
		signals_recall(was & ~mask);
		sigroute_flush();
		sigroute_unblocked(was & ~mask);
		signals_deliver();
	}
	if (mask & ~was)
		signals_hand_on(mask & ~was);
	closed(mask & ~was & ~(sigmask_finds_out() | SIGS_NEVER));
}

static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
	struct g *gp = getg();
	uint64_t mask = sigmask_of(gp), was = mask, bits;
	int err = 0;

	if (set) {
		signals_first();
		bits = *(const uint64_t *)(const void *)set & ~SIGS_NEVER;
		switch (how) {
		case SIG_BLOCK:
			mask |= bits;
			break;
		case SIG_UNBLOCK:
			mask &= ~bits;
			break;
		case SIG_SETMASK:
			mask = bits;
			break;
		default:
			return EINVAL;
		}
	}
	/*
	 * Before: POSIX delivers what is unblocked before the call returns, and not after old is
	 * read.  The kernel changes the mask also when it cannot write the old one.
	 */
	if (old && !user_put(old, &was, sizeof(was)))
		err = EFAULT;
	if (mask != was)
		sigroute_mask_change(was, mask);
	return err;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return on_g() ? change_mask(how, set, old) : real.pthread_sigmask(how, set, old);
}
TWIN(pthread_sigmask);

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int err;

	if (!on_g())
		return real.sigprocmask(how, set, old);
	err = change_mask(how, set, old);
	if (err) {
		errno = err;
		return -1;
	}
	return 0;
}

/* libc restores the mask by a call of its own; a jump also leaves any system call region. */
static void before_jump(struct __jmp_buf_tag *env)
{
	if (!on_g())
		return;
	weft_tls.depth = 0; /* out of a fault inside malloc, say */
	weft_tls.handlersp = 0; /* or within one, of which the jump says nothing */
	syscall_reset();
	if (env->__mask_was_saved) {
		uint64_t mask = sigs_of(&env->__saved_mask) & ~SIGS_NEVER, was = sigmask_of(getg());

		sigroute_mask_change(was, mask);
	}
}

#define JUMP(name)                                                                                  \
	EXPORT void name(struct __jmp_buf_tag env[1], int value)                                       \
	{                                                                                              \
		before_jump(env);                                                                          \
		real.name(env, value);                                                                     \
		__builtin_unreachable();                                                                   \
	}
JUMP(siglongjmp)
JUMP(longjmp)
JUMP(_longjmp)
JUMP(__longjmp_chk)
