/*
 * A thread that computes on a stack of its own making, of one kilobyte, gets no signal here; so
 * nothing may be written below that stack but what the code on it writes.  Three kinds of stacks:
 * of makecontext, of a switch written by hand, and no stack at all (the stack pointer is one more
 * pointer of a compiler's, into the middle of its heap).  What is computed must be right as well.
 */
#include "check.h"

#include <stdint.h>
#include <ucontext.h>

enum { THREADS = 6, SMALL = 1024, BELOW = 32768, TURNS = 60, LAPS = 300000 };

struct memory {
	unsigned char below[BELOW];
	unsigned char stack[SMALL];
	unsigned char above[BELOW];
};

static uint64_t step(uint64_t x)
{
	return x * 6364136223846793005u + 1442695040888963407u;
}

static uint64_t laps(uint64_t x, int n)
{
	while (n--)
		x = step(x);
	return x;
}

static struct memory *fresh(void)
{
	struct memory *m = malloc(sizeof(*m));

	CHECK(m);
	memset(m->below, 0xa5, sizeof(m->below));
	memset(m->above, 0xa5, sizeof(m->above));
	return m;
}

static void untouched(const struct memory *m)
{
	for (int i = 0; i < BELOW; i++) {
		CHECK_EQ(m->below[i], 0xa5);
		CHECK_EQ(m->above[i], 0xa5);
	}
}

/* ---- makecontext ----------------------------------------------------------------------------- */

static _Thread_local ucontext_t back, fiber;
static _Thread_local uint64_t value;

static void body(void)
{
	for (;;) {
		value = laps(value, LAPS);
		swapcontext(&fiber, &back);
	}
}

static void *contexts(void *arg)
{
	struct memory *m = fresh();
	uint64_t want = value = (uintptr_t)arg;

	CHECK_SYS(getcontext(&fiber));
	fiber.uc_stack.ss_sp = m->stack;
	fiber.uc_stack.ss_size = SMALL;
	fiber.uc_link = NULL;
	makecontext(&fiber, body, 0);
	for (int i = 0; i < TURNS; i++) {
		CHECK_SYS(swapcontext(&back, &fiber));
		want = laps(want, LAPS);
		CHECK_EQ(value, want);
	}
	untouched(m);
	free(m);
	return NULL;
}

/* ---- a switch of our own --------------------------------------------------------------------- */

/*
 * On the stack that ends at top: n steps from x, with the stack pointer there all the time, and a
 * copy of x in the red zone.
 */
static uint64_t steps_on(void *top, uint64_t x, uint64_t n)
{
	const uint64_t mul = 6364136223846793005u, add = 1442695040888963407u;
	uint64_t was = x, kept;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "mov %[top], %%rsp\n\t"
			 "mov %[x], -128(%%rsp)\n\t"
			 "mov %[x], -8(%%rsp)\n\t"
			 "1:\n\t"
			 "imul %[mul], %[x]\n\t"
			 "add %[add], %[x]\n\t"
			 "dec %[n]\n\t"
			 "jnz 1b\n\t"
			 "mov -128(%%rsp), %[kept]\n\t"
			 "xor -8(%%rsp), %[kept]\n\t"
			 "mov %%r12, %%rsp\n\t"
			 : [x] "+r"(x), [n] "+r"(n), [kept] "=&r"(kept)
			 : [top] "r"(top), [mul] "r"(mul), [add] "r"(add)
			 : "r12", "memory", "cc");
	CHECK_EQ(kept, 0);
	(void)was;
	return x;
}

static void *by_hand(void *arg)
{
	struct memory *m = fresh();
	uint64_t x = (uintptr_t)arg, want = x;

	for (int i = 0; i < TURNS; i++) {
		x = steps_on(m->stack + SMALL, x, LAPS);
		want = laps(want, LAPS);
		CHECK_EQ(x, want);
	}
	untouched(m);
	free(m);
	return NULL;
}

/* ---- coroutines that lie in the thread's own stack ------------------------------------------- */

static void *in_own_stack(void *arg)
{
	struct memory m;
	uint64_t x = (uintptr_t)arg, want = x;

	memset(m.below, 0xa5, sizeof(m.below));
	memset(m.above, 0xa5, sizeof(m.above));
	for (int i = 0; i < TURNS; i++) {
		x = steps_on(m.stack + SMALL, x, LAPS);
		want = laps(want, LAPS);
		CHECK_EQ(x, want);
	}
	untouched(&m);
	return NULL;
}

/* ---- no stack -------------------------------------------------------------------------------- */

enum { WORDS = 4096 };

/* Fills words from low to high with the stack pointer as the index: nothing lies free below it. */
static void fill(uint64_t *words, uint64_t x, uint64_t rounds)
{
	uint64_t *end = words + WORDS;

	__asm__ volatile("mov %%rsp, %%r12\n\t"
			 "1:\n\t"
			 "mov %[words], %%rsp\n\t"
			 "2:\n\t"
			 "mov %[x], (%%rsp)\n\t"
			 "lea 8(%%rsp), %%rsp\n\t"
			 "cmp %[end], %%rsp\n\t"
			 "jne 2b\n\t"
			 "dec %[rounds]\n\t"
			 "jnz 1b\n\t"
			 "mov %%r12, %%rsp\n\t"
			 : [rounds] "+r"(rounds)
			 : [words] "r"(words), [end] "r"(end), [x] "r"(x)
			 : "r12", "memory", "cc");
}

static void *no_stack(void *arg)
{
	uint64_t *words = malloc(WORDS * sizeof(*words)), x = (uintptr_t)arg;

	CHECK(words);
	for (int i = 0; i < TURNS; i++) {
		x = step(x);
		fill(words, x, LAPS / WORDS * 4 + 4);
		for (int k = 0; k < WORDS; k++)
			CHECK_EQ(words[k], x);
	}
	free(words);
	return NULL;
}

static void all(void *(*fn)(void *), const char *what)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		t[i] = spawn(fn, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("%s: nothing else is written below them", what);
}

int main(void)
{
	all(contexts, "contexts on stacks of a kilobyte");
	all(by_hand, "stacks of a kilobyte with a switch by hand");
	all(in_own_stack, "stacks of a kilobyte in the middle of the thread's own");
	all(no_stack, "threads that use the stack pointer as an index");
	return 0;
}
