/*
 * F_SETOWN_EX with the id of a thread: the signals of the descriptor are that thread's, whatever the
 * others let in; a handler, a sigwait and what is pending see them; F_GETOWN_EX says what was set.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { THREADS = 4, ROUNDS = 20 };

static _Atomic int got[THREADS + 1];
static __thread int me = THREADS; /* main */
static pid_t ids[THREADS];
static int pairs[THREADS][2];
static pthread_barrier_t gate;

static void handler(int sig)
{
	(void)sig;
	got[me]++;
}

static void own(int fd, pid_t tid, int by_number)
{
	struct f_owner_ex o = { F_OWNER_TID, tid }, is = { -1, -1 };

	CHECK_OK(by_number ? syscall(SYS_fcntl, fd, F_SETOWN_EX, &o) : fcntl(fd, F_SETOWN_EX, &o));
	CHECK_OK(by_number ? fcntl(fd, F_GETOWN_EX, &is) : syscall(SYS_fcntl, fd, F_GETOWN_EX, &is));
	CHECK_EQ(is.type, F_OWNER_TID);
	CHECK_EQ(is.pid, tid);
	CHECK_SYS(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC | O_NONBLOCK));
}

static void drain(int fd)
{
	char buf[64];

	while (read(fd, buf, sizeof buf) > 0)
		;
}

static void *owner(void *arg)
{
	long i = (long)arg;
	int sig = i % 2 ? SIGRTMIN + 3 : SIGIO;
	siginfo_t si;
	sigset_t set, pending;

	me = (int)i;
	ids[i] = gettid();
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (i >= 2)
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	if (i != 3)
		own(pairs[i][0], gettid(), i % 2);
	CHECK_EQ(fcntl(pairs[i][0], F_GETSIG), 0);
	if (i % 2) {
		CHECK_OK(fcntl(pairs[i][0], F_SETSIG, sig));
		CHECK_EQ(fcntl(pairs[i][0], F_GETSIG), sig);
	}
	pthread_barrier_wait(&gate);
	for (int n = 0; i >= 2 && n < ROUNDS; n++) {
		CHECK_EQ(sigwaitinfo(&set, &si), sig);
		if (i % 2) {
			CHECK_EQ(si.si_fd, pairs[i][0]);
			CHECK_EQ(si.si_code, POLL_IN);
		}
		drain(pairs[i][0]);
		CHECK_EQ(write(pairs[i][0], "y", 1), 1);
	}
	pthread_barrier_wait(&gate);
	CHECK_OK(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, sig), 0);
	pthread_barrier_wait(&gate); /* main writes once more */
	pthread_barrier_wait(&gate);
	while (i >= 2 && !sigismember(&pending, sig))
		CHECK_OK(sigpending(&pending));
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct f_owner_ex o = { F_OWNER_TID, 0x3fffffff };
	pthread_t t[THREADS];
	char c;

	CHECK_SYS(sigaction(SIGIO, &sa, NULL));
	CHECK_SYS(sigaction(SIGRTMIN + 3, &sa, NULL));
	CHECK_OK(pthread_barrier_init(&gate, NULL, THREADS + 1));
	for (int i = 0; i < THREADS; i++)
		CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(owner, (void *)i);
	pthread_barrier_wait(&gate);
	own(pairs[3][0], ids[3], 1);
	for (int n = 0; n < ROUNDS; n++) {
		for (int i = 0; i < THREADS; i++)
			CHECK_EQ(write(pairs[i][1], "x", 1), 1);
		for (int i = 0; i < 2; i++) {
			while (got[i] <= n)
				usleep(500);
			drain(pairs[i][0]);
		}
		for (int i = 2; i < THREADS; i++)
			CHECK_EQ(read(pairs[i][1], &c, 1), 1);
	}
	pthread_barrier_wait(&gate);
	CHECK_EQ(got[0], ROUNDS);
	CHECK_EQ(got[1], ROUNDS);
	CHECK_EQ(got[2] + got[3] + got[THREADS], 0);
	passed("each owner gets the signals of its own, in a handler and in sigwait");
	pthread_barrier_wait(&gate);
	CHECK_EQ(write(pairs[2][1], "x", 1), 1);
	CHECK_EQ(write(pairs[3][1], "x", 1), 1);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("what it keeps out waits for it alone");
	CHECK_ERR(fcntl(pairs[0][0], F_SETOWN_EX, &o), ESRCH);
	CHECK_ERR(fcntl(pairs[0][0], F_SETOWN_EX, (void *)16), EFAULT);
	CHECK_ERR(fcntl(-1, F_SETOWN_EX, &o), EBADF);
	CHECK_OK(fcntl(pairs[1][0], F_SETOWN, getpid()));
	CHECK_EQ(fcntl(pairs[1][0], F_GETOWN), getpid());
	CHECK_EQ(fcntl(pairs[1][0], F_GETSIG), SIGRTMIN + 3);
	CHECK_EQ(write(pairs[1][1], "x", 1), 1);
	while (!got[THREADS])
		usleep(500);
	own(pairs[0][0], getpid(), 0);
	CHECK_EQ(write(pairs[0][1], "x", 1), 1);
	while (got[THREADS] < 2)
		usleep(500);
	passed("the process, and main, can be owners too");
	return 0;
}
