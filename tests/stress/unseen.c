/*
 * unseen: threads that block in the kernel by their own `syscall` instruction, all the time and for
 * short.
 *
 *	unseen [SEED [THREADS [STEPS]]]
 *
 * Pairs play ping-pong over a bare futex; by dice a thread sleeps, reads a pipe or waits for a
 * byte, all unseen, or takes a mutex, yields, waits for a condition or computes.  Each keeps a
 * running sum on its stack, in a thread-local and in memory of its own and compares the three after
 * every step: two kernel threads on one stack would not agree for long.  A counter under a mutex
 * must come out.  At the end main sleeps for a moment with nobody else alive, so that a trace shows
 * whether every processor is free again.  Prints one line, the same whatever the dice said.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

static unsigned nsteps = 1500, nthreads = 12;
static uint64_t seed0 = 1;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static unsigned long a, b;
static atomic_ulong added;
static __thread uint64_t mine;
static struct pair {
	uint32_t ball __attribute__((aligned(64)));
} *pairs;
static uint64_t *sums;
static int pipes[2];

#ifdef __x86_64__
static long raw(long nr, long x, long y, long z, long w)
{
	register long r10 __asm__("r10") = w;
	register long r8 __asm__("r8") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(nr), "D"(x), "S"(y), "d"(z), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	return r;
}
#else
#error "one instruction to be written for this machine"
#endif

static void raw_sleep(long ns)
{
	struct timespec ts = { 0, ns };

	while (raw(SYS_nanosleep, (long)&ts, (long)&ts, 0, 0) == -EINTR)
		;
}

/* The ball goes up by one at each stroke; even: the first of the pair has it. */
static void stroke(struct pair *p, unsigned me, uint32_t *count)
{
	uint32_t want = 2 * *count + me, v;

	while ((v = __atomic_load_n(&p->ball, __ATOMIC_ACQUIRE)) != want) {
		CHECK(v < want);
		raw(SYS_futex, (long)&p->ball, FUTEX_WAIT_PRIVATE, v, 0);
	}
	__atomic_store_n(&p->ball, want + 1, __ATOMIC_RELEASE);
	raw(SYS_futex, (long)&p->ball, FUTEX_WAKE_PRIVATE, 1, 0);
	++*count;
}

static void guarded(uint64_t *s)
{
	CHECK(pthread_mutex_lock(&mu) == 0);
	CHECK(a == b);
	a++;
	if (dice(s) % 4 == 0)
		raw_sleep(20000); /* the owner is gone and nobody saw it go */
	b++;
	atomic_fetch_add(&added, 1);
	if (dice(s) % 8 == 0)
		pthread_cond_broadcast(&turn);
	CHECK(pthread_mutex_unlock(&mu) == 0);
}

static void wait_a_moment(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 300000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	CHECK(pthread_mutex_lock(&mu) == 0);
	pthread_cond_timedwait(&turn, &mu, &ts);
	CHECK(pthread_mutex_unlock(&mu) == 0);
}

static void compute(uint64_t *s)
{
	volatile uint64_t x = 0;

	for (uint64_t n = dice(s) % 200000; n; n--)
		x += n;
}

static void step(uint64_t *s)
{
	char c = 'x';

	switch (dice(s) % 8) {
	case 0:
		raw_sleep((long)(dice(s) % 1000000));
		break;
	case 1:
		CHECK(write(pipes[1], &c, 1) == 1);
		CHECK(raw(SYS_read, pipes[0], (long)&c, 1, 0) == 1);
		break;
	case 2:
		CHECK(raw(SYS_write, pipes[1], (long)&c, 1, 0) == 1);
		CHECK(read(pipes[0], &c, 1) == 1);
		break;
	case 3:
		compute(s);
		break;
	case 4:
		wait_a_moment();
		break;
	case 5:
		sched_yield();
		break;
	default:
		guarded(s);
	}
}

static void *body(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t s = seed0 * 0x9e3779b97f4a7c15ULL + me + 1, sum = 0;
	uint32_t strokes = 0;

	for (unsigned i = 0; i < nsteps; i++) {
		uint64_t d = dice(&s);

		stroke(&pairs[me / 2], me % 2, &strokes);
		step(&s);
		sum += d;
		mine += d;
		sums[me] += d;
		CHECK(sum == mine && sum == sums[me]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct timespec ts = { 1, 500000000 };
	pthread_t *t;

	if (argc > 1)
		seed0 = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		nthreads = ((unsigned)atoi(argv[2]) + 1) & ~1u;
	if (argc > 3)
		nsteps = (unsigned)atoi(argv[3]);
	t = calloc(nthreads, sizeof(*t));
	sums = calloc(nthreads, sizeof(*sums));
	pairs = aligned_alloc(64, nthreads / 2 * sizeof(*pairs));
	CHECK(t && sums && pairs && pipe(pipes) == 0);
	for (unsigned i = 0; i < nthreads / 2; i++)
		pairs[i].ball = 0;
	for (unsigned i = 0; i < nthreads; i++)
		CHECK(pthread_create(&t[i], NULL, body, (void *)(uintptr_t)i) == 0);
	for (unsigned i = 0; i < nthreads; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(a == b && a == atomic_load(&added));
	for (unsigned i = 0; i < nthreads / 2; i++)
		CHECK(pairs[i].ball == 2 * nsteps);
	nanosleep(&ts, NULL);
	printf("ok %u threads, %u steps each\n", nthreads, nsteps);
	return 0;
}
