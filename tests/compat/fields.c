/*
 * fields: every field that a thread block must have right, each seen to matter.
 *
 * Each case runs twice, each time in a child of its own: with the field right the check must
 * succeed, with the field broken on creation (tcb_break) it must fail, by a crash, a hang or a
 * wrong answer.  A case whose broken run succeeds is a case that proves nothing, and counts as
 * failed.
 */
#include "tests/compat/coro.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <locale.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ID = 0x10000001 };

static struct coro one, two;

static int start(struct coro *c, uint32_t id)
{
	if (coro_new(c, id))
		return 0;
	fprintf(stderr, "no block\n");
	return 1;
}

static int run_one(int (*fn)(struct coro *, void *))
{
	if (start(&one, ID))
		return 1;
	return coro_run(&one, fn, NULL) ? one.result : 2;
}

/* ---- ctype ---- */

static int use_ctype(struct coro *c, void *arg)
{
	volatile int ch = 'x';

	(void)c;
	return *__ctype_b_loc() != arg || !(isalpha(ch) && toupper(ch) == 'X');
}

static int case_ctype(void)
{
	/* Newer libcs fall back to the C locale's tables, so the process must use another's. */
	setlocale(LC_ALL, "C.UTF-8");
	if (start(&one, ID))
		return 1;
	return coro_run(&one, use_ctype, (void *)(uintptr_t)*__ctype_b_loc()) ? one.result : 2;
}

/* ---- resolver ---- */

static int use_resolver(struct coro *c, void *arg)
{
	struct addrinfo *ai = NULL;
	int e = getaddrinfo("localhost", "80", NULL, &ai);

	(void)c, (void)arg;
	/* Any answer will do, even "no such name": what counts is that the resolver's state was
	 * usable. */
	if (!e)
		freeaddrinfo(ai);
	return 0;
}

static int case_resolver(void)
{
	return run_one(use_resolver);
}

/* ---- list node, in a fork child ---- */

static int use_fork(struct coro *c, void *arg)
{
	int status = -1;
	pid_t pid = fork();

	(void)arg;
	if (pid == 0) {
		tcb_fork_child(c->tcb);
		_exit(tcb_tid(c->tcb) == (uint32_t)getpid() ? 0 : 3); /* libc wrote it */
	}
	return waitpid(pid, &status, 0) != pid || status != 0;
}

static int case_fork(void)
{
	return run_one(use_fork);
}

/* ---- listed: a library loaded later brings initial-exec TLS ---- */

static locale_t (*other_uselocale)(locale_t);

static int use_later_tls(struct coro *c, void *arg)
{
	(void)c, (void)arg;
	/* The second libc's locale pointer is initial-exec and initialised: zero means nobody
	 * copied. */
	return other_uselocale(NULL) == NULL;
}

static int case_later_tls(void)
{
	void *h;

	if (start(&one, ID))
		return 1;
	h = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	if (!h || !(other_uselocale = (locale_t(*)(locale_t))dlsym(h, "uselocale"))) {
		fprintf(stderr, "%s\n", dlerror());
		return 3;
	}
	return coro_run(&one, use_later_tls, NULL) ? one.result : 2;
}

/* ---- pointer guard ---- */

static void at_exit(void)
{
}

static int use_atexit(struct coro *c, void *arg)
{
	(void)c, (void)arg;
	return atexit(at_exit);
}

static int case_pointer_guard(void)
{
	return run_one(use_atexit); /* the child's exit() runs it, with FS back on main's block */
}

/* ---- robust list ---- */

static int use_robust(struct coro *c, void *arg)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;

	(void)c, (void)arg;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &a);
	return pthread_mutex_lock(&m) || pthread_mutex_unlock(&m);
}

static int case_robust(void)
{
	return run_one(use_robust);
}

/* ---- unique ids: libc's recursive locks (the loader's are such) know their owner by id ---- */

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int hold_recursive(struct coro *c, void *arg)
{
	(void)arg;
	if (pthread_mutex_lock(&recursive))
		return 1;
	coro_yield(c);
	return pthread_mutex_unlock(&recursive);
}

