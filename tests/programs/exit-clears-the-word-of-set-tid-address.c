/*
 * set_tid_address(2) names a word that becomes 0 when the thread has ended, and one waiter is woken: of a thread that
 * ends by exit(2), by its function's return, or by pthread_exit().  The last word named counts; one that is not there
 * is no fault; a fork's child has none.  A thread may ask for its word (libc's own, if it named none), take it away and
 * give it back.
 */
#include "check.h"
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

enum ending { BY_NUMBER, RETURNS, LEAVES, NOWHERE, AFTER_FORK };

static volatile int *word; /* [0]: the first that was named, [1]: the last */
static volatile int ended;

static void forks(void)
{
	int status;
	pid_t pid = (pid_t)syscall(SYS_fork);

	CHECK(pid >= 0);
	if (!pid)
		syscall(SYS_exit, 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(word[1], 1);
}

static void *ends(void *arg)
{
	enum ending how = (enum ending)(long)arg;

	CHECK_EQ(syscall(SYS_set_tid_address, &word[0]), gettid());
	CHECK_EQ(syscall(SYS_set_tid_address, &word[1]), gettid());
	if (how == AFTER_FORK)
		forks();
	if (how == NOWHERE) {
		syscall(SYS_set_tid_address, 16);
		ended = 1;
	}
	if (how == LEAVES)
		pthread_exit(NULL);
	if (how != RETURNS)
		syscall(SYS_exit, 0);
	return NULL;
}

static void *gives_back(void *arg)
{
	int *own = NULL, *none = (int *)16, *again = NULL;

	/* EINVAL: this kernel does not tell. */
	if (prctl(PR_GET_TID_ADDRESS, &own, 0, 0, 0) == 0) {
		if (libc_minor() < 43) /* since then it has another meaning for libc */
			CHECK_EQ(*own, gettid());
		CHECK_EQ(syscall(SYS_set_tid_address, NULL), gettid());
		CHECK_OK(prctl(PR_GET_TID_ADDRESS, &none, 0, 0, 0));
		CHECK(none == NULL);
		usleep(1000);
		CHECK_EQ(syscall(SYS_set_tid_address, own), gettid());
		CHECK_OK(prctl(PR_GET_TID_ADDRESS, &again, 0, 0, 0));
		CHECK(again == own);
	}
	return arg;
}

static void give_back_all(void)
{
	enum { THREADS = 40, ROUNDS = 5 };
	pthread_t t[THREADS];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < THREADS; i++)
			CHECK_OK(pthread_create(&t[i], NULL, gives_back, NULL));
		for (int i = 0; i < THREADS; i++)
			CHECK_OK(pthread_join(t[i], NULL));
	}
	gives_back(NULL);
	passed("the word that libc named, given back");
}

static void await_end(enum ending how, const char *what)
{
	pthread_attr_t detached;
	pthread_t t;

	word[0] = word[1] = 1;
	CHECK_OK(pthread_attr_init(&detached));
	CHECK_OK(pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED));
	CHECK_OK(pthread_create(&t, &detached, ends, (void *)how));
	if (how == NOWHERE)
		while (!ended)
			usleep(1000);
	else
		while (word[1])
			syscall(SYS_futex, &word[1], FUTEX_WAIT, 1, NULL);
	CHECK_EQ(word[0], 1);
	passed("%s", what);
}

int main(void)
{
	word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(word != MAP_FAILED);
	await_end(BY_NUMBER, "exit(2)");
	await_end(RETURNS, "a return");
	await_end(LEAVES, "pthread_exit()");
	await_end(NOWHERE, "a word that is not there");
	await_end(AFTER_FORK, "after a fork");
	give_back_all();
	return 0;
}
