/*
 * However a signal comes, its handler finds the interrupted thread in its context: registers that it
 * may change, the mask, the alternate stack; and the frame lies where it belongs, at the end of the
 * alternate stack or below the interrupted one's red zone.
 */
#include "check.h"

#include <execinfo.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <ucontext.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

enum { SIZE = 65536 };

static _Thread_local char *alt; /* NULL: none */
static _Thread_local volatile int ran;
static _Thread_local void *volatile found;

/* ---- computing: registers --------------------------------------------------------------------- */

extern const char loop_begin[], loop_end[];
static atomic_int looping, inside;

static void into_loop(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	const char *pc = (const char *)uc->uc_mcontext.gregs[REG_RIP];

	(void)si;
	CHECK_EQ(sig, SIGUSR1);
	if (pc < loop_begin || pc >= loop_end || uc->uc_mcontext.gregs[REG_RBX])
		return; /* or another was faster, and the loop is about to end */
	CHECK_EQ(uc->uc_mcontext.gregs[REG_R13], 0x1234567);
	uc->uc_mcontext.gregs[REG_RBX] = 1;
	uc->uc_mcontext.gregs[REG_R13] = 89;
	atomic_fetch_add(&inside, 1);
}

static void *loops(void *arg)
{
	uint64_t seen;

	atomic_store(&looping, 1);
	__asm__ volatile("xor %%ebx, %%ebx\n\t"
			 "mov $0x1234567, %%r13d\n\t"
			 ".globl loop_begin\nloop_begin:\n\t"
			 "test %%ebx, %%ebx\n\t"
			 "jz loop_begin\n\t"
			 ".globl loop_end\nloop_end:\n\t"
			 "mov %%r13, %0\n\t"
			 : "=r"(seen)
			 :
			 : "rbx", "r13", "cc");
	CHECK_EQ(seen, 89);
	return arg;
}

static void computing(void)
{
	struct sigaction sa = { .sa_sigaction = into_loop, .sa_flags = SA_SIGINFO };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	for (int round = 0; round < 20; round++) {
		pthread_t t;

		atomic_store(&looping, 0);
		atomic_store(&inside, 0);
		t = spawn(loops, NULL);
		while (!atomic_load(&looping))
			sched_yield();
		while (!atomic_load(&inside)) {
			CHECK_OK(pthread_kill(t, SIGUSR1));
			CHECK_SYS(usleep(1000));
		}
		join(t);
	}
	passed("a thread that computes goes on with the registers that the handler left");
}

/* ---- where the frame lies, and what it says of the stack -------------------------------------- */

static void where(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;
	uintptr_t sp = (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
	int on = sig == SIGUSR1 && alt;
	stack_t now;

	CHECK_EQ(si->si_signo, sig);
	CHECK(uc->uc_mcontext.fpregs);
	CHECK_EQ((uintptr_t)uc->uc_mcontext.fpregs % 64, 0);
	CHECK_SYS(sigaltstack(NULL, &now));
	if (alt)
		CHECK(uc->uc_stack.ss_sp == alt && uc->uc_stack.ss_size == SIZE);
	else
		CHECK_EQ(uc->uc_stack.ss_size, 0);
	CHECK_EQ(now.ss_flags, on ? SS_ONSTACK : alt ? 0 : SS_DISABLE);
	if (on) {
		CHECK((char *)uc > alt + SIZE / 2 && (char *)uc < alt + SIZE);
		CHECK(!(sp >= (uintptr_t)alt && sp < (uintptr_t)alt + SIZE));
	} else {
		CHECK((uintptr_t)uc < sp - 128 && (uintptr_t)uc > sp - 65536);
	}
	CHECK(!sigismember(&uc->uc_sigmask, sig));
	sigaddset(&uc->uc_sigmask, SIGWINCH); /* the thread's from now on */
	ran++;
}

static sem_t ready, go;
static atomic_int computes;

static void blocked(int yes)
{
	sigset_t now;

	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK_EQ(sigismember(&now, SIGWINCH), yes);
	sigemptyset(&now);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &now, NULL));
}

static void *taker(void *arg)
{
	stack_t ss = { .ss_size = SIZE };

	if (arg) {
		CHECK((alt = ss.ss_sp = malloc(SIZE)) != NULL);
		CHECK_SYS(sigaltstack(&ss, NULL));
	}
	blocked(0);
	for (int sig = SIGUSR1;; sig = SIGUSR2) {
		CHECK_SYS(raise(sig));
		CHECK_EQ(ran, 1);
		blocked(1);
		CHECK_SYS(sem_post(&ready));
		while (ran < 2) /* computes */
			atomic_fetch_add(&computes, 1);
		blocked(1);
		CHECK_SYS(sem_post(&ready));
		while (sem_wait(&go)) /* waits; the handler comes in between */
			CHECK_EQ(errno, EINTR);
		while (ran < 3)
			sched_yield();
		blocked(1);
		ran = 0;
		if (sig == SIGUSR2)
			break;
	}
	CHECK_SYS(sem_post(&ready));
	if (arg) {
		ss.ss_flags = SS_DISABLE;
		CHECK_SYS(sigaltstack(&ss, NULL));
		free(alt);
	}
	return NULL;
}

static void wait_ready(void)
{
	while (sem_wait(&ready))
		CHECK_EQ(errno, EINTR);
}

static void placed(int with)
{
	pthread_t t = spawn(taker, with ? &ready : NULL);

	for (int sig = SIGUSR1;; sig = SIGUSR2) {
		wait_ready();
		for (int was = atomic_load(&computes); atomic_load(&computes) == was;)
			sched_yield();
		CHECK_OK(pthread_kill(t, sig));
		wait_ready();
		let_others_block();
		CHECK_OK(pthread_kill(t, sig));
		CHECK_SYS(sem_post(&go));
		if (sig == SIGUSR2)
			break;
	}
	wait_ready();
	join(t);
}

