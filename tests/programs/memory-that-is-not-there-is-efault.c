/*
 * An argument that names memory which is not there is EFAULT, also of calls whose answer is no matter
 * of the kernel's alone; so stack unwinders ask whether an address can be read.  What ends with a page
 * is there.
 */
#include "check.h"
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static char *end; /* of a page, with none behind */

static long id(void)
{
	return syscall(SYS_gettid);
}

#define BAD(call) CHECK_ERR(call, EFAULT)

static void masks(char *p)
{
	sigset_t none;

	sigemptyset(&none);
	BAD(syscall(SYS_rt_sigprocmask, -1, p, NULL, 8));
	BAD(syscall(SYS_rt_sigprocmask, SIG_BLOCK, p, NULL, 8));
	BAD(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, p, 8));
	BAD(syscall(SYS_rt_sigaction, SIGUSR1, p, NULL, 8));
	BAD(syscall(SYS_rt_sigaction, SIGUSR1, NULL, p, 8));
	BAD(syscall(SYS_rt_sigpending, p, 8));
	BAD(syscall(SYS_rt_sigtimedwait, p, NULL, NULL, 8));
	BAD(syscall(SYS_rt_sigtimedwait, &none, NULL, p, 8));
	BAD(syscall(SYS_rt_sigsuspend, p, 8));
	BAD(syscall(SYS_rt_tgsigqueueinfo, getpid(), id(), SIGUSR1, p));
	BAD(syscall(SYS_sigaltstack, p, NULL));
	BAD(syscall(SYS_sigaltstack, NULL, p));
	BAD(sigaltstack((stack_t *)p, NULL));
	BAD(sigaltstack(NULL, (stack_t *)p));
	BAD(sigtimedwait((sigset_t *)p, NULL, NULL));
	BAD(sigtimedwait(&none, NULL, (struct timespec *)p));
}

static void threads(char *p)
{
	timer_t timer;

	BAD(prctl(PR_SET_NAME, p));
	BAD(prctl(PR_GET_NAME, p));
	BAD(syscall(SYS_capget, p, NULL));
	BAD(syscall(SYS_timer_create, CLOCK_MONOTONIC, p, &timer));
	BAD(syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, p));
	BAD(getrusage(RUSAGE_THREAD, (struct rusage *)p));
	BAD(sched_setaffinity(0, sizeof(cpu_set_t), (cpu_set_t *)p));
	BAD(sched_setaffinity((pid_t)id(), sizeof(cpu_set_t), (cpu_set_t *)p));
	BAD(sched_setparam(0, (struct sched_param *)p));
	BAD(sched_getparam(0, (struct sched_param *)p));
	BAD(sched_setscheduler(0, SCHED_OTHER, (struct sched_param *)p));
	BAD(syscall(SYS_clone3, p, 64));
}

static void there(void)
{
	char *word = end - 8, *name = end - 3, was[16];
	uint64_t mask;

	memset(word, 0, 8);
	CHECK_ERR(syscall(SYS_rt_sigprocmask, -1, word, NULL, 8), EINVAL);
	CHECK_SYS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, word, NULL, 8));
	memset(word, 0xff, 8);
	CHECK_SYS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, word, 8));
	memcpy(&mask, word, 8);
	CHECK_EQ(mask, 0);
	memset(word, 0xff, 8);
	CHECK_SYS(syscall(SYS_rt_sigpending, word, 8));
	memcpy(&mask, word, 8);
	CHECK_EQ(mask, 0);
	memcpy(name, "ab", 3);
	CHECK_SYS(prctl(PR_SET_NAME, name));
	CHECK_SYS(prctl(PR_GET_NAME, was));
	CHECK_EQ(strcmp(was, "ab"), 0);
	memcpy(name, "abc", 3); /* and no end */
	BAD(prctl(PR_SET_NAME, name));
	CHECK_SYS(prctl(PR_GET_NAME, was));
	CHECK_EQ(strcmp(was, "ab"), 0);
	CHECK_SYS(prctl(PR_GET_NAME, end - 16));
	CHECK_EQ(strcmp(end - 16, "ab"), 0);
}

static void *all(void *arg)
{
	masks(end);
	masks(end - 4);
	passed("signals");
	threads(end);
	passed("what there is of a thread");
	there();
	passed("what ends with a page is there");
	return arg;
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	end = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(end != MAP_FAILED);
	end += page;
	CHECK_SYS(mprotect(end, page, PROT_NONE));
	join(spawn(all, NULL));
	all(NULL);
	return 0;
}
