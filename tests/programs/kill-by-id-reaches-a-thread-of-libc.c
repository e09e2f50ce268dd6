/*
 * A thread that libc has made for itself (it calls the function of an aio's SIGEV_THREAD) sends itself a signal, by
 * raise(), pthread_kill() and tgkill().  The handler runs on that thread, before the call returns; main lets the
 * signal in too, is on its CPU, and is not asked.
 */
#include "check.h"
#include <aio.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>

enum { ROUNDS = 50 };

static _Atomic int handled_by, handled, right, done;

static void handler(int sig)
{
	(void)sig;
	handled_by = (int)syscall(SYS_gettid);
	handled++;
}

static void look(int before)
{
	if (handled == before + 1 && handled_by == (int)syscall(SYS_gettid))
		right++;
}

static void completed(union sigval v)
{
	int n = handled;

	(void)v;
	raise(SIGUSR1);
	look(n);
	n = handled;
	pthread_kill(pthread_self(), SIGUSR1);
	look(n);
	n = handled;
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
	look(n);
	done++;
}

static void *joined(void *arg)
{
	return arg;
}

int main(void)
{
	static char byte = 'x';
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct aiocb cb;
	int fd;

	join(spawn(joined, NULL)); /* there are threads */
	CHECK_SYS(fd = open("/dev/null", O_WRONLY));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		memset(&cb, 0, sizeof(cb));
		cb.aio_fildes = fd;
		cb.aio_buf = &byte;
		cb.aio_nbytes = 1;
		cb.aio_sigevent.sigev_notify = SIGEV_THREAD;
		cb.aio_sigevent.sigev_notify_function = completed;
		CHECK_SYS(aio_write(&cb));
		while (done == i || aio_error(&cb) == EINPROGRESS)
			sched_yield();
		CHECK_EQ(aio_return(&cb), 1);
	}
	CHECK_EQ(handled, 3 * ROUNDS);
	CHECK_EQ(right, 3 * ROUNDS);
	passed("a thread of libc's that sends itself a signal has handled it when the call returns");
	return 0;
}
