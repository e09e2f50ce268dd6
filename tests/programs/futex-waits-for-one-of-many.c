/*
 * The futex calls that came after futex(2).  futex_waitv: private words, shared ones and both at once,
 * up to 128, woken by every call that wakes, moved to another word, timed out by both clocks, ended by
 * a handler, and refused.  futex_wait, futex_wake and futex_requeue: alone, and across from futex(2).
 * A kernel without a call says so natively as well.
 */
#include "check.h"
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { NR_WAITV = 449, NR_WAKE = 454, NR_WAIT, NR_REQUEUE };
enum { U32 = 2, PRIVATE = FUTEX_PRIVATE_FLAG, MOST = 128 };

struct word { /* futex_waitv of newer headers */
	uint64_t val, uaddr;
	uint32_t flags, reserved;
};

static uint32_t own[MOST + 1], *shared;
static bool futex2; /* the kernel has the three */

static long futex(uint32_t *at, int op, long v, long v2, uint32_t *at2, long v3)
{
	long r = syscall(SYS_futex, at, op, v, v2, at2, v3);

	return r < 0 ? -errno : r;
}

/* ---- who waits ------------------------------------------------------------------------------- */

enum kind { ALL_PRIVATE, ALL_SHARED, BOTH, NKINDS };
static const char *const kinds[] = { "private", "shared", "both" };

struct wait {
	enum kind kind;
	unsigned n;
	const struct timespec *until;
	int clock;
	long result;
};

static bool is_shared(enum kind kind, unsigned i)
{
	return kind == ALL_SHARED || (kind == BOTH && i % 2 == 0);
}

static uint32_t *word_at(enum kind kind, unsigned i)
{
	return is_shared(kind, i) ? &shared[i] : &own[i];
}

static void words_of(enum kind kind, unsigned n, struct word *w)
{
	for (unsigned i = 0; i < n; i++)
		w[i] = (struct word){ 0, (uintptr_t)word_at(kind, i),
				      is_shared(kind, i) ? U32 : U32 | PRIVATE, 0 };
}

static void *waits(void *arg)
{
	struct wait *x = arg;
	struct word w[MOST];

	words_of(x->kind, x->n, w);
	x->result = syscall(NR_WAITV, w, x->n, 0, x->until, x->clock);
	if (x->result < 0)
		x->result = -errno;
	return NULL;
}

/* ---- who wakes: each is asked until it has woken one -------------------------------------------- */

static int flag(bool sh)
{
	return sh ? 0 : FUTEX_PRIVATE_FLAG;
}

static long by_wake(uint32_t *at, bool sh)
{
	return futex(at, FUTEX_WAKE | flag(sh), 1, 0, NULL, 0);
}

static long by_bitset(uint32_t *at, bool sh)
{
	return futex(at, FUTEX_WAKE_BITSET | flag(sh), INT_MAX, 0, NULL, 4);
}

static long by_op(uint32_t *at, bool sh)
{
	return futex(at, FUTEX_WAKE_OP | flag(sh), 1, 0, at,
		     FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_NE, 0));
}

static uint32_t *spare(bool sh)
{
	return sh ? &shared[MOST] : &own[MOST];
}

static long by_requeue(uint32_t *at, bool sh)
{
	long moved = futex(at, FUTEX_CMP_REQUEUE | flag(sh), 0, 1, spare(sh), 0);

	return moved == 1 ? by_wake(spare(sh), sh) : moved;
}

static long by_wake2(uint32_t *at, bool sh)
{
	long r = syscall(NR_WAKE, at, 2, 1, U32 | flag(sh));

	return r < 0 ? -errno : r;
}

static long by_requeue2(uint32_t *at, bool sh)
{
	struct word w[2] = { { 0, (uintptr_t)at, U32 | (uint32_t)flag(sh), 0 },
			     { 0, (uintptr_t)spare(sh), U32 | (uint32_t)flag(sh), 0 } };
	long moved = syscall(NR_REQUEUE, w, 0, 0, 1);

	return moved == 1 ? by_wake2(spare(sh), sh) : moved;
}

static const struct waker {
	const char *name;
	long (*wake)(uint32_t *at, bool sh);
	bool newer;
} wakers[] = {
	{ "FUTEX_WAKE", by_wake, false },	{ "FUTEX_WAKE_BITSET", by_bitset, false },
	{ "FUTEX_WAKE_OP", by_op, false },	{ "FUTEX_CMP_REQUEUE", by_requeue, false },
	{ "futex_wake", by_wake2, true },	{ "futex_requeue", by_requeue2, true },
};
enum { NWAKERS = sizeof wakers / sizeof wakers[0] };

static void woken(const struct waker *wk, uint32_t *at, bool sh)
{
	long r;

	while (!(r = wk->wake(at, sh)))
		sched_yield();
	CHECK_EQ(r, 1);
}

