/*
 * rawsyscall: a system call that certainly does not wait keeps its P.
 *
 * Leaving and taking back a P costs two compare-and-swaps and is pointless around a poll with a
 * zero timeout.  But a G that owns a P may get the preemption signal, in the middle of the call:
 * use this only for calls that a signal does not end early, or whose EINTR can be retried without a
 * visible effect. No cancellation point: callers that need one call testcancel() first.
 *
 * Must never: be used for a call that can sleep for longer than a lock in the kernel.
 */
#ifndef WEFT_SHIM_RAWSYSCALL_H
#define WEFT_SHIM_RAWSYSCALL_H

#include "shim/shim.h"

#include "runtime/arch/cpu.h"

/* The result or -errno. */
static inline long direct(long nr, long a, long b, long c, long d, long e, long f)
{
	return arch_syscall(nr, a, b, c, d, e, f);
}

#define direct6(nr, a, b, c, d, e, f)                                                              \
	direct(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define direct5(nr, a, b, c, d, e) direct6(nr, a, b, c, d, e, 0)
#define direct4(nr, a, b, c, d) direct6(nr, a, b, c, d, 0, 0)
#define direct3(nr, a, b, c) direct6(nr, a, b, c, 0, 0, 0)

/*
 * A call that the program has not made, and that libc would not make for it: a filter may forbid it
 * (own.def), and then it is not made.
 */
#define own4(nr, a, b, c, d)                                                                       \
	({                                                                                         \
		long own_r = runtime_missing(nr, (long)(a), (long)(b), (long)(c));                 \
		unlikely(own_r) ? own_r : direct4(nr, a, b, c, d);                                 \
	})
#define own3(nr, a, b, c) own4(nr, a, b, c, 0)

/* block_cp's argument casts, for calls that are no cancellation points. */
#define nocp6(nr, a, b, c, d, e, f)                                                                \
	(call_timed(nr), block_nocp(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))
#define nocp4(nr, a, b, c, d) nocp6(nr, a, b, c, d, 0, 0)
#define nocp3(nr, a, b, c) nocp6(nr, a, b, c, 0, 0, 0)
#define nocp2(nr, a, b) nocp6(nr, a, b, 0, 0, 0, 0)
#define nocp1(nr, a) nocp6(nr, a, 0, 0, 0, 0, 0)

/* Attributes of the target go with an alias where the compiler can do that (gcc 9). */
#if __has_attribute(copy)
#define COPY(target) copy(target)
#else
#define COPY(target)
#endif

/* A second exported name of one function, with its attributes: glibc exports __read beside read. */
#define ALIAS(alias_name, target)                                                                  \
	EXPORT extern __typeof__(target) alias_name __attribute__((alias(#target), COPY(target)))

/*
 * The same under a name that C cannot declare here, because a header gives it another meaning.  No
 * assembly: link-time optimisation would make a local name of it.
 */
#define LINKER_NAME(target, linker_name)                                                           \
	EXPORT extern __typeof__(target) linker_name##_of_##target __asm__(#linker_name)           \
		__attribute__((alias(#target), COPY(target)))

/* shim_NAME: what the shim itself calls, past the PLT and other preloaded libraries. */
#define TWIN(name)                                                                                 \
	extern __typeof__(name) shim_##name                                                        \
		__attribute__((alias(#name), COPY(name), visibility("hidden")))

/* glibc's report of an overflow that fortified code found; does not return. */
extern void __chk_fail(void) __attribute__((noreturn));

#endif
