/*
 * reuse: many lives over few blocks, checked for what one life must not see of another and for
 * leaks.
 *
 * Leaks are judged by resident memory between a warm-up and the end; the two broken runs leak by
 * dozens of megabytes where the right one may move by two.
 */
#include "tests/compat/coro.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 64, WARM = 2000, LIVES = 20000, KEYS = 100 };

static struct coro pool[BLOCKS];
static pthread_key_t keys[KEYS];
static __thread int tls_word = 42;
static __thread char tls_zero[128];
static locale_t c_locale;
static int destroyed;

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static void on_end(void *arg)
{
	(void)arg;
	destroyed++;
}

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "life %d: %s\n", n, #x);                                   \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static int one_life(struct coro *c, void *arg)
{
	int n = *(int *)arg, old;
	char some;
	void *p[8];
	pthread_attr_t attr;

	/* What the last life left must be gone. */
	CHECK(errno == 0 && h_errno == 0);
	CHECK(tls_word == 42 && tls_zero[0] == 0 && tls_zero[127] == 0);
	CHECK(uselocale(NULL) == LC_GLOBAL_LOCALE);
	CHECK(dlerror() == NULL);
	for (int i = 0; i < KEYS; i++)
		CHECK(pthread_getspecific(keys[i]) == NULL);
	CHECK(!pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) &&
	      old == PTHREAD_CANCEL_ENABLE);
	CHECK(!pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old) &&
	      old == PTHREAD_CANCEL_DEFERRED);
	/* What this one leaves. */
	errno = ERANGE;
	h_errno = 3;
	tls_word++;
	memset(tls_zero, 1, sizeof tls_zero);
	uselocale(c_locale);
	for (int i = n % 7; i < KEYS; i += 7)
		CHECK(!pthread_setspecific(keys[i], &keys[i]));
	CHECK(strlen(strerror(5000 + n % 100)) > 0);
	if (n % 16 == 0)
		CHECK(!dlopen("no such library", RTLD_NOW));
	for (int i = 0; i < 8; i++)
		CHECK((p[i] = malloc((size_t)(24 + 40 * i + n % 64))));
	for (int i = 0; i < 8; i++)
		free(p[i]);
	CHECK(getrandom(&some, 1, GRND_NONBLOCK) == 1);
	CHECK(!__cxa_thread_atexit_impl(on_end, NULL, &__dso_handle));
	CHECK(!pthread_attr_init(&attr) && !pthread_attr_destroy(&attr));
	*tcb_cancelhandling(c->tcb) |= tcb_cancel_request_bits;
	if (n % 3 == 0) { /* a life may also end by unwinding */
		pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
		pthread_testcancel();
		return 1;
	}
	return 0;
}

static long resident(void)
{
	char buf[128];
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t n = read(fd, buf, sizeof buf - 1);
	char *s;

	close(fd);
	buf[n > 0 ? n : 0] = 0;
	s = strchr(buf, ' ');
	return s ? atol(s) * (sysconf(_SC_PAGESIZE) / 1024) : -1;
}

static int lives(struct coro *c, int n, bool fresh)
{
	if (!fresh && !coro_again(c, 0x10000000u + (unsigned)n))
		return 1;
	if (!coro_run(c, one_life, &n) || (c->unwound != (n % 3 == 0)) || c->result)
		return 1;
	return 0;
}

static int prepare(const char *broken)
{
	if (compat_init()) {
		fprintf(stderr, "%s\n", compat_why());
		return 1;
	}
	for (int i = 0; i < KEYS; i++)
		pthread_key_create(&keys[i], NULL);
	c_locale = newlocale(LC_ALL_MASK, "C", NULL);
	tcb_break = broken;
	return 0;
}

static int many_lives(const char *broken)
{
	long before = 0, after;

	if (prepare(broken))
		return 1;
	for (int i = 0; i < BLOCKS; i++)
		if (!coro_new(&pool[i], 0x10000000u + (unsigned)i) || lives(&pool[i], i, true))
			return 2;
	for (int n = BLOCKS; n < LIVES; n++) {
		if (n == WARM)
			before = resident();
		if (lives(&pool[n % BLOCKS], n, false))
			return 3;
	}
	after = resident();
	printf("# %d lives over %d blocks: resident %ld -> %ld KiB\n", LIVES, BLOCKS, before,
	       after);
	fflush(stdout);
	return destroyed != LIVES || after - before > 2048 ? 4 : 0;
}

/* Blocks made, used once and destroyed. */
static int many_blocks(const char *broken)
{
	long before = 0, after;

	if (prepare(broken))
		return 1;
	for (int n = 0; n < LIVES; n++) {
		if (n == WARM)
			before = resident();
		if (!coro_new(&pool[0], 0x10000000u + (unsigned)n) || lives(&pool[0], n, true))
			return 2;
		coro_free(&pool[0]);
	}
	after = resident();
	printf("# %d blocks one after the other: resident %ld -> %ld KiB\n", LIVES, before, after);
	fflush(stdout);
	return after - before > 2048 ? 4 : 0;
}

static int lives_right(void)
{
	return many_lives(NULL);
}

static int lives_stale(void)
{
	return many_lives("stale_tls");
}

static int lives_leaky(void)
{
	return many_lives("malloc_words");
}

static int blocks_right(void)
{
	return many_blocks(NULL);
}

static int blocks_leaky(void)
{
	return many_blocks("orphans");
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* Figures only: printed, never judged. */
static int figures(void)
{
	struct tcb_stack stk;
	double t0, t1, t2;
	char *area;
	struct tcb *t;

	t0 = now();
	if (prepare(NULL))
		return 1;
	t1 = now();
	printf("# discovery and self-test: %.0f us\n", (t1 - t0) / 1000);
	area = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stk = (struct tcb_stack){area, 65536, 0};
	t0 = now();
	for (int i = 0; i < 100000; i++) {
		t = tcb_create(area, &stk, 0x10000000u + (unsigned)i);
		tcb_destroy(t);
	}
	t1 = now();
	t = tcb_create(area, &stk, 0x10000000u);
	for (int i = 0; i < 100000; i++)
		tcb_reuse(t, &stk, 0x10000000u + (unsigned)i);
	t2 = now();
	tcb_destroy(t);
	printf("# create+destroy %.0f ns, reuse %.0f ns\n", (t1 - t0) / 1e5, (t2 - t1) / 1e5);
	return 0;
}

static const struct test {
	const char *name;
	int (*fn)(void);
	int ends; /* 0: must succeed */
} tests[] = {
	{"20,000 lives over 64 blocks", lives_right, 0},
	{"seen to fail with stale storage", lives_stale, 257},
	{"seen to fail with a leaking allocator cache", lives_leaky, 257},
	{"20,000 blocks one after the other", blocks_right, 0},
	{"seen to fail with caches that die with their block", blocks_leaky, 257},
	{"figures", figures, 0},
};

int main(void)
{
	char detail[64];
	int how;

	for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
		bool ok = in_child(tests[i].fn, 120, &how);

		if (tests[i].ends)
			ok = how == tests[i].ends;
		snprintf(detail, sizeof detail, "ended with %d", how);
		report(tests[i].name, ok, ok ? "" : detail);
	}
	return summary();
}
