/*
 * Where the frame of a handler has no room the kernel ends the process by SIGSEGV, unless there is a
 * handler of SIGSEGV for which there is room.  Each case in a process of its own: in main and in a
 * thread, computing and waiting.
 */
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { SIZE = 65536, SMALL = 2048 };

static volatile int caught;
static char *alt;

static void handler(int sig)
{
	char here;

	if (sig != SIGSEGV)
		_exit(7); /* it had no room */
	CHECK(&here >= alt && &here < alt + SIZE);
	_exit(42);
}

static void handle(int sig, int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	CHECK_SYS(sigaction(sig, &sa, NULL));
}

static void set_alt(size_t size)
{
	stack_t ss = { .ss_size = size };

	alt = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(alt != MAP_FAILED);
	ss.ss_sp = alt;
	CHECK_SYS(sigaltstack(&ss, NULL));
}

static __attribute__((noinline)) int overflow(volatile int *depth)
{
	volatile char frame[512];

	frame[0] = 1;
	(*depth)++;
	if (*depth > 0)
		overflow(depth);
	return frame[0];
}

static void overflows(void)
{
	volatile int depth = 0;

	overflow(&depth);
}

static pthread_t victim;
static atomic_int there;

static void *sends(void *arg)
{
	while (!atomic_load(&there))
		sched_yield();
	let_others_block();
	CHECK_OK(pthread_kill(victim, SIGUSR1));
	return arg;
}

/* A signal comes while the stack pointer is in memory that cannot be written to. */
static void raise_nowhere(void)
{
	char *mem = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(mem != MAP_FAILED);
	victim = pthread_self();
	spawn(sends, NULL);
	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %[mem], %%rsp\n\t"
			 "movl $1, %[there]\n\t"
			 "mov $10000000000, %%rcx\n\t"
			 "1: dec %%rcx\n\t"
			 "jnz 1b\n\t"
			 "mov %%r12, %%rsp\n\t"
			 : [there] "=m"(there)
			 : [mem] "r"(mem + SIZE)
			 : "rcx", "r12", "memory", "cc");
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void no_alternate(void)
{
	handle(SIGSEGV, SA_ONSTACK);
	overflows();
}

static void not_on_alternate(void)
{
	set_alt(SIZE);
	handle(SIGSEGV, 0);
	overflows();
}

static void on_alternate(void)
{
	set_alt(SIZE);
	handle(SIGSEGV, SA_ONSTACK);
	overflows();
}

static void alternate_too_small(void)
{
	set_alt(SMALL);
	handle(SIGUSR1, SA_ONSTACK);
	raise(SIGUSR1);
}

static void other_signal(void)
{
	handle(SIGUSR1, 0);
	raise_nowhere();
}

static void other_signal_caught(void)
{
	set_alt(SIZE);
	handle(SIGUSR1, 0);
	handle(SIGSEGV, SA_ONSTACK);
	raise_nowhere();
}

static const struct {
	void (*fn)(void);
	const char *what;
	int status; /* as waitpid tells */
	int frames; /* only where frames are larger than the smallest stack */
} cases[] = {
	{ no_alternate, "an overflow without an alternate stack", SIGSEGV, 0 },
	{ not_on_alternate, "an overflow and a handler for the ordinary stack", SIGSEGV, 0 },
	{ on_alternate, "an overflow and a handler for the alternate one", 42 << 8, 0 },
	{ alternate_too_small, "an alternate stack that is too small", SIGSEGV, 1 },
	{ other_signal, "a signal where nothing can be written", SIGSEGV, 0 },
	{ other_signal_caught, "the same with a handler of SIGSEGV", 42 << 8, 0 },
};

static void *in_thread(void *arg)
{
	cases[*(int *)arg].fn();
	_exit(9);
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	struct rlimit none = { 0, 0 };
	int large = sysconf(_SC_MINSIGSTKSZ) > SMALL;

	CHECK_SYS(setrlimit(RLIMIT_CORE, &none));
	for (int i = 0; i < (int)(sizeof(cases) / sizeof(*cases)); i++)
		for (int thread = 0; thread < 2; thread++) {
			int status;
			pid_t child;

			fflush(stdout);
			CHECK_SYS(child = fork());
			if (!child) {
				join(spawn(nothing, NULL));
				if (thread)
					join(spawn(in_thread, &i));
				else
					in_thread(&i);
			}
			CHECK_EQ(waitpid(child, &status, 0), child);
			if (!cases[i].frames || large)
				CHECK_EQ(status & ~0x80, cases[i].status);
			passed("%s: %s", thread ? "thread" : "main", cases[i].what);
		}
	return 0;
}
