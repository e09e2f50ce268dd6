/*
 * sigframe: the kernel of this machine makes its frames where sigframe_at() says, reads them from
 * anywhere, and keeps its alternate stack when it is shown one that it refuses.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/arch/sigframe.h"

enum { SIZE = 65536 };

static char *alt, *other;
static volatile int ran;

static void use(void (*fn)(int, siginfo_t *, void *))
{
	stack_t ss = { .ss_size = SIZE };
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	alt = ss.ss_sp = aligned_alloc(64, SIZE);
	other = aligned_alloc(64, SIZE);
	cr_assert_eq(sigaltstack(&ss, NULL), 0);
	cr_assert_eq(sigaction(SIGUSR1, &sa, NULL), 0);
}

static void lies(int sig, siginfo_t *si, void *uc)
{
	struct sigframe *f = sigframe_of(uc);

	ran = f == sigframe_at((uintptr_t)alt + SIZE, sigframe_state(f)) && &f->si == si &&
	      f->si.si_signo == sig;
}

Test(sigframe, lies_where_the_kernel_puts_it)
{
	use(lies);
	raise(SIGUSR1);
	cr_assert(ran);
}

static void refuses(int sig, siginfo_t *si, void *uc)
{
	struct sigframe *f = sigframe_of(uc);

	f->uc.stack.ss_sp = other;
	f->uc.stack.ss_flags = SIGFRAME_STACKFLAGS;
	ran = 1;
}

Test(sigframe, an_alternate_stack_that_is_refused_changes_nothing)
{
	stack_t now;

	use(refuses);
	raise(SIGUSR1);
	cr_assert(ran);
	cr_assert_eq(sigaltstack(NULL, &now), 0);
	cr_assert_eq(now.ss_sp, alt);
	cr_assert_eq(now.ss_flags, 0);
}

static void moved(struct sigframe *f, void *arg)
{
	ran = arg == &ran && (char *)f > other && (char *)f < other + SIZE &&
	      (uintptr_t)f->uc.mc.fpregs % 64 == 0;
	memset(alt, 0xff, SIZE);
}

static void moves(int sig, siginfo_t *si, void *uc)
{
	struct sigframe *f = sigframe_of(uc), *to;
	uintptr_t end = (uintptr_t)other + SIZE;

	to = sigframe_at(end, sigframe_state(f));
	if (sigframe_copy(to, end, f))
		sigframe_enter(to, moved, (void *)&ran);
}

Test(sigframe, may_be_returned_through_from_elsewhere)
{
	double x = 1.5;

	use(moves);
	__asm__ volatile("" : "+x"(x));
	raise(SIGUSR1);
	cr_assert(ran);
	cr_assert_eq(x, 1.5);
}

static void restorer_of(int sig, siginfo_t *si, void *uc)
{
	sigframe_restorer = sigframe_of(uc)->restorer;
}

static void inside(struct sigframe *f, void *arg)
{
	*(int *)arg = (char *)f > alt && (char *)f < alt + SIZE;
	f->uc.mask = 0;
	f->uc.stack.ss_flags = SIGFRAME_STACKFLAGS;
}

static sigset_t mask_now(void)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	return now;
}

Test(sigframe, of_a_call_is_returned_through_as_well)
{
	sigset_t block, now;
	int there = 0;

	use(restorer_of);
	raise(SIGUSR1);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR2);
	sigprocmask(SIG_BLOCK, &block, NULL);
	sigframe_call((uintptr_t)alt + SIZE, inside, &there);
	cr_assert(there);
	now = mask_now();
	cr_assert(!sigismember(&now, SIGUSR2));
}
