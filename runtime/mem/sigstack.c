/*
 * sigstack: the stacks on which weft's own code runs in a signal handler.
 *
 * Each M has a signal stack.  The kernel is told once, when the M starts, and puts the frame of
 * every signal there: what it interrupted may run on any memory of the program's (a coroutine's
 * stack of a kilobyte, or no stack at all), where only the program may write.  Code on that stack
 * belongs to the M, not to the G that was interrupted; all signals are kept out, and it must not
 * switch.
 *
 * A G that must go on in the handler as a G (give way, wait for a P) takes the frame to a side
 * stack and stays there, on any M, until sigreturn.  A side stack is free as soon as sigreturn has
 * read it, which no code of that G can say: so it becomes the spare of the M on which the G leaves,
 * before the G leaves.  A G that takes an M's spare runs on that kernel thread, hence later than
 * the sigreturn.  An M that has a spare already puts the older one, which no sigreturn reads any
 * more, on the global list.
 *
 * Rejected: the frame on the G's own stack where there is room.  What lies below the stack pointer
 * need not be free: programs cut stacks of coroutines out of a thread's stack.
 *
 * Must never: switch with a side stack noted as an M's spare while its G still needs the words on it.
 */
#include "runtime/sched/gmp.h"

#include <sys/auxv.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

enum {
	SIGSTACK = 64 * 1024,  /* a frame (11 KB with AMX), and a dump of all Gs in a fork child */
	SIDE_CODE = 8 * 1024,  /* what runs there: the way into the scheduler, 2 KB; the loader is not reached */
	FRAME_OLD = 3584,      /* Linux before 5.14 does not tell: AVX-512, the most it had */
};

struct side {              /* at the low end of the stack */
	struct side *next;
};

static struct lock sidelock = LOCK_INIT(Side);
static struct side *sides; /* (sidelock) free ones */
static char *m0stack;      /* M0's: the next M0, of a fork child, has the same memory */

static size_t sidestack_size(void)
{
	size_t frame = __getauxval(AT_MINSIGSTKSZ);

	if (frame < FRAME_OLD)
		frame = FRAME_OLD;
	return (frame + SIDE_CODE + 4095) & ~(size_t)4095;
}

/* ---- an M's signal stack --------------------------------------------------------------------- */

size_t m_sigstack_size(void)
{
	return SIGSTACK;
}

/* Sigreturn takes the alternate stack of the frame for the thread's. */
static void in_frame(struct sigframe *f, void *arg)
{
	struct m *mp = arg;

	f->uc.stack = (stack_t){ .ss_sp = mp->sigstack, .ss_size = SIGSTACK };
	f->uc.mask = os_sigmask_get();
}

static bool told(struct m *mp)
{
	return os_has(OS_altstack) && !os_sigaltstack(mp->sigstack, SIGSTACK, 0);
}

static void tell_kernel(void *arg)
{
	if (!told(arg))
		sigframe_call(0, in_frame, arg);
}

/*
 * On the M itself.  A thread that stands on the stack the kernel knows may not change it: main may
 * stand so, and changes it from g0.  A filter of system calls answers with the same error, to an M
 * that libc made too, which has no other stack than the one it is on.
 */
void m_sigstack(struct m *mp)
{
	if (told(mp))
		return;
	if (os_has(OS_altstack) && mp->g0top)
		sigframe_callon((uintptr_t)mp->g0top, tell_kernel, mp);
	else
		sigframe_call(0, in_frame, mp);
}

char *m0_sigstack(void)
{
	if (!m0stack)
		m0stack = os_reserve(SIGSTACK);
	return m0stack;
}

void runtime_sigstack(const void *has)
{
	struct m *mp;

	pin_m();
	mp = getm();
	if (weft_tls.g && mp && has != mp->sigstack)
		m_sigstack(mp);
	unpin();
}

/* ---- side stacks ----------------------------------------------------------------------------- */

/*
 * In a handler: perhaps of a G without a P, which must not be given one here.  So held, and pin()
 * finds that it is inside already.
 */
void *sidestack_take(size_t *size)
{
	struct m *mp;
	struct side *s;

	pin_m();
	mp = getm();
	s = mp->spare;
	mp->spare = NULL;
	if (!s) {
		lock(&sidelock);
		s = sides;
		if (s)
			sides = s->next;
		unlock(&sidelock);
	}
	if (!s && !os_fault("side stack"))
		s = persistentalloc(sidestack_size());
	unpin();
	*size = sidestack_size();
	return s;
}

static void sidestack_put(struct side *s)
{
	lock(&sidelock);
	s->next = sides;
	sides = s;
	unlock(&sidelock);
}

void sidestack_give(void *side)
{
	struct side *old;
	struct m *mp;

	pin_m();
	mp = getm();
	old = mp->spare;
	mp->spare = side;
	if (old)
		sidestack_put(old);
	unpin();
}

void m_sidestack_drop(struct m *mp)
{
	if (mp->spare)
		sidestack_put(mp->spare);
	mp->spare = NULL;
}

void sigstack_fork_child(void)
{
	lock_init(&sidelock, Side);
	sides = NULL;
}
