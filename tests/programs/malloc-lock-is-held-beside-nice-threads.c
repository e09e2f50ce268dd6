/*
 * A program with a malloc of its own, whose lock is a futex by syscall().  Some of its threads have a niceness
 * of their own; the others hold the lock for a while and give their CPU away meanwhile.  More threads begin
 * all the time.  Each round is a process of its own.
 */
#include "check.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { ROUNDS = 20, PAIRS = 8, HEAP = 256 << 20 };

/* ---- the allocator: memory is cut off and never given back ---- */

static _Atomic uint32_t word; /* 0 free, 1 held, 2 held and waited for */
static char *heap;
static size_t used;

static void heap_lock(void)
{
	uint32_t s = 0;

	if (atomic_compare_exchange_strong(&word, &s, 1))
		return;
	while (atomic_exchange(&word, 2))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void heap_unlock(void)
{
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static __attribute__((noinline)) void *cut(size_t align, size_t n)
{
	size_t at;

	heap_lock();
	if (!heap)
		heap = mmap(NULL, HEAP, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	align = align < 16 ? 16 : align;
	at = (used + 16 + align - 1) & ~(align - 1);
	used = at + n;
	if (heap == MAP_FAILED || used > HEAP)
		abort();
	((size_t *)(heap + at))[-1] = n;
	heap_unlock();
	return heap + at;
}

void *malloc(size_t n)
{
	return cut(16, n);
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return cut(16, n * size); /* zeroes, as it came */
}

void *realloc(void *p, size_t n)
{
	size_t old = p ? ((size_t *)p)[-1] : 0;
	void *q = cut(16, n);

	return p ? memcpy(q, p, old < n ? old : n) : q;
}

void *memalign(size_t align, size_t n)
{
	return cut(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return cut(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	*out = cut(align, n);
	return 0;
}

/* ---- the program ---- */

static atomic_bool over;

static void *nice_one(void *arg)
{
	struct timespec ms1 = { 0, 1000000 };

	CHECK_SYS(setpriority(PRIO_PROCESS, (id_t)gettid(), 5));
	while (!over)
		nanosleep(&ms1, NULL);
	return arg;
}

static void *holds(void *arg)
{
	while (!over) {
		heap_lock();
		sched_yield();
		heap_unlock();
		sched_yield();
	}
	return arg;
}

static void one_round(void)
{
	pthread_t t[2 * PAIRS];
	struct timespec ms5 = { 0, 5000000 };

	for (int i = 0; i < 2 * PAIRS; i++)
		t[i] = spawn(i % 2 ? nice_one : holds, NULL);
	nanosleep(&ms5, NULL);
	over = true;
	for (int i = 0; i < 2 * PAIRS; i++)
		join(t[i]);
	_exit(0);
}

int main(void)
{
	int status;

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid)
			one_round();
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	passed("%d processes with %d nice threads and %d that hold the lock of malloc", ROUNDS, PAIRS, PAIRS);
	return 0;
}
