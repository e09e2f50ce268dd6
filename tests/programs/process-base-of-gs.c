/*
 * The base of GS, which emulators use for a thread's own data: each thread has the one that it set,
 * wherever and whenever it runs; a new thread begins with its creator's.
 */
#include "check.h"
#include <sys/syscall.h>
#include <sys/wait.h>

#ifdef __x86_64__
enum { SET_GS = 0x1001, GET_GS = 0x1004, THREADS = 12, ROUNDS = 300 };

int arch_prctl(int op, unsigned long arg);

static unsigned long by_gs(void)
{
	unsigned long v;

	__asm__ volatile("mov %%gs:0, %0" : "=r"(v));
	return v;
}

static void *inherits(void *arg)
{
	CHECK_EQ(by_gs(), *(unsigned long *)arg);
	return arg;
}

static void *works(void *arg)
{
	unsigned long own[2] = { (unsigned long)arg, 0 }, base;

	if ((long)arg % 2)
		CHECK_SYS(arch_prctl(SET_GS, (unsigned long)own));
	else
		CHECK_SYS(syscall(SYS_arch_prctl, SET_GS, own));
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec ts = { .tv_nsec = 20000 };

		if (i % 8)
			sched_yield();
		else
			nanosleep(&ts, NULL);
		CHECK_EQ(by_gs(), (unsigned long)arg);
	}
	CHECK_SYS(syscall(SYS_arch_prctl, GET_GS, &base));
	CHECK(base == (unsigned long)own);
	join(spawn(inherits, own));
	CHECK_EQ(by_gs(), (unsigned long)arg);
	return NULL;
}

static void *has_none(void *arg)
{
	unsigned long base = 1;

	for (int i = 0; i < ROUNDS; i++) {
		sched_yield();
		CHECK_SYS(syscall(SYS_arch_prctl, GET_GS, &base));
		CHECK_EQ(base, 0);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS], none = spawn(has_none, NULL);
	unsigned long own = 77;
	int status;
	pid_t pid;

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(works, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	join(none);
	passed("each thread has its own");
	CHECK_ERR(syscall(SYS_arch_prctl, SET_GS, -4096L), EPERM);
	CHECK_SYS(arch_prctl(SET_GS, (unsigned long)&own));
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		CHECK_EQ(by_gs(), 77);
		join(spawn(inherits, &own));
		CHECK_EQ(by_gs(), 77);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	passed("a child process has its maker's");
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
