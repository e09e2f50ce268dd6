/*
 * smoke: runs libc on a test block in a child that shares our memory.
 *
 * clone without CLONE_SIGHAND, CLONE_THREAD or an exit signal: the child has its own fault
 * handlers, the program's wait() never sees it and its SIGCHLD handler never runs.  fork would run
 * atfork handlers and copy the memory; a thread would die with the process.
 *
 * A child that crashes may leave a libc lock held, so what takes no lock comes first and malloc
 * last. It does not notice a zero id, a wrong key block or a bad vector: earlier steps do.
 */
#include "compat/selftest.h"
#include "compat/donor.h"
#include "compat/glibc.h"
#include "compat/mainarena.h"
#include "runtime/base/atomic.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SMOKE_STACK = 128 << 10 };
enum { CLONE_FLAGS = 0x100 /* VM */ | 0x200 /* FS */ | 0x400 /* FILES */ | 0x80000 /* SETTLS */ };

struct smoke {
	struct tcb *block;
	const unsigned short *ctype; /* the process's character tables */
	int at;			     /* the check that runs now, for the report */
	uint32_t done;		     /* futex: the child has only its exit before it */
};

static struct smoke test;

static const char *const checks[] = {
	"a block of ours cannot be run",     "thread pointer on a block of ours",
	"errno on a block of ours",	     "character tables on a block of ours",
	"resolver state on a block of ours", "thread keys on a block of ours",
	"robust mutex on a block of ours",   "string conversion on a block of ours",
	"malloc on a block of ours",
};

static void die(int code)
{
	/* Pairs with reap(). */
	store_release(&test.done, 1);
	sys_futex_wake(&test.done, 1);
	for (;;)
		sys_1(SYS_exit, code);
}

static void fault(int sig)
{
	die(sig);
}

struct kernel_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static void catch_faults(void)
{
	static const int sigs[] = {4, 5, 6, 7, 8, 11, 31};
	/* The handler never returns, so the restorer is never used; the kernel wants one. */
	struct kernel_sigaction sa = {fault, 0x04000000, (void (*)(void))fault, 0};

	for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++)
		sys_4(SYS_rt_sigaction, sigs[i], &sa, NULL, 8);
	/* A fault is blocked by the inherited mask?  Then it kills at once: same result. */
}

static bool robust_works(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;

	return !libc.mutexattr_init(&a) && !libc.mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) &&
	       !libc.mutex_init(&m, &a) && !libc.mutex_lock(&m) && !libc.mutex_unlock(&m);
}

static bool keys_work(void)
{
	pthread_key_t k;
	bool ok, ours;

	if (!compat_some_key(&k, &ours))
		return false;
	ok = !libc.setspecific(k, &k) && libc.getspecific(k) == &k;
	libc.setspecific(k, NULL);
	if (ours)
		libc.key_delete(k);
	return ok;
}

static void child(void *arg)
{
	struct smoke *s = arg;
	volatile int *err;
	char *volatile p;
	bool borrowed;

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		s->at++;                                                                           \
		if (!(cond))                                                                       \
			die(100);                                                                  \
	} while (0)

	catch_faults();
	CHECK(tcb_self() == s->block);
	err = &errno;
	CHECK(*err == 0 && (char *)err < (char *)s->block);
	tcb_enter();
	CHECK(*__ctype_b_loc() == s->ctype && isalpha('a') && toupper('a') == 'A');
	CHECK(libc.resolver_state() == at(s->block, (ptrdiff_t)layout.res));
	CHECK(keys_work());
	CHECK(robust_works());
	/* An arena of its own would keep 64 MB of address space; strerror() allocates, too, since glibc 2.41. */
	borrowed = mainarena_borrow();
	CHECK(strtol("12x", NULL, 10) == 12 && *strerror(2));
	p = libc.malloc(100);
	CHECK(p != NULL);
	memset(p, 1, 100);
	libc.free(p);
	if (borrowed)
		mainarena_return();
	tcb_leave();
	die(0);
}

/* Waits for the child, at most five seconds in which it could run; its exit code, or -1. */
static int reap(int pid)
{
	struct sys_patience patience = sys_patience(UINT64_C(5000000000));
	int status = 0, looks = 0;
	bool killed = false;

	for (;;) {
		long r = sys_4(SYS_wait4, pid, &status, 1 /* WNOHANG */ | 0x40000000 /* __WALL */,
			       NULL);

		if (r == pid)
			return killed || (status & 0x7f) ? -1 : status >> 8 & 0xff;
		if (r < 0 && r != -EINTR)
			return -1;
		if (!sys_patient(&patience) && !killed) {
			sys_2(SYS_kill, pid, 9);
			killed = true;
		}
		/* A child that was killed from outside says nothing. */
		if (!load_acquire(&test.done))
			sys_futex_wait(&test.done, 0, 1000000);
		else
			sys_look_again(looks++);
	}
}

/* The tables that a new thread must see, whatever locale the caller uses for itself. */
static const unsigned short *global_ctype(void)
{
	locale_t own = libc.uselocale(LC_GLOBAL_LOCALE);
	const unsigned short *p = *__ctype_b_loc();

	libc.uselocale(own);
	return p;
}

const char *smoke_run(struct tcb *t)
{
	struct smoke *s = &test;
	char *stack = sys_map(SMOKE_STACK);
	long pid;
	int code = -1;

	if (!stack)
		return "self-test: no memory";
	s->block = t;
	s->at = 0;
	store_relaxed(&s->done, 0);
	s->ctype = global_ctype();
	pid = arch_clone(CLONE_FLAGS, stack + SMOKE_STACK, t, child, s);
	if (pid > 0)
		code = reap((int)pid);
	sys_unmap(stack, SMOKE_STACK);
	return code == 0 ? NULL : checks[s->at];
}
