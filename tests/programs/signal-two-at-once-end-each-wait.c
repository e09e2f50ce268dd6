/*
 * Two signals reach a thread that waits, one straight after the other: the call ends with EINTR, whatever it
 * waits for, and whenever the second comes: while the first wakes the thread, before its handler runs, or after.
 *
 * A wait is a row of the table at the end.
 */
#include "check.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { ROUNDS = 25, HOUR = 3600 };

static int empty[2], full[2], pair[2], listener, ep, queue, set;
static sem_t none;
static const struct timespec hour = { HOUR, 0 };

static int by_poll(void)
{
	struct pollfd p = { empty[0], POLLIN, 0 };

	return poll(&p, 1, -1);
}

static int by_ppoll(void)
{
	struct pollfd p[2] = { { empty[0], POLLIN, 0 }, { pair[0], POLLIN, 0 } };

	return ppoll(p, 2, &hour, NULL);
}

static int by_masked_ppoll(void)
{
	struct pollfd p = { pair[0], POLLIN, 0 };
	sigset_t nothing;

	sigemptyset(&nothing);
	return ppoll(&p, 1, NULL, &nothing);
}

static int by_select(void)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(empty[0], &in);
	return select(empty[0] + 1, &in, NULL, NULL, NULL);
}

static int by_pselect(void)
{
	fd_set in;
	sigset_t nothing;

	sigemptyset(&nothing);
	FD_ZERO(&in);
	FD_SET(pair[0], &in);
	return pselect(pair[0] + 1, &in, NULL, NULL, &hour, &nothing);
}

static int by_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(ep, &e, 1, -1);
}

static int by_epoll_timed(void)
{
	struct epoll_event e;
	sigset_t nothing;

	sigemptyset(&nothing);
	return epoll_pwait(ep, &e, 1, HOUR * 1000, &nothing);
}

static int by_read(void)
{
	char c;

	return (int)read(empty[0], &c, 1);
}

static int by_write(void)
{
	return (int)write(full[1], "", 1);
}

static int by_recv(void)
{
	char text[64];

	return (int)recv(pair[0], text, sizeof text, MSG_WAITALL);
}

static int by_accept(void)
{
	return accept(listener, NULL, NULL);
}

static int by_sem(void)
{
	return sem_wait(&none);
}

static int by_sem_timed(void)
{
	struct timespec at = after_ms(CLOCK_REALTIME, HOUR * 1000L);

	return sem_timedwait(&none, &at);
}

static int by_futex(void)
{
	static int word;

	return (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL);
}

static int by_nanosleep(void)
{
	return nanosleep(&hour, NULL);
}

static int by_clock_nanosleep(void)
{
	struct timespec at = after_ms(CLOCK_MONOTONIC, HOUR * 1000L);

	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	return errno ? -1 : 0;
}

static int by_pause(void)
{
	return pause();
}

static int by_sigsuspend(void)
{
	sigset_t nothing;

	sigemptyset(&nothing);
	return sigsuspend(&nothing);
}

static int by_sigtimedwait(void)
{
	sigset_t others;

	sigemptyset(&others);
	sigaddset(&others, SIGWINCH);
	return sigtimedwait(&others, NULL, &hour);
}

static int by_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} m;

	return (int)msgrcv(queue, &m, sizeof m.text, 0, 0);
}

static int by_semop(void)
{
	struct sembuf down = { 0, -1, 0 };

	return semop(set, &down, 1);
}

static int by_flock(void)
{
	static int other = -1;

	if (other < 0)
		CHECK_SYS(other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	return flock(other, LOCK_EX);
}

static const struct row {
	const char *name;
	int (*wait)(void);
} rows[] = {
	{ "poll", by_poll },
	{ "ppoll", by_ppoll },
	{ "ppoll with a mask", by_masked_ppoll },
	{ "select", by_select },
	{ "pselect", by_pselect },
	{ "epoll_wait", by_epoll },
	{ "epoll_pwait", by_epoll_timed },
	{ "read", by_read },
	{ "write", by_write },
	{ "recv", by_recv },
	{ "accept", by_accept },
	{ "sem_wait", by_sem },
	{ "sem_timedwait", by_sem_timed },
	{ "futex", by_futex },
	{ "nanosleep", by_nanosleep },
	{ "clock_nanosleep", by_clock_nanosleep },
	{ "pause", by_pause },
	{ "sigsuspend", by_sigsuspend },
	{ "sigtimedwait", by_sigtimedwait },
	{ "msgrcv", by_msgrcv },
	{ "semop", by_semop },
	{ "flock", by_flock },
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
	if (r != -1 || errno != EINTR)
		printf("%s: %d, %s\n", row->name, r, strerror(errno));
	CHECK(r == -1 && errno == EINTR);
	while (handled != 2)
		sched_yield();
	return NULL;
}

static void prepare(void)
{
	struct epoll_event e = { EPOLLIN, { 0 } };
	int held;

	CHECK_SYS(pipe2(empty, O_CLOEXEC));
	CHECK_SYS(pipe2(full, O_CLOEXEC | O_NONBLOCK));
	while (write(full[1], "01234567", 8) > 0)
		;
	while (write(full[1], "0", 1) > 0)
		;
	CHECK_SYS(fcntl(full[1], F_SETFL, 0));
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	CHECK_SYS(listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
	CHECK_SYS(bind(listener, &(struct sockaddr){ AF_UNIX, "" }, sizeof(sa_family_t))); /* a name of the kernel's */
	CHECK_SYS(listen(listener, 1));
	CHECK_SYS(ep = epoll_create1(EPOLL_CLOEXEC));
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, empty[0], &e));
	CHECK_SYS(queue = msgget(IPC_PRIVATE, 0600));
	CHECK_SYS(set = semget(IPC_PRIVATE, 1, 0600));
	CHECK_SYS(held = open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	CHECK_SYS(flock(held, LOCK_EX));
	CHECK_OK(sem_init(&none, 0, 0));
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
	prepare();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		for (int round = 0; round < ROUNDS; round++) {
			pthread_t t;

			handled = 0;
			tid = 0;
			t = spawn(waits, (void *)&rows[i]);
			until_asleep(&tid);
			CHECK_OK(pthread_kill(t, SIGUSR1));
			CHECK_OK(pthread_kill(t, SIGUSR2));
			join(t);
		}
		passed("%s", rows[i].name);
	}
	CHECK_SYS(msgctl(queue, IPC_RMID, NULL));
	CHECK_SYS(semctl(set, 0, IPC_RMID));
	return 0;
}
