/*
 * points: what gcc calls for each atomic access in objects compiled with -fsanitize=thread.  The access itself, and a
 * point before it at which another task may go on.
 *
 * Plain accesses are no points: a race of theirs is for check-tsan.
 */
#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"
#include "tests/sim/cost.h"
#include "tests/sim/pause.h"
#include "tests/sim/sim.h"

/*
 * The store buffer of a CPU (--tso).  On x86-64 a store may become visible after later loads of the same CPU,
 * in the order of the stores (Intel SDM 3A 9.2).  So a store that is not sequentially consistent waits here,
 * its own task sees it, and it goes to memory by chance, or at the next locked instruction, store that is, or
 * system call.  To empty the buffer early is always allowed: a plain access to a word that is in it does so.
 */
struct entry {
	volatile void *p;
	uint64_t v;
	unsigned size;
	bool plain;            /* v is what others still see: the store itself cannot be held back */
};

static void write_entry(const struct entry *e)
{
	if (e->plain)
		return;
	switch (e->size) {
	case 1:
		__atomic_store_n((volatile uint8_t *)e->p, (uint8_t)e->v, __ATOMIC_SEQ_CST);
		return;
	case 2:
		__atomic_store_n((volatile uint16_t *)e->p, (uint16_t)e->v, __ATOMIC_SEQ_CST);
		return;
	case 4:
		__atomic_store_n((volatile uint32_t *)e->p, (uint32_t)e->v, __ATOMIC_SEQ_CST);
		return;
	}
	__atomic_store_n((volatile uint64_t *)e->p, e->v, __ATOMIC_SEQ_CST);
}

enum { ENTRIES = 8 };
static struct {
	struct entry e[ENTRIES];
	unsigned n;
} *buffers;        /* of each task */
static unsigned nplain;
static unsigned lazy;     /* one in so many accesses makes a store visible; of this seed */

void points_init(void)
{
	buffers = arena_alloc(MAXTASKS * sizeof(*buffers), 64);
	lazy = opt.tso ? 2u << sim_random(5) : 1;
}

static unsigned me(void)
{
	return (unsigned)(sim.cur - sim.tasks);
}

static void drain_some(unsigned t, unsigned k)
{
	for (unsigned i = 0; i < k; i++) {
		write_entry(&buffers[t].e[i]);
		nplain -= buffers[t].e[i].plain;
	}
	buffers[t].n -= k;
	for (unsigned i = 0; i < buffers[t].n; i++)
		buffers[t].e[i] = buffers[t].e[i + k];
}

void sim_drain(const struct task *t)
{
	unsigned i = (unsigned)(t - sim.tasks);

	if (buffers[i].n)
		drain_some(i, buffers[i].n);
}

void sim_drain_all(void)
{
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (buffers[i].n)
			drain_some(i, buffers[i].n);
}

/* Some CPU's oldest store becomes visible. */
static void chance(void)
{
	if (!opt.tso || sim.choosing || sim_random(lazy))
		return;
	if (buffers[me()].n && !sim_random(2))
		drain_some(me(), 1);
	else {
		unsigned t = (unsigned)sim_random(sim.ntasks);

		if (buffers[t].n)
			drain_some(t, 1);
	}
}

static bool buffered(const volatile void *p, uint64_t *v)
{
	unsigned own = me();

	for (unsigned i = buffers[own].n; i-- > 0;)
		if (buffers[own].e[i].p == p && !buffers[own].e[i].plain) {
			*v = buffers[own].e[i].v;
			return true;
		}
	for (unsigned t = 0; nplain && t < sim.ntasks; t++)
		for (unsigned i = 0; t != own && i < buffers[t].n; i++)
			if (buffers[t].e[i].p == p && buffers[t].e[i].plain) {
				*v = buffers[t].e[i].v;
				return true;
			}
	return false;
}

static void put(struct entry e)
{
	unsigned t = me();

	if (buffers[t].n == ENTRIES)
		drain_some(t, 1);
	buffers[t].e[buffers[t].n++] = e;
	nplain += e.plain;
}