/* ---- the handler's changes of the alternate stack --------------------------------------------- */

static char other[SIZE];

static void changes(int sig, siginfo_t *si, void *ctx)
{
	ucontext_t *uc = ctx;

	(void)si;
	ran++;
	if (sig == SIGUSR1)
		uc->uc_stack.ss_sp = other;
	else
		uc->uc_stack.ss_flags = SS_DISABLE;
}

static void disarmed(int sig)
{
	stack_t now, ss = { .ss_sp = other, .ss_size = SIZE };
	char here;

	(void)sig;
	ran++;
	CHECK(&here >= alt && &here < alt + SIZE);
	CHECK_SYS(sigaltstack(NULL, &now));
	CHECK_EQ(now.ss_flags, SS_DISABLE);
	CHECK_SYS(sigaltstack(&ss, NULL)); /* until this returns */
}

static void *restacks(void *arg)
{
	stack_t ss = { .ss_size = SIZE }, now;
	struct sigaction sa = { .sa_sigaction = changes, .sa_flags = SA_SIGINFO };

	CHECK((alt = ss.ss_sp = malloc(SIZE)) != NULL);
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
	CHECK_SYS(sigaltstack(&ss, NULL));
	CHECK_SYS(raise(SIGUSR1));
	CHECK_SYS(sigaltstack(NULL, &now));
	CHECK(now.ss_sp == other && now.ss_flags == 0);
	CHECK_SYS(raise(SIGUSR2));
	CHECK_SYS(sigaltstack(NULL, &now));
	CHECK_EQ(now.ss_flags, SS_DISABLE);

	sa = (struct sigaction){ .sa_handler = disarmed, .sa_flags = SA_ONSTACK };
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	ss.ss_flags = (int)SS_AUTODISARM;
	CHECK_SYS(sigaltstack(&ss, NULL));
	for (int i = 0; i < 3; i++) {
		CHECK_SYS(raise(SIGUSR1));
		CHECK_SYS(sigaltstack(NULL, &now));
		CHECK(now.ss_sp == alt && now.ss_flags == (int)SS_AUTODISARM);
	}
	CHECK_EQ(ran, 5);
	ss.ss_flags = SS_DISABLE;
	CHECK_SYS(sigaltstack(&ss, NULL));
	free(alt);
	return arg;
}

/* ---- backtraces, jumps, one on top of the other ----------------------------------------------- */

static sigjmp_buf out;

static void walks(int sig)
{
	void *pc[64];
	int n = backtrace(pc, 64);

	(void)sig;
	for (int i = 0; i < n; i++)
		if ((char *)pc[i] >= (char *)found && (char *)pc[i] < (char *)found + 512)
			ran++;
}

static __attribute__((noinline)) void *raises(void *arg)
{
	found = (void *)(uintptr_t)raises;
	ran = 0;
	CHECK_SYS(raise(SIGUSR1));
	CHECK(ran);
	return arg;
}

static void leaves(int sig)
{
	char here;

	(void)sig;
	CHECK(&here >= alt && &here < alt + SIZE);
	siglongjmp(out, 1);
}

static void *jumps(void *arg)
{
	stack_t ss = { .ss_size = SIZE }, now;

	CHECK((alt = ss.ss_sp = malloc(SIZE)) != NULL);
	CHECK_SYS(sigaltstack(&ss, NULL));
	for (volatile int i = 0; i < 500; i++) {
		if (!sigsetjmp(out, 1)) {
			raise(SIGUSR1);
			CHECK(0);
		}
		CHECK_SYS(sigaltstack(NULL, &now));
		CHECK(now.ss_sp == alt && now.ss_flags == 0);
	}
	ss.ss_flags = SS_DISABLE;
	CHECK_SYS(sigaltstack(&ss, NULL));
	free(alt);
	return arg;
}

static _Thread_local volatile int depth;

static void on_top(int sig)
{
	char here;

	CHECK(&here >= alt && &here < alt + SIZE);
	depth++;
	if (sig == SIGUSR1)
		CHECK_SYS(raise(SIGUSR2));
	CHECK_EQ(depth, 2);
}

static void *nests(void *arg)
{
	stack_t ss = { .ss_size = SIZE };

	CHECK((alt = ss.ss_sp = malloc(SIZE)) != NULL);
	CHECK_SYS(sigaltstack(&ss, NULL));
	CHECK_SYS(raise(SIGUSR1));
	CHECK_EQ(depth, 2);
	ss.ss_flags = SS_DISABLE;
	CHECK_SYS(sigaltstack(&ss, NULL));
	free(alt);
	return arg;
}

static void handle(void (*fn)(int), int flags)
{
	struct sigaction sa = { .sa_handler = fn, .sa_flags = flags };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = where, .sa_flags = SA_SIGINFO | SA_ONSTACK };

	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sem_init(&go, 0, 0));
	computing();

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_flags = SA_SIGINFO;
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
	for (int i = 0; i < 10; i++)
		placed(i % 2);
	passed("the frame lies where the action asks for, the mask in it counts");

	join(spawn(restacks, NULL));
	passed("a handler changes the alternate stack by its context, a call of its own ends with it");

	handle(walks, 0);
	join(spawn(raises, NULL));
	passed("a walk along the stack goes through the frame");
	handle(leaves, SA_ONSTACK);
	join(spawn(jumps, NULL));
	passed("jumps off the alternate stack");
	handle(on_top, SA_ONSTACK);
	join(spawn(nests, NULL));
	passed("a second handler on the same stack");
	return 0;
}
