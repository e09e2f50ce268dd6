/*
 * Several signals reach a thread that waits, one straight after the other.  The handler of the first has no
 * SA_RESTART, all others have it: the call ends with EINTR, whenever the others come, and however many are
 * handled before the call goes on.
 *
 * A wait is a row of the table at the end.
 */
#include "check.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { ROUNDS = 200, SIGNALS = 4, GAP_NS = 80000 };

static int empty[2], pair[2], listener;
static sem_t none;

static int by_read(void)
{
	char c;

	return (int)read(empty[0], &c, 1);
}

static int by_recv(void)
{
	char c;

	return (int)recv(pair[0], &c, 1, 0);
}

static int by_accept(void)
{
	return accept(listener, NULL, NULL);
}

static int by_sem(void)
{
	return sem_wait(&none);
}

static int by_futex(void)
{
	static int word;

	return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static const struct row {
	const char *name;
	int (*wait)(void);
} rows[] = {
	{ "read", by_read },
	{ "recv", by_recv },
	{ "accept", by_accept },
	{ "sem_wait", by_sem },
	{ "futex", by_futex },
};

static volatile pid_t tid;
static _Atomic int handled;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	const struct row *row = arg;
	int r;

	tid = gettid();
	r = row->wait();
	CHECK(r == -1 && errno == EINTR);
	while (handled != SIGNALS)
		sched_yield();
	return NULL;
}

static void after_a_while(unsigned int *seed)
{
	long long until = now_ns(CLOCK_MONOTONIC) + rand_r(seed) % GAP_NS;

	while (now_ns(CLOCK_MONOTONIC) < until)
		;
}

int main(void)
{
	int sigs[SIGNALS] = { SIGUSR1, SIGUSR2, SIGRTMIN + 1, SIGRTMIN + 2 };
	unsigned int seed = 1;

	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction sa = { .sa_handler = handler, .sa_flags = i ? SA_RESTART : 0 };

		CHECK_SYS(sigaction(sigs[i], &sa, NULL));
	}
	CHECK_SYS(pipe(empty));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_SYS(listener = socket(AF_UNIX, SOCK_STREAM, 0));
	CHECK_SYS(bind(listener, &(struct sockaddr){ AF_UNIX, "" }, sizeof(sa_family_t))); /* a name of the kernel's */
	CHECK_SYS(listen(listener, 1));
	CHECK_OK(sem_init(&none, 0, 0));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int round = 0; round < ROUNDS; round++) {
			pthread_t t;

			handled = 0;
			tid = 0;
			t = spawn(waits, (void *)&rows[i]);
			until_asleep(&tid);
			for (int k = 0; k < SIGNALS; k++) {
				CHECK_OK(pthread_kill(t, sigs[k]));
				after_a_while(&seed);
			}
			join(t);
		}
		passed("%s", rows[i].name);
	}
	return 0;
}