/*
 * The G's count of its locks is the one plain word that others read (pin()).  Its store comes right after this
 * call and is not held back: instead others see the old value until the entry leaves the buffer.
 */
static void put_off_plain(void *p)
{
	if (opt.tso && sim.cur && p == &weft_tls.locks)
		put((struct entry){ p, weft_tls.locks, sizeof(weft_tls.locks), true });
}

static bool put_off(volatile void *p, uint64_t v, unsigned size, int order)
{
	if (!opt.tso || !sim.cur)
		return false;
	if (order == __ATOMIC_SEQ_CST) {
		sim_drain(sim.cur);
		return false;
	}
	put((struct entry){ p, v, size, false });
	return true;
}

/* A plain access, by its owner or under a lock. */
static inline void plain(const void *p, unsigned size, bool write)
{
	unsigned t;

	if (opt.measured && sim.cur)
		line_plain(p, write);
	if (!opt.tso || !sim.cur || !buffers[t = me()].n)
		return;
	for (unsigned i = 0; i < buffers[t].n; i++) {
		const char *at = (const char *)(uintptr_t)buffers[t].e[i].p;

		if (buffers[t].e[i].plain)
			continue;
		if (at < (const char *)p + size && (const char *)p < at + buffers[t].e[i].size) {
			sim_drain(sim.cur);
			return;
		}
	}
}

/*
 * A function of the runtime returns.  What it stored in its own frame is in memory before its caller's next push: the
 * stores of one CPU keep their order.  Pushes and other code without instrumentation do not pass here; without this an
 * old store would come after them.
 */
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
	const char *from = __builtin_frame_address(0), *to;

	if (!opt.tso || !sim.cur || !buffers[me()].n)
		return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wframe-address"
	to = __builtin_frame_address(1); /* of an object of the runtime: Makefile.am keeps its frame pointer */
#pragma GCC diagnostic pop
	for (unsigned i = buffers[me()].n; i-- > 0;) {
		const char *at = (const char *)(uintptr_t)buffers[me()].e[i].p;

		if (at >= from && at < to) {
			drain_some(me(), i + 1);
			return;
		}
	}
}

static inline void atomic_point(const char *what, const volatile void *p, const void *pc, bool write)
{
	if (opt.measured && sim.cur)
		line_atomic(p, write, false);
	if (opt.fine)
		sim_access(POINT_ATOMIC, what, pc, p);
	chance();
}

static inline void locked_point(const char *what, const volatile void *p, const void *pc)
{
	if (opt.measured && sim.cur)
		line_atomic(p, true, true);
	sim_access(opt.fine ? POINT_ATOMIC : POINT_LOCKED, what, pc, p);
	if (opt.tso && sim.cur)
		sim_drain(sim.cur);
}

#define PC __builtin_return_address(0)
#define ORDER __ATOMIC_SEQ_CST
#define OPS(bits, type)                                                                                       \
	type __tsan_atomic##bits##_load(const volatile type *p, int order);                                   \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                                    \
	{                                                                                                     \
		uint64_t v;                                                                                   \
                                                                                                              \
		(void)order;                                                                                  \
		atomic_point("load", p, PC, false);                                                                   \
		if (opt.tso && sim.cur && buffered(p, &v))                                                    \
			return (type)v;                                                                       \
		return __atomic_load_n(p, ORDER);                                                             \
	}                                                                                                     \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order);                                \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                                 \
	{                                                                                                     \
		atomic_point("store", p, PC, true);                                                           \
		if (opt.measured)                                                                             \
			line_left(p);                                                                         \
		if (!put_off(p, v, bits / 8, order))                                                          \
			__atomic_store_n(p, v, ORDER);                                                        \
	}                                                                                                     \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order);                             \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order)                              \
	{                                                                                                     \
		(void)order;                                                                                  \
		locked_point("exchange", p, PC);                                                              \
		return __atomic_exchange_n(p, v, ORDER);                                                      \
	}                                                                                                     \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *want, type v, int a, int b); \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *want, type v, int a, int b) \
	{                                                                                                     \
		(void)a;                                                                                      \
		(void)b;                                                                                      \
		locked_point("compare and swap", p, PC);                                                      \
		if (!__atomic_compare_exchange_n(p, want, v, false, ORDER, ORDER))                            \
			return 0;                                                                             \
		if (opt.measured)                                                                             \
			line_taken(p);                                                                        \
		return 1;                                                                                     \
	}                                                                                                     \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *want, type v, int a, int b);  \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *p, type *want, type v, int a, int b)   \
	{                                                                                                     \
		return __tsan_atomic##bits##_compare_exchange_strong(p, want, v, a, b);                       \
	}                                                                                                     \
	FETCH(bits, type, add) FETCH(bits, type, sub) FETCH(bits, type, and) FETCH(bits, type, or)            \
	FETCH(bits, type, xor)
