/*
 * FUTEX_LOCK_PI and its relatives by number: the word holds the owner's gettid(); locked and unlocked
 * in user space while nobody waits; errors, time-outs, a handler meanwhile, an owner that ends, and
 * waiters that come from another word.
 */
#include "check.h"
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>

enum { THREADS = 6, ROUNDS = 2000, LOCK_PI2 = 13 };

static int private_flag;

static long fx(uint32_t *at, int op, long v, const struct timespec *ts, uint32_t *at2, long v3)
{
	return syscall(SYS_futex, at, op | private_flag, v, ts, at2, v3);
}

static uint32_t word, from;
static volatile long count; /* or else the compiler keeps it to itself */

static void lock(uint32_t *at)
{
	uint32_t none = 0;

	if (!__atomic_compare_exchange_n(at, &none, gettid(), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		CHECK_SYS(fx(at, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	CHECK_EQ(__atomic_load_n(at, __ATOMIC_SEQ_CST) & FUTEX_TID_MASK, gettid());
}

static void unlock(uint32_t *at)
{
	uint32_t me = gettid();

	if (!__atomic_compare_exchange_n(at, &me, 0, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		CHECK_SYS(fx(at, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
}

static void *counts(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		long c;

		lock(&word);
		c = count;
		if (i % 16 == 0)
			sched_yield();
		count = c + 1;
		unlock(&word);
	}
	return arg;
}

static void *others(void *arg)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 20);

	CHECK_ERR(fx(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0), EAGAIN);
	CHECK_ERR(fx(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), EPERM);
	CHECK_ERR(fx(&word, FUTEX_LOCK_PI, 0, &ts, NULL, 0), ETIMEDOUT);
	CHECK(now_ns(CLOCK_REALTIME) >= ts.tv_sec * 1000000000LL + ts.tv_nsec);
	ts.tv_nsec = 1000000000;
	CHECK_ERR(fx(&word, FUTEX_LOCK_PI, 0, &ts, NULL, 0), EINVAL);
	return arg;
}

static void errors(void)
{
	uint32_t nobodys = 0x3ffffff1;

	lock(&word);
	CHECK_ERR(fx(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	CHECK_ERR(fx(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	join(spawn(others, NULL));
	CHECK_SYS(fx(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	CHECK_EQ(word, 0);
	CHECK_SYS(fx(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
	CHECK_EQ(word, gettid());
	unlock(&word);
	CHECK_ERR(fx(&nobodys, FUTEX_LOCK_PI, 0, NULL, NULL, 0), ESRCH);
	CHECK_ERR(fx((uint32_t *)((char *)&word + 1), FUTEX_LOCK_PI, 0, NULL, NULL, 0), EINVAL);
	CHECK_ERR(fx(&word, FUTEX_CMP_REQUEUE_PI, 2, NULL, &from, 0), EINVAL);
}

static _Atomic int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	lock(&word);
	unlock(&word);
	return arg;
}

static void interrupted(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t t;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	lock(&word);
	t = spawn(waits, NULL);
	for (int i = 0; i < 5; i++) {
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
		while (handled <= i)
			usleep(1000);
	}
	CHECK(word & FUTEX_WAITERS);
	unlock(&word);
	join(t);
	CHECK_EQ(word, 0);
}

static _Atomic int owned;

static void *owns_and_ends(void *arg)
{
	lock(&word);
	owned = 1;
	while (!(__atomic_load_n(&word, __ATOMIC_SEQ_CST) & FUTEX_WAITERS))
		usleep(1000);
	let_others_block();
	return arg;
}

static void dies(void)
{
	for (int i = 0; i < 5; i++) {
		pthread_t t;

		owned = 0;
		t = spawn(owns_and_ends, NULL);
		while (!owned)
			usleep(1000);
		CHECK_SYS(fx(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
		CHECK_EQ(word & FUTEX_TID_MASK, gettid());
		CHECK(word & FUTEX_OWNER_DIED);
		CHECK_SYS(fx(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
		word = 0;
		join(t);
	}
}

static _Atomic int waiting, through;

static void *moved(void *arg)
{
	long r;

	lock(&word);
	waiting++;
	unlock(&word);
	r = fx(&from, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &word, 0);
	CHECK_EQ(r, 0);
	CHECK_EQ(word & FUTEX_TID_MASK, gettid());
	through++;
	unlock(&word);
	return arg;
}

static void condition(void)
{
	struct timespec ts = after_ms(CLOCK_MONOTONIC, 10);
	pthread_t t[THREADS];
	long r, all = 0;

	CHECK_ERR(fx(&from, FUTEX_WAIT_REQUEUE_PI, 1, NULL, &word, 0), EAGAIN);
	CHECK_ERR(fx(&from, FUTEX_WAIT_REQUEUE_PI, 0, &ts, &word, 0), ETIMEDOUT);
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(moved, NULL);
	while (waiting < THREADS)
		usleep(1000);
	let_others_block();
	lock(&word);
	CHECK_ERR(fx(&from, FUTEX_CMP_REQUEUE_PI, 1, (void *)(long)INT32_MAX, &word, 1), EAGAIN);
	while (all < THREADS) { /* those that were late come with the next */
		CHECK_SYS(r = fx(&from, FUTEX_CMP_REQUEUE_PI, 1, (void *)(long)INT32_MAX, &word, 0));
		all += r;
		if (all < THREADS)
			usleep(1000);
	}
	CHECK_EQ(through, 0);
	unlock(&word);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	CHECK_EQ(through, THREADS);
	through = waiting = 0;
}

int main(void)
{
	static const char *const names[] = { "private", "shared" };
	pthread_t t[THREADS];

	for (int i = 0; i < 2; i++) {
		private_flag = i ? 0 : FUTEX_PRIVATE_FLAG;
		count = 0;
		for (int k = 0; k < THREADS; k++)
			t[k] = spawn(counts, NULL);
		for (int k = 0; k < THREADS; k++)
			join(t[k]);
		CHECK_EQ(count, THREADS * ROUNDS);
		CHECK_EQ(word, 0);
		passed("%s: one at a time", names[i]);
		errors();
		passed("%s: who may not is told", names[i]);
		handled = 0;
		interrupted();
		passed("%s: handlers run meanwhile", names[i]);
		dies();
		passed("%s: an owner that ends leaves it to who waits", names[i]);
		condition();
		passed("%s: waiters move to it from another word", names[i]);
	}
	return 0;
}