static int try_recursive(struct coro *c, void *arg)
{
	(void)c, (void)arg;
	return pthread_mutex_trylock(&recursive) != EBUSY;
}

static int case_same_tid(void)
{
	if (start(&one, ID) || start(&two, ID + 1))
		return 1;
	if (coro_run(&one, hold_recursive, NULL))
		return 2;
	if (!coro_run(&two, try_recursive, NULL) || two.result)
		return 3;
	return !coro_resume(&one) || one.result;
}

/* ---- id zero ---- */

static int cancel_self(struct coro *c, void *arg)
{
	pthread_mutex_t m = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	(void)c, (void)arg;
	/* A free lock has owner 0: to a thread with id 0 that is itself. */
	if (pthread_mutex_lock(&m) || pthread_mutex_unlock(&m))
		return 1;
	pthread_cancel(pthread_self());
	pthread_testcancel();
	return 1;
}

static int case_tid0(void)
{
	if (start(&one, ID) || !coro_run(&one, cancel_self, NULL))
		return 1;
	return !one.unwound;
}

/* ---- rseq: the CPU number ---- */

static int use_cpu(struct coro *c, void *arg)
{
	(void)c;
	return sched_getcpu() != *(int *)arg;
}

static int case_cpu(void)
{
	cpu_set_t allowed, one_cpu;
	int cpu = CPU_SETSIZE - 1;

	sched_getaffinity(0, sizeof allowed, &allowed);
	while (cpu > 0 && !CPU_ISSET(cpu, &allowed))
		cpu--;
	CPU_ZERO(&one_cpu);
	CPU_SET(cpu, &one_cpu);
	if (sched_setaffinity(0, sizeof one_cpu, &one_cpu) || start(&one, ID))
		return 1;
	return coro_run(&one, use_cpu, &cpu) ? one.result : 2;
}

/* ---- rseq of the main block, which other kernel threads run ---- */

static void *main_fs;
static int other_cpu, seen_cpu;
static uint32_t main_asleep;

static void *borrow_main(void *arg)
{
	void *own = arch_getfs();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(other_cpu, &set);
	sched_setaffinity(0, sizeof set, &set);
	arch_setfs(main_fs); /* main sleeps in a raw system call and touches nothing of it */
	seen_cpu = sched_getcpu();
	arch_setfs(own);
	__atomic_store_n(&main_asleep, 0, __ATOMIC_RELEASE);
	sys_futex_wake(&main_asleep, 1);
	return arg;
}