#define FETCH(bits, type, op)                                                                                 \
	type __tsan_atomic##bits##_fetch_##op(volatile type *p, type v, int order);                           \
	type __tsan_atomic##bits##_fetch_##op(volatile type *p, type v, int order)                            \
	{                                                                                                     \
		(void)order;                                                                                  \
		locked_point("fetch_" #op, p, PC);                                                            \
		return __atomic_fetch_##op(p, v, ORDER);                                                      \
	}

OPS(8, uint8_t)
OPS(16, uint16_t)
OPS(32, uint32_t)
OPS(64, uint64_t)

#define NOTHING(name, args)                                                                                   \
	void name args;                                                                                       \
	void name args                                                                                        \
	{                                                                                                     \
	}
NOTHING(__tsan_init, (void))
/* Which functions are entered: a mark at the place after each call of this.  Of all runs, so not a variable. */
unsigned char *sim_reach;

extern const char __executable_start[];

void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
	(void)pc;
	if (sim_reach)
		sim_reach[(const char *)__builtin_return_address(0) - __executable_start] = 1;
	if (opt.measured && sim.cur)
		line_call();
}

void sim_pause(void)
{
	if (opt.measured && sim.cur)
		sim_charge(cost_pause());
}

NOTHING(__tsan_atomic_signal_fence, (int order __attribute__((unused))))
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
	if (order == __ATOMIC_SEQ_CST && opt.tso && sim.cur)
		sim_drain(sim.cur);
}

#define PLAIN(name, size, write)                                                                              \
	void __tsan_##name(void *p);                                                                          \
	void __tsan_##name(void *p)                                                                           \
	{                                                                                                     \
		plain(p, size, write);                                                                        \
	}
PLAIN(read1, 1, false) PLAIN(read2, 2, false) PLAIN(read4, 4, false) PLAIN(read8, 8, false) PLAIN(read16, 16, false)
void __tsan_write4(void *p);
void __tsan_write4(void *p)
{
	plain(p, 4, true);
	put_off_plain(p);
}
PLAIN(write1, 1, true) PLAIN(write2, 2, true) PLAIN(write8, 8, true) PLAIN(write16, 16, true)
PLAIN(unaligned_read2, 2, false) PLAIN(unaligned_read4, 4, false) PLAIN(unaligned_read8, 8, false)
PLAIN(unaligned_read16, 16, false)
PLAIN(unaligned_write2, 2, true) PLAIN(unaligned_write4, 4, true) PLAIN(unaligned_write8, 8, true)
PLAIN(unaligned_write16, 16, true)
PLAIN(volatile_read1, 1, false) PLAIN(volatile_read2, 2, false) PLAIN(volatile_read4, 4, false)
PLAIN(volatile_read8, 8, false)
PLAIN(volatile_write1, 1, true) PLAIN(volatile_write2, 2, true) PLAIN(volatile_write4, 4, true)
PLAIN(volatile_write8, 8, true)
PLAIN(vptr_read, 8, false)
#define RANGE(name, write)                                                                                    \
	void __tsan_##name(void *p, unsigned long n);                                                         \
	void __tsan_##name(void *p, unsigned long n)                                                          \
	{                                                                                                     \
		plain(p, (unsigned)n, write);                                                                 \
	}
RANGE(read_range, false) RANGE(write_range, true)
NOTHING(__tsan_vptr_update, (void **p __attribute__((unused)), void *v __attribute__((unused))))
