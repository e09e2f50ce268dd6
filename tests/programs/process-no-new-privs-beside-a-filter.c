/*
 * All threads have asked for no_new_privs, and then a filter forbids to ask, by the death of the process: of one thread
 * and what that one makes, or of all.  All have it still, however many threads there are, and so have the threads of
 * the children of the one that is behind the filter.
 */
#include "check.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { ASK = 3, MORE = 24 };

static pthread_barrier_t step;

static long filter(unsigned how, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_NO_NEW_PRIVS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, how),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static void *has_it(void *arg)
{
	for (int i = 0; i < 10; i++) {
		usleep(100);
		for (volatile int n = 0; n < 50000; n++)
			;
		CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	}
	return arg;
}

static void all_have_it(void)
{
	pthread_t t[MORE];

	for (int i = 0; i < MORE; i++)
		t[i] = spawn(has_it, NULL);
	for (int i = 0; i < MORE; i++)
		join(t[i]);
}

static void children_have_it(int generations)
{
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0) {
		all_have_it();
		if (generations > 1)
			children_have_it(generations - 1);
		_exit(0);
	}
	child_ends(pid, 0);
}

static void *asks(void *arg)
{
	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	for (int i = 0; i < 4; i++) {
		meet_at(&step);
		has_it(NULL);
		all_have_it();
	}
	return arg;
}

int main(void)
{
	pthread_t t[ASK];

	CHECK_OK(pthread_barrier_init(&step, NULL, ASK + 1));
	for (int i = 0; i < ASK; i++)
		t[i] = spawn(asks, NULL);
	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	meet_at(&step);
	CHECK_EQ(filter(SECCOMP_RET_KILL_PROCESS, 0), 0);
	meet_at(&step);
	all_have_it();
	children_have_it(2);
	passed("one thread must not ask any more");
	meet_at(&step);
	CHECK_EQ(filter(SECCOMP_RET_KILL_PROCESS, SECCOMP_FILTER_FLAG_TSYNC), 0);
	meet_at(&step);
	all_have_it();
	children_have_it(2);
	passed("no thread must ask any more");
	for (int i = 0; i < ASK; i++)
		join(t[i]);
	return 0;
}