static void one_of_many(void)
{
	static const unsigned counts[] = { 1, 2, 3, 17, MOST };
	unsigned cases = 0;

	for (int kind = 0; kind < NKINDS; kind++)
		for (unsigned c = 0; c < sizeof counts / sizeof counts[0]; c++)
			for (unsigned k = 0; k < NWAKERS; k++) {
				unsigned n = counts[c], i = k * 37 % n;
				struct wait w = { .kind = kind, .n = n };
				pthread_t t;

				if (wakers[k].newer && !futex2)
					continue;
				t = spawn(waits, &w);
				woken(&wakers[k], word_at(kind, i), is_shared(kind, i));
				join(t);
				CHECK_EQ(w.result, i);
				cases++;
			}
	printf("woken in %u cases\n", cases);
}

/* ---- who waits for one word, by futex(2) and by futex_wait ---------------------------------------- */

static void *waits_old(void *arg)
{
	return (void *)futex(arg, FUTEX_WAIT_PRIVATE, 0, 0, NULL, 0);
}

static void *waits_new(void *arg)
{
	long r = syscall(NR_WAIT, arg, 0L, 2L, U32 | PRIVATE, NULL, 0);

	return (void *)(r < 0 ? -errno : r);
}

static void *waits_new_shared(void *arg)
{
	long r = syscall(NR_WAIT, arg, 0L, 2L, U32, NULL, 0);

	return (void *)(r < 0 ? -errno : r);
}

static void across(void)
{
	for (unsigned k = 0; k < NWAKERS; k++) {
		pthread_t t;

		if (k == 1 || (wakers[k].newer && !futex2))
			continue;
		t = spawn(waits_old, &own[0]);
		woken(&wakers[k], &own[0], false);
		CHECK_EQ((long)join(t), 0);
		if (!futex2)
			continue;
		t = spawn(waits_new, &own[0]);
		woken(&wakers[k], &own[0], false);
		CHECK_EQ((long)join(t), 0);
		t = spawn(waits_new_shared, &shared[0]);
		woken(&wakers[k], &shared[0], true);
		CHECK_EQ((long)join(t), 0);
	}
	passed("each wakes who waits for one word");
}

/* One call wakes who waits for the word alone and who waits for it among others. */
static void together(void)
{
	struct wait w[4];
	pthread_t t[8];
	long n = 0;

	for (int i = 0; i < 8; i++) {
		w[i % 4] = (struct wait){ .kind = i % 2 ? BOTH : ALL_PRIVATE, .n = 2 };
		t[i] = i < 4 ? spawn(waits, &w[i]) : spawn(waits_old, &own[1]);
	}
	while (n < 8) {
		long r = futex(&own[1], FUTEX_WAKE_PRIVATE, 3, 0, NULL, 0);

		CHECK(r >= 0 && r <= 3);
		n += r;
		sched_yield();
	}
	for (int i = 0; i < 8; i++)
		join(t[i]);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(w[i].result, 1);
	passed("one call wakes waiters of both kinds, three at a time");
}

/* ---- the ways out without a wake-up --------------------------------------------------------------- */

static void timeouts(void)
{
	static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_REALTIME };

	for (int kind = 0; kind < NKINDS; kind++)
		for (int c = 0; c < 2; c++)
			for (int ms = -10; ms <= 20; ms += 30) {
				struct timespec ts = after_ms(clocks[c], ms);
				struct wait w = { .kind = kind, .n = 3, .until = &ts,
						  .clock = clocks[c] };
				long long before = now_ns(CLOCK_MONOTONIC);

				waits(&w);
				CHECK_EQ(w.result, -ETIMEDOUT);
				if (ms > 0 && clocks[c] == CLOCK_MONOTONIC)
					CHECK(now_ns(CLOCK_MONOTONIC) - before >= 19 * 1000000LL);
			}
	for (int c = 0; futex2 && c < 2; c++) {
		struct timespec ts = after_ms(clocks[c], 20);

		CHECK_ERR(syscall(NR_WAIT, &own[0], 0L, 1L, U32 | PRIVATE, &ts, clocks[c]), ETIMEDOUT);
	}
	passed("time-outs on both clocks");
}

static atomic_int handled;

static void handler(int sig)
{
	handled++;
}

static void *waits_and_counts(void *arg)
{
	waits(arg);
	return NULL;
}

/* With SA_RESTART the call goes on after the handler, without it it ends. */
static void interrupted(void)
{
	struct timespec late = after_ms(CLOCK_MONOTONIC, 3600 * 1000);

	for (int i = 0; i < NKINDS * 2; i++) {
		bool restarts = i & 1;
		struct sigaction sa = { .sa_handler = handler, .sa_flags = restarts ? SA_RESTART : 0 };
		struct wait w = { .kind = i / 2, .n = 4, .until = i % 3 ? &late : NULL,
				  .clock = CLOCK_MONOTONIC, .result = 99 };
		pthread_t t;

		CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
		handled = 0;
		t = spawn(waits_and_counts, &w);
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
		while (!handled)
			sched_yield();
		if (restarts)
			woken(&wakers[0], word_at(w.kind, 3), is_shared(w.kind, 3));
		else
			while (*(volatile long *)&w.result == 99) {
				/* A handler that ran before the call began has ended nothing. */
				CHECK_OK(pthread_kill(t, SIGUSR1));
				sched_yield();
			}
		join(t);
		CHECK_EQ(w.result, restarts ? 3 : -EINTR);
	}
	passed("a handler ends the wait, or it goes on");
}

