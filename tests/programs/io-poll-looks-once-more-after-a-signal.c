/*
 * A number is closed while a thread polls it, which wakes nobody.  When a handler interrupts the wait,
 * poll() and ppoll() look once more and tell of the closed number; with the number open they fail.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int handled;
static int ends[2], own;
static volatile pid_t tid;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *polls(void *arg)
{
	struct pollfd p = { own, POLLIN, 0 };
	int way = *(int *)arg, r, err;

	errno = 0;
	tid = gettid();
	r = way & 1 ? ppoll(&p, 1, NULL, NULL) : poll(&p, 1, -1);
	err = errno;
	CHECK_EQ(handled, 1);
	if (way & 2) {
		CHECK_EQ(r, 1);
		CHECK_EQ(p.revents, POLLNVAL);
	} else {
		CHECK_EQ(r == -1 ? err : 0, EINTR);
	}
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(pipe(ends));
	for (int way = 0; way < 4; way++) {
		pthread_t t;

		CHECK_SYS(own = dup(ends[0]));
		handled = 0;
		t = spawn(polls, &way);
		until_asleep(&tid);
		tid = 0;
		if (way & 2)
			CHECK_SYS(close(own));
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
		join(t);
		if (!(way & 2))
			CHECK_SYS(close(own));
	}
	passed("a closed number is told when a signal comes");
	return 0;
}
