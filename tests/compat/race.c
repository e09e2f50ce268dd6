/*
 * race: blocks come and go on several kernel threads while libc changes the same lists.
 *
 * Two threads make, run, reuse and destroy blocks; one creates and joins ordinary threads; one
 * loads and unloads a library whose initial-exec TLS must reach every listed block, or main changes
 * ids; main forks. Never all of it: setuid waits for a thread that is being created, which waits
 * for the loader, which waits for setuid: libc deadlocks by itself (seen on 2.36), with no block of
 * ours in the cycle. Afterwards the lists must be whole, hold nothing of ours, and the lock must be
 * free.
 *
 * The alarm in_child() sets is what notices a lock that both sides do not agree on.
 */
#include "tests/compat/coro.h"

#include "compat/stacklist.h"

#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 4000, LOADS = 150, FORKS = 60, MAKERS = 2 };

static volatile int stop;
static int kernel_ids[MAKERS];
static struct tcb *kernel_blocks[MAKERS];
static __thread int word = 11;

static bool calling(void)
{
	return false;
}

static struct tcb *registered(bool other)
{
	(void)other;
	int id = sys_gettid();

	for (int i = 0; i < MAKERS; i++)
		if (__atomic_load_n(&kernel_ids[i], __ATOMIC_ACQUIRE) == id)
			return kernel_blocks[i];
	return NULL;
}

static int life(struct coro *c, void *arg)
{
	void *p = malloc(200);

	(void)arg;
	if (!p || word != 11 || errno || arch_getfs() != (void *)c->tcb)
		return 1;
	word++;
	errno = 5;
	free(p);
	return 0;
}

static void *maker(void *arg)
{
	int me = (int)(intptr_t)arg;
	uint32_t id = 0x10000000u + (uint32_t)me * 1000000;
	struct coro c[4];

	kernel_blocks[me] = tcb_self();
	__atomic_store_n(&kernel_ids[me], sys_gettid(), __ATOMIC_RELEASE);
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < 4; i++)
			if (!coro_new(&c[i], id++) || !coro_run(&c[i], life, NULL) || c[i].result)
				return "a new block";
		for (int i = 0; i < 4; i++)
			if (!coro_again(&c[i], id++) || !coro_run(&c[i], life, NULL) || c[i].result)
				return "a reused block";
		for (int i = 0; i < 4; i++)
			coro_free(&c[3 - i]);
	}
	return NULL;
}

static void *same(void *arg)
{
	return arg;
}

static void *plain(void *arg)
{
	pthread_t t;
	void *r;

	(void)arg;
	while (!stop)
		if (pthread_create(&t, NULL, same, &t + 1) || pthread_join(t, &r) || r != &t + 1)
			return "an ordinary thread";
	return NULL;
}

static int later(struct coro *c, void *uselocale_of)
{
	(void)c;
	return ((locale_t(*)(locale_t))uselocale_of)(NULL) == NULL;
}

/* A second libc in a namespace of its own: its locale pointer is initial-exec and not zero. */
static void *loader(void *arg)
{
	struct coro c;

	(void)arg;
	for (int n = 0; n < LOADS; n++) {
		void *h;

		if (!coro_new(&c, 0x20000000u + (uint32_t)n))
			return "a new block";
		h = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
		if (!h)
			return dlerror();
		if (!coro_run(&c, later, dlsym(h, "uselocale")) || c.result)
			return "TLS of a later library";
		dlclose(h);
		coro_free(&c);
	}
	return NULL;
}

static const char *fork_and_setuid(bool ids)
{
	for (int n = 0; n < FORKS; n++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			struct coro c;

			tcb_fork_child(tcb_self());
			/*
			 * Not after a fork in the middle of a load: libc's own table of modules
			 * may be half written then, and its assertion would end the child.
			 */
			_exit(ids &&
			      (!coro_new(&c, 0x30000000) || !coro_run(&c, life, NULL) || c.result));
		}
		if (waitpid(pid, &status, 0) != pid || status != 0)
			return "a fork child";
		if (ids && setuid(getuid()))
			return "setuid";
	}
	return NULL;
}

static int lists_are_whole(void)
{
	bool broken = false;
	int n = 0;

	list_holds(layout.used, NULL, &broken);
	list_holds(layout.cache, NULL, &broken);
	for (struct list_node *p = layout.user->next; p != layout.user && n < 100; p = p->next)
		n++;
	/* Main's own block is the only one that is left. */
	return !broken && n == 1 && *layout.lock == 0 && *layout.in_flight == 0;
}

static int at_once(void *(*other)(void *), bool ids)
{
	pthread_t m[MAKERS], p, l;
	void *r;
	const char *e;
	int bad = 0;

	if (compat_init() || compat_setxid_wrap(registered, calling)) {
		fprintf(stderr, "%s\n", compat_why());
		return 1;
	}
	for (int i = 0; i < MAKERS; i++)
		if (pthread_create(&m[i], NULL, maker, (void *)(intptr_t)i))
			return 1;
	if (pthread_create(&p, NULL, plain, NULL) || pthread_create(&l, NULL, other, NULL))
		return 1;
	e = fork_and_setuid(ids);
	if (e)
		bad = fprintf(stderr, "%s\n", e);
	for (int i = 0; i < MAKERS; i++)
		if (!pthread_join(m[i], &r) && r)
			bad = fprintf(stderr, "%s\n", (char *)r);
	if (!pthread_join(l, &r) && r)
		bad = fprintf(stderr, "%s\n", (char *)r);
	stop = 1;
	if (!pthread_join(p, &r) && r)
		bad = fprintf(stderr, "%s\n", (char *)r);
	return bad || !lists_are_whole();
}

static int with_loader(void)
{
	return at_once(loader, false);
}

static int with_setuid(void)
{
	return at_once(same, true);
}

static void run(const char *name, int (*fn)(void))
{
	char detail[64];
	int how;
	bool ok = in_child(fn, 100, &how);

	snprintf(detail, sizeof detail, "ended with %d", how);
	report(name, ok, ok ? "" : detail);
}

int main(void)
{
	run("blocks, threads, fork and loading at once", with_loader);
	run("blocks, threads, fork and setuid at once", with_setuid);
	return summary();
}
