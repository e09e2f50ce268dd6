/* main: what may be wrong with memory, where a call is made, and one case. */
#include "memory.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, LONGEST_MS = 4000 };

/* ---- memory ---- */

/* Where the kernel puts nothing by itself: what is gone stays so, whatever other threads map meanwhile. */
static char *pages(int last)
{
	static _Atomic uintptr_t next = 0x100000000000;
	char *at = mmap((void *)atomic_fetch_add(&next, 4 * PAGE), 2 * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (at == MAP_FAILED || (last >= 0 ? mprotect(at + PAGE, PAGE, last) : munmap(at + PAGE, PAGE)))
		die("mmap");
	return at + PAGE;
}

static void *put(char *at, const struct memory *m, size_t size)
{
	return m->holds ? memcpy(at, m->holds, size) : memset(at, 0, size);
}

/* Good memory, up to the end of a page. */
static void *at_end(const struct memory *m)
{
	return put(pages(PROT_NONE) - m->size, m, m->size);
}

static void *is_null(const struct memory *m)
{
	(void)m;
	return NULL;
}

static void *is_low(const struct memory *m)
{
	(void)m;
	return (void *)16;
}

static void *is_kernel(const struct memory *m)
{
	(void)m;
	return (void *)0xffff888000000000;
}

static void *is_gone(const struct memory *m)
{
	(void)m;
	return pages(-1);
}

static void *is_shut(const struct memory *m)
{
	(void)m;
	return pages(PROT_NONE);
}

static void *read_only(const struct memory *m)
{
	char *at = put(pages(PROT_NONE) - m->size, m, m->size);

	if (mprotect(at + m->size - PAGE, PAGE, PROT_READ))
		die("mprotect");
	return at;
}

/* The last bytes are missing. */
static void *crosses(const struct memory *m)
{
	size_t there = m->size > 8 ? m->size - 8 : m->size / 2;

	return put(pages(PROT_NONE) - there, m, there);
}

/* What becomes of good memory between two calls: all of it is in one page. */
static int unmapped(void *at)
{
	return munmap((void *)((uintptr_t)at & -PAGE), PAGE);
}

static int shut(void *at)
{
	return mprotect((void *)((uintptr_t)at & -PAGE), PAGE, PROT_NONE);
}

static int locked(void *at)
{
	return mprotect((void *)((uintptr_t)at & -PAGE), PAGE, PROT_READ);
}

static const struct wrong {
	const char *name;
	void *(*make)(const struct memory *m);
	int (*since)(void *at); /* the call is made twice, and this comes between */
} wrongs[] = {
	{ "good", at_end },     { "null", is_null },      { "low", is_low },
	{ "kernel", is_kernel }, { "gone", is_gone },     { "shut", is_shut },
	{ "read_only", read_only }, { "crosses", crosses },
	{ "gone_since", at_end, unmapped }, { "shut_since", at_end, shut },
	{ "read_only_since", at_end, locked },
};

/* ---- one case ---- */

enum where { MAIN, THREAD, LATE, WHERES };

static const char *const where_names[WHERES] = { "main", "thread", "late" };

/* In memory that the processes share: what the child tells. */
struct told {
	long r, left;
	int err;
	bool early;
	atomic_int done;
};

struct point {
	const struct call *call;
	const struct wrong *wrong;
	enum where where;
	int arg;
	struct told *told;
};

/* An earlier call, with all memory good and what it waits for there; then everything as before it. */
static void call_before(const struct point *x, void **p)
{
	if (x->where == LATE)
		fixture_feed(x->call->flags);
	x->call->make(p);
	fixture_drain();
	if (x->where != LATE)
		fixture_feed(x->call->flags);
	for (int i = 0; i < ARGS && x->call->arg[i].size; i++)
		put(p[i], &x->call->arg[i], x->call->arg[i].size);
	if (x->wrong->since(p[x->arg]))
		die("between two calls");
}

static void *make_call(void *arg)
{
	const struct point *x = arg;
	void *p[ARGS] = { NULL };

	for (int i = 0; i < ARGS && x->call->arg[i].size; i++)
		p[i] = i == x->arg ? x->wrong->make(&x->call->arg[i]) : at_end(&x->call->arg[i]);
	if (x->wrong->since)
		call_before(x, p);
	errno = 0;
	x->told->r = x->call->make(p);
	x->told->err = errno;
	atomic_store(&x->told->done, 1);
	return NULL;
}

static void *idles(void *arg)
{
	other_id = gettid();
	pause_ms(10 * LONGEST_MS);
	return arg;
}

static void run_here(struct point *x)
{
	struct rlimit none = { 0, 0 };
	pthread_t t;

	setrlimit(RLIMIT_CORE, &none);
	fixture_make();
	if (x->where != LATE)
		fixture_feed(x->call->flags);
	other = pthread_self();
	other_id = x->where == MAIN ? 0 : gettid();
	if (pthread_create(&t, NULL, x->where == MAIN ? idles : make_call, x))
		die("pthread_create");
	if (x->where == MAIN) {
		other = t;
		make_call(x);
	} else if (x->where == LATE) {
		pause_ms(delay_ms);
		x->told->early = atomic_load(&x->told->done);
		fixture_feed(x->call->flags);
	}
	if (x->where != MAIN)
		pthread_join(t, NULL);
	x->told->left = fixture_left();
	fixture_drop();
	_exit(0);
}

static void run(const char *name, struct point *x)
{
	const struct timespec little = { 0, 300000 };
	long long end = now_ms() + LONGEST_MS;
	int status;
	pid_t pid;

	memset(x->told, 0, sizeof(*x->told));
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0)
		run_here(x);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (now_ms() > end)
			kill(pid, SIGKILL);
		nanosleep(&little, NULL);
	}
	printf("%s:", name);
	if (!atomic_load(&x->told->done))
		printf(" does not return:");
	else if (x->told->r < 0)
		printf(" %s", strerrorname_np(x->told->r == -1 ? x->told->err : (int)-x->told->r));
	else
		printf(" %ld", x->told->r);
	if (WIFSIGNALED(status))
		printf(" %s\n", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status))
		printf(" exit %d\n", WEXITSTATUS(status));
	else
		printf("%s left %lx\n", x->told->early ? " at once" : "", x->told->left);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct point x;
	char name[160];

	cases_options(argc, argv);
	x.told = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (x.told == MAP_FAILED)
		die("mmap");
	for (unsigned c = 0; c < ncalls; c++)
		for (int a = 0; a < ARGS && calls[c].arg[a].size; a++)
			for (unsigned i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++)
				for (enum where w = MAIN; w < WHERES; w++) {
					if ((w == LATE && !(calls[c].flags & WAITS)) || (!i && a))
						continue;
					x.call = &calls[c];
					x.wrong = &wrongs[i];
					x.where = w;
					x.arg = a;
					snprintf(name, sizeof(name), "%s.%d.%s.%s", calls[c].name, a, wrongs[i].name,
						 where_names[w]);
					if (cases_take(name))
						run(name, &x);
				}
	return 0;
}
