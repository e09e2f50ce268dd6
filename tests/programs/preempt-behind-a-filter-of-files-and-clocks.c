/*
 * Threads that compute take turns behind a filter that lets nobody open a file or read a clock that
 * names another thread, as the sandboxes of browsers do: each of twelve waits for the one before it
 * by reading a word.
 */
#include "check.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum { THREADS = 12, ROUNDS = 3 };

static int turn;
static pthread_barrier_t all;

static void install(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x80000000, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
	};
	struct sock_fprog prog = { sizeof(f) / sizeof(f[0]), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog) == 0);
}

static void *computes(void *arg)
{
	int mine = (int)(intptr_t)arg;

	pthread_barrier_wait(&all);
	for (int round = 0; round < ROUNDS; round++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != round * THREADS + mine)
			;
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK(pthread_barrier_init(&all, NULL, THREADS + 1) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, computes, (void *)(intptr_t)i) == 0);
	install();
	pthread_barrier_wait(&all);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	printf("%d turns\n", turn);
	return 0;
}
