/*
 * What another thread does to one that waits in a system call, and no handler runs for: its affinity, its policy, a
 * signal that is ignored.  Calls that are never begun again after a handler go on, for as long as they would have
 * waited, and no longer.
 */
#include "check.h"
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { WAIT_MS = 150, KICKS = 8, LATE_MS = 20000 };

struct message {
	long type;
	char text[4];
};

static int queue, sems, ep, sv[2], word;
static atomic_int waits;
static const struct timespec time_limit = { 0, WAIT_MS * 1000000L };

static long timed_semop(void)
{
	struct sembuf down = { 0, -1, 0 };

	return semtimedop(sems, &down, 1, &time_limit);
}

static long timed_futex(void)
{
	return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time_limit, NULL, 0);
}

static long raw_nanosleep(void)
{
	return syscall(SYS_nanosleep, &time_limit, NULL);
}

static long raw_clock_nanosleep(void)
{
	return syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time_limit, NULL);
}

static long raw_poll(void)
{
	struct pollfd p = { sv[0], POLLIN, 0 };

	return syscall(SYS_poll, &p, 1, WAIT_MS);
}

static long raw_ppoll(void)
{
	struct pollfd p = { sv[0], POLLIN, 0 };
	struct timespec left = time_limit;

	return syscall(SYS_ppoll, &p, 1, &left, NULL, 8);
}

static long raw_select(void)
{
	struct timeval left = { 0, WAIT_MS * 1000 };

	return syscall(SYS_select, 0, NULL, NULL, NULL, &left);
}

static long raw_epoll_wait(void)
{
	struct epoll_event e;

	return syscall(SYS_epoll_pwait, ep, &e, 1, WAIT_MS, NULL, 8);
}

static long waits_for_events(void)
{
	struct epoll_event e;

	return epoll_wait(ep, &e, 1, WAIT_MS);
}

static long receives(void)
{
	char c;

	return recv(sv[0], &c, 1, 0);
}

static long waits_for_a_signal(void)
{
	uint64_t set = 1 << (SIGUSR2 - 1);

	return syscall(SYS_rt_sigtimedwait, &set, NULL, &time_limit, 8);
}

/* These two are ended by the main thread. */
static long takes_a_message(void)
{
	struct message m;

	return msgrcv(queue, &m, sizeof m.text, 0, 0);
}

static long plain_semop(void)
{
	struct sembuf down = { 0, -1, 0 };

	return semop(sems, &down, 1);
}

static const struct {
	const char *name;
	long (*call)(void);
	long result;
	int error;
} calls[] = {
	{ "semtimedop", timed_semop, -1, EAGAIN },
	{ "futex by number", timed_futex, -1, ETIMEDOUT },
	{ "nanosleep by number", raw_nanosleep, 0, 0 },
	{ "clock_nanosleep by number", raw_clock_nanosleep, 0, 0 },
	{ "poll by number", raw_poll, 0, 0 },
	{ "ppoll by number", raw_ppoll, 0, 0 },
	{ "select by number", raw_select, 0, 0 },
	{ "epoll_pwait by number", raw_epoll_wait, 0, 0 },
	{ "epoll_wait", waits_for_events, 0, 0 },
	{ "recv with a time limit", receives, -1, EAGAIN },
	{ "rt_sigtimedwait by number", waits_for_a_signal, -1, EAGAIN },
	{ "msgrcv", takes_a_message, sizeof ((struct message *)NULL)->text, 0 },
	{ "semop", plain_semop, 0, 0 },
};
enum { CALLS = sizeof calls / sizeof calls[0] };

static long ms_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void *waiter(void *arg)
{
	int n = (int)(intptr_t)arg;
	long began = ms_now(), r;

	waits = 1;
	errno = 0;
	r = calls[n].call();
	if (r != calls[n].result || (r < 0 && errno != calls[n].error)) {
		printf("%s: %ld, %s\n", calls[n].name, r, r < 0 ? strerror(errno) : "-");
		exit(1);
	}
	if (n < CALLS - 2) {
		CHECK(ms_now() - began >= WAIT_MS - 1);
		CHECK(ms_now() - began < LATE_MS);
	}
	return NULL;
}

/* On a busy machine its time may be over by now, and it has ended. */
static void may_be_over(int err)
{
	CHECK(err == 0 || err == ESRCH);
}

static void by_affinity(pthread_t t, int i)
{
	cpu_set_t cpus;

	(void)i;
	CHECK_SYS(sched_getaffinity(0, sizeof cpus, &cpus));
	may_be_over(pthread_setaffinity_np(t, sizeof cpus, &cpus));
}

static void by_policy(pthread_t t, int i)
{
	struct sched_param none = { 0 };

	may_be_over(pthread_setschedparam(t, i % 2 ? SCHED_BATCH : SCHED_OTHER, &none));
}

static void by_an_ignored_signal(pthread_t t, int i)
{
	(void)i;
	may_be_over(pthread_kill(t, SIGURG));
}

int main(void)
{
	static void (*const kicks[])(pthread_t, int) = { by_affinity, by_policy, by_an_ignored_signal };
	static const char *names[] = { "affinity", "policy", "an ignored signal" };
	struct timeval limit = { 0, WAIT_MS * 1000 };
	struct epoll_event e = { .events = EPOLLIN };
	sigset_t usr2;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &usr2, NULL));
	signal(SIGURG, SIG_IGN);
	CHECK_SYS(queue = msgget(IPC_PRIVATE, 0600));
	CHECK_SYS(sems = semget(IPC_PRIVATE, 1, 0600));
	CHECK_SYS(ep = epoll_create1(0));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	CHECK_SYS(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, sv[1], &e));
	for (unsigned k = 0; k < 3; k++) {
		for (int n = 0; n < CALLS; n++) {
			struct message m = { 1, "abc" };
			struct sembuf up = { 0, 1, 0 };
			pthread_t t;

			waits = 0;
			t = spawn(waiter, (void *)(intptr_t)n);
			while (!waits)
				sched_yield();
			usleep(10000);
			for (int i = 0; i < KICKS; i++) {
				kicks[k](t, i);
				usleep(2000);
			}
			if (calls[n].call == takes_a_message)
				CHECK_SYS(msgsnd(queue, &m, sizeof m.text, 0));
			if (calls[n].call == plain_semop)
				CHECK_SYS(semop(sems, &up, 1));
			join(t);
		}
		passed("%d calls go on beside %s", CALLS, names[k]);
	}
	CHECK_SYS(msgctl(queue, IPC_RMID, NULL));
	CHECK_SYS(semctl(sems, 0, IPC_RMID));
	return 0;
}
