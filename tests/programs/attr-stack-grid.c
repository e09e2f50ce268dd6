/*
 * Threads with stacks of odd and even sizes, each with several guards, and on memory of the program:
 * no thread's stack touches its thread-local variables, its thread block or another's stack, and each
 * is told the size and the guard that it asked for.
 *
 * All live at once, so that no stack is another's used again.  attr-stack-grid-tls-*.c are the same
 * program with thread-local variables of other sizes and alignments.
 */
#include "check.h"
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

#ifndef TLS_SIZE
#define TLS_SIZE 1024
#define TLS_ALIGN 64
#endif

enum { THREADS = 256, DEPTH = 4096 };

static const size_t sizes[] = { 16384, 16385, 16447,  16448,  20000,   24577,   65535,	 65536,
				65537, 98303, 100000, 131072, 1000000, 1000001, 8388608, 8388625 };
static const size_t guards[] = { 0, 1, 4096, 4097, 20000 };

static __thread _Alignas(TLS_ALIGN) char tls[TLS_SIZE];

static struct life {
	size_t size, guard;   /* asked for */
	char *own;            /* the program's memory, or NULL */
	pthread_t thread;
	uintptr_t low, high;  /* told */
	size_t told_guard;
	char mark;
} lives[THREADS];
static int nlives;
static pthread_barrier_t all_wrote, all_checked;

static int overlap(uintptr_t a, size_t an, uintptr_t b, size_t bn)
{
	return a < b + bn && b < a + an;
}

static void told(struct life *l)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	CHECK_OK(pthread_getattr_np(pthread_self(), &attr));
	CHECK_OK(pthread_attr_getstack(&attr, &low, &size));
	CHECK_OK(pthread_attr_getguardsize(&attr, &l->told_guard));
	CHECK_OK(pthread_attr_destroy(&attr));
	l->low = (uintptr_t)low;
	l->high = l->low + size;
}

/* All of the stack below here that libc leaves to the program, filled and looked at. */
static __attribute__((noinline)) void *life(void *arg)
{
	struct life *l = arg;
	volatile char on_stack[DEPTH];

	memset(tls, l->mark, sizeof(tls));
	CHECK_EQ((uintptr_t)tls % TLS_ALIGN, 0);
	for (size_t i = 0; i < sizeof(on_stack); i++)
		on_stack[i] = (char)(l->mark + 1);
	told(l);
	CHECK((uintptr_t)on_stack >= l->low && (uintptr_t)on_stack + DEPTH <= l->high);
	CHECK((uintptr_t)tls > (uintptr_t)on_stack + DEPTH || (uintptr_t)tls + TLS_SIZE <= l->low);
	CHECK(!overlap((uintptr_t)tls, TLS_SIZE, (uintptr_t)on_stack, DEPTH));
	CHECK(!overlap((uintptr_t)pthread_self(), 704, (uintptr_t)on_stack, DEPTH));
	pthread_barrier_wait(&all_wrote);
	for (size_t i = 0; i < TLS_SIZE; i++)
		CHECK_EQ(tls[i], l->mark);
	for (size_t i = 0; i < DEPTH; i++)
		CHECK_EQ(on_stack[i], (char)(l->mark + 1));
	pthread_barrier_wait(&all_checked);
	return NULL;
}

static void begin(size_t size, size_t guard, int own)
{
	struct life *l = &lives[nlives];
	pthread_attr_t attr;

	CHECK(nlives < THREADS);
	*l = (struct life){ .size = size, .guard = guard, .mark = (char)(nlives * 3) };
	CHECK_OK(pthread_attr_init(&attr));
	if (own) {
		l->own = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		CHECK(l->own != MAP_FAILED);
		CHECK_OK(pthread_attr_setstack(&attr, l->own, size));
	} else {
		CHECK_OK(pthread_attr_setstacksize(&attr, size));
		CHECK_OK(pthread_attr_setguardsize(&attr, guard));
	}
	nlives++;
	CHECK_OK(pthread_create(&l->thread, &attr, life, l));
	CHECK_OK(pthread_attr_destroy(&attr));
}

/* One byte through a pipe: the kernel says whether the page may be read. */
static int readable(uintptr_t at)
{
	int fds[2], ok;

	CHECK_SYS(pipe(fds));
	ok = write(fds[1], (void *)at, 1) == 1;
	CHECK_SYS(close(fds[0]));
	CHECK_SYS(close(fds[1]));
	return ok;
}

static void look(const struct life *l)
{
	if (l->own) {
		CHECK_EQ(l->low, (uintptr_t)l->own);
		CHECK_EQ(l->high - l->low, l->size);
		return;
	}
	CHECK(readable(l->low));
	CHECK(readable(l->high - 1));
	CHECK_EQ(l->told_guard, (l->guard + 4095) / 4096 * 4096);
	for (size_t at = 4096; at <= l->told_guard; at += 4096)
		CHECK(!readable(l->low - at));
}

int main(void)
{
	size_t nsizes = sizeof(sizes) / sizeof(sizes[0]), nguards = sizeof(guards) / sizeof(guards[0]);
	size_t first = 0;
	int n;

	/* libc takes the thread-local variables out of the stack; what it has no room for it refuses. */
	while (sizes[first] < 16384 + TLS_SIZE / 4096 * 4096 + TLS_ALIGN / 4096 * 8192)
		first++;
	n = (int)((nsizes - first) * (nguards + 1));
	CHECK_OK(pthread_barrier_init(&all_wrote, NULL, (unsigned)n + 1));
	CHECK_OK(pthread_barrier_init(&all_checked, NULL, (unsigned)n + 1));
	for (size_t s = first; s < nsizes; s++) {
		for (size_t g = 0; g < nguards; g++)
			begin(sizes[s], guards[g], 0);
		begin(sizes[s], 0, 1);
	}
	CHECK_EQ(nlives, n);
	pthread_barrier_wait(&all_wrote);
	for (int i = 0; i < n; i++) {
		look(&lives[i]);
		for (int k = 0; k < i; k++)
			CHECK(!overlap(lives[i].low, lives[i].high - lives[i].low, lives[k].low,
				       lives[k].high - lives[k].low));
	}
	pthread_barrier_wait(&all_checked);
	for (int i = 0; i < n; i++) {
		join(lives[i].thread);
		passed("asked for %zu, guard %zu%s: told %zu, guard %zu", lives[i].size, lives[i].guard,
		       lives[i].own ? ", own memory" : "", (size_t)(lives[i].high - lives[i].low),
		       lives[i].told_guard);
	}
	return 0;
}
