/*
 * syscall(SYS_futex) as programs without pthread locks use it (Rust's standard library, for one):
 * WAIT, WAKE with counts, EAGAIN when the word differs, time-outs, WAIT_BITSET with bit sets and
 * absolute times, REQUEUE, CMP_REQUEUE and WAKE_OP with their results.
 */
#include "check.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>

static _Atomic uint32_t a, b;
static atomic_int woken;

static long futex(_Atomic uint32_t *u, int op, uint32_t v, const void *t, _Atomic uint32_t *u2,
		  uint32_t v3)
{
	return syscall(SYS_futex, u, op | FUTEX_PRIVATE_FLAG, v, t, u2, v3);
}

static void *waits_on_a(void *arg)
{
	long r = futex(&a, FUTEX_WAIT_BITSET, 0, NULL, NULL, (uint32_t)(uintptr_t)arg);

	/* A wake-up may be spurious, the word tells. */
	while (a == 0 && r == 0)
		r = futex(&a, FUTEX_WAIT_BITSET, 0, NULL, NULL, (uint32_t)(uintptr_t)arg);
	CHECK(r == 0 || errno == EAGAIN);
	woken++;
	return NULL;
}

/* Waits that end only by their own wake-up: the word stays as it is. */
static void *one_wait(void *arg)
{
	CHECK_SYS(futex(&a, FUTEX_WAIT_BITSET, 0, NULL, NULL, (uint32_t)(uintptr_t)arg));
	woken++;
	return NULL;
}

/* Wakes exactly n threads that are known to come, however late. */
static void wake_n(_Atomic uint32_t *u, int n, uint32_t bits)
{
	while (n > 0) {
		long r = futex(u, FUTEX_WAKE_BITSET, (uint32_t)n, NULL, NULL, bits);

		CHECK(r >= 0 && r <= n);
		n -= (int)r;
		sched_yield();
	}
}

static void await(int n)
{
	while (woken < n)
		sched_yield();
	CHECK_EQ(woken, n);
}

static void simple_answers(void)
{
	struct timespec ts = { 0, 30 * 1000000L };
	long long began = now_ns(CLOCK_MONOTONIC);

	a = 1;
	CHECK_ERR(futex(&a, FUTEX_WAIT, 0, NULL, NULL, 0), EAGAIN);
	CHECK_EQ(futex(&a, FUTEX_WAKE, 1000, NULL, NULL, 0), 0);
	CHECK_ERR(futex(&a, FUTEX_WAIT, 1, &ts, NULL, 0), ETIMEDOUT);
	ts = after_ms(CLOCK_MONOTONIC, 30);
	CHECK_ERR(futex(&a, FUTEX_WAIT_BITSET, 1, &ts, NULL, ~0u), ETIMEDOUT);
	ts = after_ms(CLOCK_REALTIME, 30);
	CHECK_ERR(futex(&a, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 1, &ts, NULL, ~0u),
		  ETIMEDOUT);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 85 * 1000000LL);
	ts.tv_nsec = 1000000000;
	CHECK_ERR(futex(&a, FUTEX_WAIT, 1, &ts, NULL, 0), EINVAL);
	CHECK_ERR(futex(&a, FUTEX_WAIT_BITSET, 1, NULL, NULL, 0), EINVAL);
	CHECK_ERR(futex(&a, 99, 1, NULL, NULL, 0), ENOSYS);
	CHECK_ERR(syscall(SYS_futex, (char *)&a + 1, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), EINVAL);
	passed("EAGAIN, nobody to wake, time-outs, EINVAL, ENOSYS");
}

static void counts_and_bits(void)
{
	pthread_t t[20];

	a = 0;
	woken = 0;
	for (int i = 0; i < 20; i++)
		t[i] = spawn(one_wait, (void *)(uintptr_t)(i < 10 ? 1 : 2));
	wake_n(&a, 3, 1);
	await(3);
	wake_n(&a, 10, 2);
	await(13);
	CHECK_EQ(futex(&a, FUTEX_WAKE_BITSET, 1000, NULL, NULL, 4), 0);
	wake_n(&a, 7, ~0u);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	CHECK_EQ(woken, 20);
	CHECK_EQ(futex(&a, FUTEX_WAKE, 1000, NULL, NULL, 0), 0);
	passed("wake-ups by count and by bit set");
}

