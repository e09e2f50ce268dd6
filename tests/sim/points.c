/*
 * points: what gcc calls for each atomic access in objects compiled with -fsanitize=thread.  The access itself, and a
 * point before it at which another task may go on.
 *
 * Plain accesses are no points: a race of theirs is for check-tsan.
 */
#include <stdbool.h>
#include <stdint.h>

#include "tests/sim/sim.h"

static inline void atomic_point(void)
{
	if (opt.fine)
		sim_point(POINT_ATOMIC, "atomic");
}

static inline void locked_point(void)
{
	sim_point(opt.fine ? POINT_ATOMIC : POINT_LOCKED, "locked");
}

#define ORDER __ATOMIC_SEQ_CST
#define OPS(bits, type)                                                                                       \
	type __tsan_atomic##bits##_load(const volatile type *p, int order);                                   \
	type __tsan_atomic##bits##_load(const volatile type *p, int order)                                    \
	{                                                                                                     \
		(void)order;                                                                                  \
		atomic_point();                                                                               \
		return __atomic_load_n(p, ORDER);                                                             \
	}                                                                                                     \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order);                                \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order)                                 \
	{                                                                                                     \
		(void)order;                                                                                  \
		atomic_point();                                                                               \
		__atomic_store_n(p, v, ORDER);                                                                \
	}                                                                                                     \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order);                             \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order)                              \
	{                                                                                                     \
		(void)order;                                                                                  \
		locked_point();                                                                               \
		return __atomic_exchange_n(p, v, ORDER);                                                      \
	}                                                                                                     \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *want, type v, int a, int b); \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *p, type *want, type v, int a, int b) \
	{                                                                                                     \
		(void)a;                                                                                      \
		(void)b;                                                                                      \
		locked_point();                                                                               \
		return __atomic_compare_exchange_n(p, want, v, false, ORDER, ORDER);                          \
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
		locked_point();                                                                               \
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
NOTHING(__tsan_func_entry, (void *pc __attribute__((unused))))
NOTHING(__tsan_func_exit, (void))
NOTHING(__tsan_atomic_signal_fence, (int order __attribute__((unused))))
NOTHING(__tsan_atomic_thread_fence, (int order __attribute__((unused))))
#define PLAIN(name) NOTHING(__tsan_##name, (void *p __attribute__((unused))))
PLAIN(read1) PLAIN(read2) PLAIN(read4) PLAIN(read8) PLAIN(read16)
PLAIN(write1) PLAIN(write2) PLAIN(write4) PLAIN(write8) PLAIN(write16)
PLAIN(unaligned_read2) PLAIN(unaligned_read4) PLAIN(unaligned_read8) PLAIN(unaligned_read16)
PLAIN(unaligned_write2) PLAIN(unaligned_write4) PLAIN(unaligned_write8) PLAIN(unaligned_write16)
PLAIN(volatile_read1) PLAIN(volatile_read2) PLAIN(volatile_read4) PLAIN(volatile_read8)
PLAIN(volatile_write1) PLAIN(volatile_write2) PLAIN(volatile_write4) PLAIN(volatile_write8)
PLAIN(vptr_read)
NOTHING(__tsan_read_range, (void *p __attribute__((unused)), unsigned long n __attribute__((unused))))
NOTHING(__tsan_write_range, (void *p __attribute__((unused)), unsigned long n __attribute__((unused))))
NOTHING(__tsan_vptr_update, (void **p __attribute__((unused)), void *v __attribute__((unused))))