static void refused(void)
{
	struct word w[MOST + 1];
	struct timespec bad = { 0, 1000000000 }, negative = { -1, 0 }, late = { INT_MAX, 0 };

	words_of(BOTH, MOST, w);
	own[1] = 7;
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, NULL, 0), EAGAIN);
	own[1] = 0;
	shared[2] = 7;
	CHECK_ERR(syscall(NR_WAITV, w, 3, 0, NULL, 0), EAGAIN);
	shared[2] = 0;
	CHECK_ERR(syscall(NR_WAITV, w, 0, 0, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAITV, w, MOST + 1, 0, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAITV, w, 2, 1, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAITV, NULL, 2, 0, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAITV, (void *)16, 2, 0, NULL, 0), EFAULT);
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, &bad, CLOCK_MONOTONIC), EINVAL);
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, &negative, CLOCK_MONOTONIC), EINVAL);
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, &late, CLOCK_BOOTTIME), EINVAL);
	w[1].flags = 1 << 10 | U32;
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, NULL, 0), EINVAL);
	w[1].flags = PRIVATE; /* a word of one byte */
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, NULL, 0), EINVAL);
	words_of(ALL_PRIVATE, 2, w);
	w[1].reserved = 1;
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, NULL, 0), EINVAL);
	words_of(ALL_PRIVATE, 2, w);
	w[1].uaddr++;
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, NULL, 0), EINVAL);
	w[1].uaddr = 16;
	CHECK_ERR(syscall(NR_WAITV, w, 2, 0, NULL, 0), EFAULT);
	passed("what futex_waitv refuses");
}

static void refused2(void)
{
	struct timespec bad = { 0, -1 };
	struct word w[2];

	if (!futex2)
		return;
	own[0] = 7;
	CHECK_ERR(syscall(NR_WAIT, own, 0L, 1L, U32 | PRIVATE, NULL, 0), EAGAIN);
	own[0] = 0;
	CHECK_ERR(syscall(NR_WAIT, own, 0L, 0L, U32 | PRIVATE, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAIT, own, 1L << 32, 1L, U32 | PRIVATE, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAIT, own, 0L, 1L << 32, U32 | PRIVATE, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAIT, own, 0L, 1L, U32 | PRIVATE, &bad, CLOCK_MONOTONIC), EINVAL);
	CHECK_ERR(syscall(NR_WAIT, own, 0L, 1L, U32 | PRIVATE, &bad, CLOCK_BOOTTIME), EINVAL);
	CHECK_ERR(syscall(NR_WAIT, (char *)own + 1, 0L, 1L, U32 | PRIVATE, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAIT, (void *)16, 0L, 1L, U32 | PRIVATE, NULL, 0), EFAULT);
	CHECK_ERR(syscall(NR_WAIT, own, 0L, 1L, PRIVATE, NULL, 0), EINVAL);
	CHECK_ERR(syscall(NR_WAKE, own, 0L, 1, U32 | PRIVATE), EINVAL);
	CHECK_ERR(syscall(NR_WAKE, (char *)own + 1, 1L, 1, U32 | PRIVATE), EINVAL);
	CHECK_EQ(syscall(NR_WAKE, own, 1L, 0, U32 | PRIVATE), 0);
	words_of(ALL_PRIVATE, 2, w);
	CHECK_ERR(syscall(NR_REQUEUE, NULL, 0, 1, 1), EINVAL);
	CHECK_ERR(syscall(NR_REQUEUE, w, 1, 1, 1), EINVAL);
	CHECK_ERR(syscall(NR_REQUEUE, w, 0, -1, 1), EINVAL);
	own[0] = 7;
	CHECK_ERR(syscall(NR_REQUEUE, w, 0, 1, 1), EAGAIN);
	own[0] = 0;
	CHECK_EQ(syscall(NR_REQUEUE, w, 0, 1, 1), 0);
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	shared = mmap(NULL, (MOST + 1) * sizeof *shared, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	join(spawn(nothing, NULL));
	futex2 = syscall(NR_WAKE, NULL, 0L, 0, ~0u) != -1 || errno != ENOSYS;
	printf("futex_wait and its relatives: %s\n", futex2 ? "here" : "not here");
	refused2();
	across();
	if (syscall(NR_WAITV, NULL, 0, 0, NULL, 0) == -1 && errno == ENOSYS) {
		passed("no futex_waitv here");
		return 0;
	}
	printf("%s, %s and %s words\n", kinds[0], kinds[1], kinds[2]);
	refused();
	one_of_many();
	together();
	timeouts();
	interrupted();
	return 0;
}
