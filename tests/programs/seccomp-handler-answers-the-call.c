/*
 * Where a filter's answer is SIGSYS (TRAP), the handler stands in for the system call: it runs in the
 * thread that made the call, before the call returns, sees the call's arguments, and its result is the
 * call's, however many threads there are.  It sees the program's calls alone: none of those that a thread
 * library would have to make to find out what nobody asked for.
 */
#include "check.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

enum { THREADS = 8, CALLS = 100, ADDED = 7 };

/* Nobody below asks by these, but in the row that says so. */
static const int unasked[] = {
	SYS_sched_getscheduler, SYS_sched_getparam, SYS_sched_get_priority_min, SYS_sched_get_priority_max,
	SYS_memfd_create, SYS_capget,
};

static __thread int answered;
static int others; /* atomic: calls in which the handler was not meant to run */
static pthread_barrier_t installed;

static void on_sys(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (sig != SIGSYS || info->si_code != SYS_SECCOMP)
		_exit(9);
	answered++;
	if (info->si_syscall == SYS_getpgid) {
		regs[REG_RAX] = regs[REG_RDI] + ADDED;
	} else {
		__atomic_add_fetch(&others, 1, __ATOMIC_SEQ_CST);
		regs[REG_RAX] = -ENOSYS;
	}
}

static void install(int flags)
{
	enum { N = sizeof(unasked) / sizeof(unasked[0]) };
	struct sock_filter f[N + 6] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog program = { N + 6, f };

	f[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setpriority, N + 3, 0);
	f[2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, N + 1, 0);
	for (int i = 0; i < N; i++)
		f[i + 3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)unasked[i],
							(unsigned char)(N - i), 0);
	f[N + 3] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[N + 4] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	f[N + 5] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES);
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}

/* The number that the kernel's text about the calling thread has for it. */
static int number_in_text(void)
{
	FILE *f = fopen("/proc/thread-self/status", "re");
	char line[128];
	int n = -1;

	CHECK(f);
	while (n < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "Pid: %d", &n);
	fclose(f);
	return n;
}

static void *caller(void *arg)
{
	int me = *(int *)arg, policy;
	struct sched_param sp;
	pthread_attr_t attr;

	pthread_barrier_wait(&installed);
	pthread_barrier_wait(&installed);
	for (int i = 0; i < CALLS; i++) {
		CHECK(getpgid(me * CALLS + i) == me * CALLS + i + ADDED);
		CHECK(answered == i + 1);
		sched_yield();
	}
	CHECK(setpriority(PRIO_PROCESS, 0, 5) == -1 && errno == EACCES);
	/* The creator was asked about, so libc knows it of its threads. */
	CHECK(!pthread_getschedparam(pthread_self(), &policy, &sp));
	CHECK(policy == SCHED_OTHER && sp.sched_priority == 0);
	CHECK(!pthread_getattr_np(pthread_self(), &attr));
	CHECK(!pthread_attr_getschedpolicy(&attr, &policy) && policy == SCHED_OTHER);
	pthread_attr_destroy(&attr);
	CHECK(number_in_text() > 0);
	CHECK(answered == CALLS);
	errno = 0;
	CHECK(getpriority(PRIO_PROCESS, 0) == 0 && !errno);
	return NULL;
}

/* The threads are there when the filter comes, or are made behind it. */
static void row(const char *what, int flags)
{
	pthread_t thread[THREADS];
	int number[THREADS], before = others;

	pthread_barrier_init(&installed, NULL, THREADS + 1);
	if (!flags)
		install(0);
	for (int i = 0; i < THREADS; i++) {
		number[i] = i + 1;
		CHECK(!pthread_create(&thread[i], NULL, caller, &number[i]));
	}
	pthread_barrier_wait(&installed);
	if (flags)
		install(flags);
	pthread_barrier_wait(&installed);
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(thread[i], NULL));
	CHECK(others == before);
	printf("%s: each call has its answer\n", what);
}

static void *asker(void *arg)
{
	CHECK(sched_getscheduler(0) == -1 && errno == ENOSYS && answered == 1);
	return arg;
}

static void *reader(void *arg)
{
	CHECK(number_in_text() == gettid());
	return arg;
}

/* A filter that allows all. */
static void behind_nothing(void)
{
	struct sock_filter f = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &f };
	pthread_t thread;

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	CHECK(!pthread_create(&thread, NULL, reader, NULL));
	CHECK(!pthread_join(thread, NULL));
	puts("a filter that allows all hides nothing of a thread");
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO | SA_NODEFER };
	struct sched_param sp;
	pthread_t thread;
	int policy;

	CHECK(!sigaction(SIGSYS, &sa, NULL));
	CHECK(!pthread_getschedparam(pthread_self(), &policy, &sp));
	behind_nothing();
	row("a filter upon all threads", SECCOMP_FILTER_FLAG_TSYNC);
	row("threads made behind a filter", 0);
	CHECK(!pthread_create(&thread, NULL, asker, NULL));
	CHECK(!pthread_join(thread, NULL));
	CHECK(others == 1);
	puts("what the program asks itself, its handler sees");
	return 0;
}
