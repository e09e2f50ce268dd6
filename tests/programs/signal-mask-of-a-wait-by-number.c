/*
 * ppoll, pselect6, epoll_pwait and epoll_pwait2 by syscall(): the mask of the call is the thread's while it waits, for
 * a signal that is pending already and for one that comes, to the thread or to the process.  What is ready comes
 * first.  epoll_pwait and epoll_pwait2 end for one that turns out to be ignored, too.
 */
#include "check.h"

#include "../compare/lib/newer.h"

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 20000, SIG = SIGUSR1 };

static atomic_int ran;
static int ends[2], ep;
static sigset_t nothing, only, ignored;
static fd_set set;
static struct timespec left;
static size_t bytes = 8;
static pthread_t waiter;

static void handler(int sig)
{
	(void)sig;
	ran++;
}

static long by_ppoll(void)
{
	struct pollfd p = {ends[0], POLLIN, 0};

	return syscall(SYS_ppoll, &p, 1, &left, &nothing, bytes);
}

static long by_pselect(void)
{
	struct {
		const sigset_t *mask;
		size_t bytes;
	} mask = {&nothing, bytes};

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	return syscall(SYS_pselect6, ends[0] + 1, &set, NULL, NULL, &left, &mask);
}

static long by_epoll(void)
{
	struct epoll_event e;

	return syscall(SYS_epoll_pwait, ep, &e, 1, WAIT_MS, &nothing, bytes);
}

static long by_epoll2(void)
{
	struct epoll_event e;

	return syscall(SYS_epoll_pwait2, ep, &e, 1, &left, &nothing, bytes);
}

static const struct {
	const char *name;
	long (*call)(void);
} rows[] = {
	{"ppoll", by_ppoll},
	{"pselect6", by_pselect},
	{"epoll_pwait", by_epoll},
	{"epoll_pwait2", by_epoll2},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static void shut(void)
{
	left = (struct timespec){WAIT_MS / 1000, 0};
	ran = 0;
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL));
}

static void *to_thread(void *arg)
{
	let_others_block();
	CHECK_OK(pthread_kill(waiter, SIG));
	return arg;
}

static void *to_process(void *arg)
{
	let_others_block();
	CHECK_SYS(kill(getpid(), SIG));
	return arg;
}

static void ended(int row)
{
	sigset_t now;

	CHECK_ERR(rows[row].call(), EINTR);
	CHECK_EQ(ran, 1);
	if (rows[row].call == by_pselect)
		CHECK(FD_ISSET(ends[0], &set));
	CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &only, &now));
	CHECK(sigismember(&now, SIG));
	CHECK_EQ(ran, 1);
}

static void *each(void *arg)
{
	void *(*const senders[])(void *) = {to_thread, to_process};

	waiter = pthread_self();
	for (int i = 0; i < ROWS; i++) {
		shut();
		CHECK_OK(pthread_kill(waiter, SIG));
		ended(i);
		shut();
		CHECK_SYS(kill(getpid(), SIG));
		ended(i);
		for (int k = 0; k < 2; k++) {
			pthread_t t;

			shut();
			t = spawn(senders[k], NULL); /* with the mask: to the process goes to this thread alone */
			ended(i);
			join(t);
		}

		if (rows[i].call == by_epoll || rows[i].call == by_epoll2) {
			shut();
			CHECK_OK(pthread_sigmask(SIG_BLOCK, &ignored, NULL));
			CHECK_OK(pthread_kill(waiter, SIGURG));
			CHECK_ERR(rows[i].call(), EINTR);
			CHECK_EQ(ran, 0);
		}

		shut();
		CHECK_EQ(write(ends[1], "x", 1), 1);
		CHECK_OK(pthread_kill(waiter, SIG));
		CHECK_EQ(rows[i].call(), 1);
		CHECK_EQ(ran, 0);
		left.tv_nsec = 1000000000;
		if (rows[i].call != by_epoll)
			CHECK_ERR(rows[i].call(), EINVAL);
		shut();
		bytes = 7;
		CHECK_ERR(rows[i].call(), EINVAL);
		bytes = 8;
		CHECK_EQ(read(ends[0], &(char){0}, 1), 1);
		CHECK_EQ(ran, 0);
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &only, NULL));
		CHECK_EQ(ran, 1);
		printf("%s: as it must be\n", rows[i].name);
	}
	return arg;
}

int main(void)
{
	struct epoll_event e = {.events = EPOLLIN};
	struct sigaction sa = {.sa_handler = handler};

	CHECK_SYS(pipe(ends));
	ep = epoll_create1(0);
	CHECK_SYS(ep);
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &e));
	sigemptyset(&nothing);
	sigemptyset(&only);
	sigaddset(&only, SIG);
	sigemptyset(&ignored);
	sigaddset(&ignored, SIGURG); /* by default */
	CHECK_SYS(sigaction(SIG, &sa, NULL));
	each(NULL);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &only, NULL)); /* a signal to the process is for the thread alone */
	join(spawn(each, NULL));
	return 0;
}