static void requeues(void)
{
	pthread_t t[10];
	long moved = 0;

	a = 0;
	woken = 0;
	CHECK_ERR(futex(&a, FUTEX_CMP_REQUEUE, 1, (void *)1000L, &b, 5), EAGAIN);
	for (int i = 0; i < 10; i++)
		t[i] = spawn(one_wait, (void *)(uintptr_t)~0u);
	/* The first two are woken, the rest are moved: the answer of CMP_REQUEUE counts both. */
	for (int left = 2; left > 0; sched_yield()) {
		long r = futex(&a, FUTEX_CMP_REQUEUE, (uint32_t)left, (void *)1000L, &b, 0);

		CHECK(r >= 0 && r <= 10);
		if (r <= left) {
			left -= (int)r;
		} else {
			moved += r - left;
			left = 0;
		}
	}
	await(2);
	while (moved < 8) {
		long r = futex(&a, FUTEX_CMP_REQUEUE, 0, (void *)1000L, &b, 0);

		CHECK_SYS(r);
		moved += r;
		sched_yield();
	}
	CHECK_EQ(moved, 8);
	CHECK_EQ(woken, 2);
	CHECK_EQ(futex(&a, FUTEX_WAKE, 1000, NULL, NULL, 0), 0);
	CHECK_EQ(futex(&b, FUTEX_WAKE, 3, NULL, NULL, 0), 3);
	await(5);
	/* REQUEUE answers with those woken only in old kernels' manuals; in fact it counts both
	 * too. */
	CHECK_EQ(futex(&b, FUTEX_REQUEUE, 1, (void *)2L, &a, 0), 3);
	await(6);
	CHECK_EQ(futex(&a, FUTEX_WAKE, 1000, NULL, NULL, 0), 2);
	CHECK_EQ(futex(&b, FUTEX_WAKE, 1000, NULL, NULL, 0), 2);
	for (int i = 0; i < 10; i++)
		join(t[i]);
	passed("requeues");
}

static void wake_op(void)
{
	pthread_t t[4];

	a = 0;
	b = 5;
	woken = 0;
	for (int i = 0; i < 4; i++)
		t[i] = spawn(one_wait, (void *)(uintptr_t)~0u);
	/* The operation is done on the second word: a was 0, so its waiters are woken as well as
	 * b's. */
	for (int left = 4; left > 0; sched_yield()) {
		long r = futex(&b, FUTEX_WAKE_OP, 1, (void *)(long)left, &a,
			       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0));

		CHECK(r >= 0 && r <= left);
		CHECK_EQ(a, 0);
		left -= (int)r;
	}
	for (int i = 0; i < 4; i++)
		join(t[i]);
	CHECK_EQ(woken, 4);
	CHECK_EQ(futex(&a, FUTEX_WAKE_OP, 1, (void *)1L, &b,
		       FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_GT, 4)),
		 0);
	CHECK_EQ(b, 8);
	CHECK_EQ(futex(&a, FUTEX_WAKE_OP, 1, (void *)1L, &b,
		       FUTEX_OP(FUTEX_OP_SET, 2, FUTEX_OP_CMP_LT, 0)),
		 0);
	CHECK_EQ(b, 2);
	CHECK_EQ(futex(&a, FUTEX_WAKE_OP, 1, (void *)1L, &b,
		       FUTEX_OP(FUTEX_OP_XOR, 3, FUTEX_OP_CMP_NE, 0)),
		 0);
	CHECK_EQ(b, 1);
	passed("wake-op");
}

int main(void)
{
	pthread_t t[50];

	simple_answers();
	counts_and_bits();
	requeues();
	wake_op();

	a = 0;
	woken = 0;
	for (int i = 0; i < 50; i++)
		t[i] = spawn(waits_on_a, (void *)(uintptr_t)~0u);
	let_others_block();
	a = 1;
	CHECK(futex(&a, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0) <= 50);
	for (int i = 0; i < 50; i++)
		join(t[i]);
	CHECK_EQ(woken, 50);
	passed("50 waiters released by the word and a wake-up of all");
	return 0;
}