static int case_main_cpu(void)
{
	cpu_set_t allowed, set;
	pthread_t th;
	int cpu = 0;

	sched_getaffinity(0, sizeof allowed, &allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	while (other_cpu = other_cpu ? other_cpu + 1 : cpu + 1, !CPU_ISSET(other_cpu, &allowed))
		if (other_cpu >= CPU_SETSIZE - 1)
			return 3;
	main_fs = arch_getfs();
	main_asleep = 1;
	if (sched_setaffinity(0, sizeof set, &set) || pthread_create(&th, NULL, borrow_main, NULL))
		return 1;
	while (__atomic_load_n(&main_asleep, __ATOMIC_ACQUIRE))
		sys_futex_wait(&main_asleep, 1, 0);
	pthread_join(th, NULL);
	return seen_cpu != other_cpu;
}

/* ---- stack bounds ---- */

static int use_bounds(struct coro *c, void *arg)
{
	pthread_attr_t a;
	void *base = NULL;
	size_t size = 0, guard = 0;
	char here;
	int e;

	(void)arg;
	/* libc asks the kernel for the thread's affinity on the way: lend the block a real id. */
	tcb_set_tid(c->tcb, (uint32_t)sys_gettid());
	e = pthread_getattr_np(pthread_self(), &a);
	tcb_set_tid(c->tcb, ID);
	if (e)
		return 1;
	pthread_attr_getstack(&a, &base, &size);
	pthread_attr_getguardsize(&a, &guard);
	return base != (char *)c->map + CORO_GUARD || size != c->stack_size ||
	       guard != CORO_GUARD || &here < (char *)base || &here >= (char *)base + size;
}

static int case_bounds(void)
{
	return run_one(use_bounds);
}

/* ---- a second life ---- */

static __thread int counter = 7;

static int dirty(struct coro *c, void *arg)
{
	int old;

	(void)c, (void)arg;
	errno = EDOM;
	counter++;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	return 0;
}

static int expect_clean(struct coro *c, void *arg)
{
	(void)arg;
	return errno != 0 || counter != 7 || !tcb_cancel_enabled(c->tcb) ||
	       tcb_cancel_pending(c->tcb) || tcb_tid(c->tcb) != ID + 1;
}

static int case_second_life(void)
{
	if (start(&one, ID) || !coro_run(&one, dirty, NULL) || !coro_again(&one, ID + 1))
		return 1;
	return coro_run(&one, expect_clean, NULL) ? one.result : 2;
}

/* ---- cancellation by request word ---- */

static int request_self(struct coro *c, void *arg)
{
	int old;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	__atomic_fetch_or(tcb_cancelhandling(c->tcb), tcb_cancel_request_bits, __ATOMIC_SEQ_CST);
	pthread_testcancel(); /* disabled: must return */
	if (tcb_cancel_pending(c->tcb) || tcb_cancel_enabled(c->tcb))
		return 1;
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	if (!tcb_cancel_pending(c->tcb) || tcb_cancel_async(c->tcb))
		return 1;
	pthread_testcancel();
	return 1;
}

static int case_request(void)
{
	if (start(&one, ID) || !coro_run(&one, request_self, NULL))
		return 1;
	return !one.unwound;
}

enum { WRONG = 256 + 1 };

static const struct test {
	const char *name, *field;
	int (*fn)(void);
	int ends; /* how the broken run must end: a signal, WRONG for a wrong answer, 0 for either
		   */
} tests[] = {
	{"character tables", "ctype", case_ctype, 0},
	{"resolver state", "resp", case_resolver, SIGSEGV},
	{"list node in a fork child", "list", case_fork, WRONG},
	{"initial-exec TLS of a later library", "unlisted", case_later_tls, WRONG},
	{"pointer guard at exit", "pointer_guard", case_pointer_guard, SIGSEGV},
	{"robust mutex", "robust", case_robust, SIGSEGV},
	{"one owner per id", "same_tid", case_same_tid, WRONG},
	{"cancellation of oneself", "tid0", case_tid0, WRONG},
	{"current CPU", "rseq", case_cpu, WRONG},
	{"current CPU on the main block", "main_rseq", case_main_cpu, WRONG},
	{"stack bounds", "stackblock", case_bounds, WRONG},
	{"a second life starts clean", "stale_tls", case_second_life, WRONG},
	{"request word is acted upon", "request", case_request, WRONG},
};

static const struct test *current;
static const char *field;

/* Before 2.35 libc registers no rseq: nothing can be wrong there, and the case passes as it is. */
static bool has_field(const char *name)
{
	return !strstr(name, "rseq") || atoi(gnu_get_libc_version() + 2) >= 35;
}

static int child(void)
{
	/* The proof itself must run on right blocks; it is also what handles the main block. */
	if (field && !strcmp(field, "main_rseq"))
		tcb_break = field;
	if (compat_init()) {
		fprintf(stderr, "%s\n", compat_why());
		return 1;
	}
	tcb_break = field;
	return current->fn();
}

int main(void)
{
	char detail[64];
	int how;

	for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
		bool ok;

		current = &tests[i];
		field = NULL;
		ok = in_child(child, 10, &how);
		snprintf(detail, sizeof detail, ok ? "" : "ended with %d", how);
		report(current->name, ok, detail);
		field = current->field;
		ok = in_child(child, 10, &how);
		if (has_field(field))
			ok = !ok && (how == tests[i].ends || (!tests[i].ends && (how == SIGSEGV || how == WRONG)));
		snprintf(detail, sizeof detail, "'%s' wrong, %s %d", field,
			 how >= 256 ? "exit" : "signal", how >= 256 ? how - 256 : how);
		report(current->name, ok, detail);
	}
	return summary();
}
