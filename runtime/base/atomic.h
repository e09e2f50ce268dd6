/*
 * atomic: every operation on a word that several threads, or a thread and its signal handler, share.
 * The order is in the name.  The operand is `_Atomic`, or plain where the memory belongs to the
 * program or to libc, or where the owner alone writes it and reads it without these names.
 *
 * A cas stores new if *p is *old; otherwise *old becomes what was found.  Its order is that of a
 * success; a failure is a load of the same order without the release.  The weak one may fail for no
 * reason.  All others of the kind return the value before.
 *
 * Where an operation is not relaxed, the field says what it pairs with.  seqcst is for a store
 * before a load of another word, each of two threads its own first, and for nothing else.
 *
 * scripts/check-atomics keeps other spellings out.  This header is a leaf: every layer includes it.
 *
 * Must never: offer an operation whose name has no order.
 */
#ifndef WEFT_ATOMIC_H
#define WEFT_ATOMIC_H

/* The type of *p without _Atomic and volatile, which the comma drops with the lvalue. */
#define ATOMIC_TYPE(p) __typeof__(((void)0, *(p)))
#define ATOMIC_AT(p) ((ATOMIC_TYPE(p) *)(p))
/* Converted as an assignment would be, so that a wrong type is a warning. */
#define ATOMIC_VALUE(p, v) ((ATOMIC_TYPE(p)){v})

#define ATOMIC_LOAD(p, order) __atomic_load_n(ATOMIC_AT(p), order)
#define ATOMIC_STORE(p, v, order) __atomic_store_n(ATOMIC_AT(p), ATOMIC_VALUE(p, v), order)
#define ATOMIC_EXCHANGE(p, v, order) __atomic_exchange_n(ATOMIC_AT(p), ATOMIC_VALUE(p, v), order)
#define ATOMIC_CAS(p, old, new, weak, order, failure)                                              \
	__atomic_compare_exchange_n(ATOMIC_AT(p), old, ATOMIC_VALUE(p, new), weak, order, failure)
#define ATOMIC_FETCH(op, p, v, order) __atomic_fetch_##op(ATOMIC_AT(p), v, order)

#define load_relaxed(p) ATOMIC_LOAD(p, __ATOMIC_RELAXED)
#define load_acquire(p) ATOMIC_LOAD(p, __ATOMIC_ACQUIRE)
#define load_seqcst(p) ATOMIC_LOAD(p, __ATOMIC_SEQ_CST)

#define store_relaxed(p, v) ATOMIC_STORE(p, v, __ATOMIC_RELAXED)
#define store_release(p, v) ATOMIC_STORE(p, v, __ATOMIC_RELEASE)
#define store_seqcst(p, v) ATOMIC_STORE(p, v, __ATOMIC_SEQ_CST)

#define exchange_relaxed(p, v) ATOMIC_EXCHANGE(p, v, __ATOMIC_RELAXED)
#define exchange_acquire(p, v) ATOMIC_EXCHANGE(p, v, __ATOMIC_ACQUIRE)
#define exchange_release(p, v) ATOMIC_EXCHANGE(p, v, __ATOMIC_RELEASE)
#define exchange_acq_rel(p, v) ATOMIC_EXCHANGE(p, v, __ATOMIC_ACQ_REL)
#define exchange_seqcst(p, v) ATOMIC_EXCHANGE(p, v, __ATOMIC_SEQ_CST)

#define cas_relaxed(p, old, new) ATOMIC_CAS(p, old, new, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define cas_acquire(p, old, new) ATOMIC_CAS(p, old, new, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
#define cas_release(p, old, new) ATOMIC_CAS(p, old, new, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define cas_acq_rel(p, old, new) ATOMIC_CAS(p, old, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define cas_seqcst(p, old, new) ATOMIC_CAS(p, old, new, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define cas_weak_relaxed(p, old, new) ATOMIC_CAS(p, old, new, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define cas_weak_acq_rel(p, old, new) ATOMIC_CAS(p, old, new, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define cas_weak_seqcst(p, old, new) ATOMIC_CAS(p, old, new, 1, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define fetch_add_relaxed(p, v) ATOMIC_FETCH(add, p, v, __ATOMIC_RELAXED)
#define fetch_add_release(p, v) ATOMIC_FETCH(add, p, v, __ATOMIC_RELEASE)
#define fetch_add_acq_rel(p, v) ATOMIC_FETCH(add, p, v, __ATOMIC_ACQ_REL)
#define fetch_add_seqcst(p, v) ATOMIC_FETCH(add, p, v, __ATOMIC_SEQ_CST)
#define fetch_sub_relaxed(p, v) ATOMIC_FETCH(sub, p, v, __ATOMIC_RELAXED)
#define fetch_sub_acq_rel(p, v) ATOMIC_FETCH(sub, p, v, __ATOMIC_ACQ_REL)
#define fetch_sub_seqcst(p, v) ATOMIC_FETCH(sub, p, v, __ATOMIC_SEQ_CST)
#define fetch_or_relaxed(p, v) ATOMIC_FETCH(or, p, v, __ATOMIC_RELAXED)
#define fetch_or_release(p, v) ATOMIC_FETCH(or, p, v, __ATOMIC_RELEASE)
#define fetch_or_acq_rel(p, v) ATOMIC_FETCH(or, p, v, __ATOMIC_ACQ_REL)
#define fetch_or_seqcst(p, v) ATOMIC_FETCH(or, p, v, __ATOMIC_SEQ_CST)
#define fetch_and_relaxed(p, v) ATOMIC_FETCH(and, p, v, __ATOMIC_RELAXED)
#define fetch_and_acq_rel(p, v) ATOMIC_FETCH(and, p, v, __ATOMIC_ACQ_REL)
#define fetch_and_seqcst(p, v) ATOMIC_FETCH(and, p, v, __ATOMIC_SEQ_CST)
#define fetch_xor_seqcst(p, v) ATOMIC_FETCH(xor, p, v, __ATOMIC_SEQ_CST)

#define fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define fence_seqcst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
/* For a handler on this thread, and for a fence that another thread makes for both (membarrier). */
#define fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
