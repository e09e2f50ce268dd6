/*
 * A signalfd that is made by signalfd(2) or signalfd4(2), past libc's function, is told of what a thread
 * sends to itself and what another sends to it.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

static void arrives(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct signalfd_siginfo si;

	CHECK_EQ(poll(&p, 1, 2000), 1);
	CHECK_EQ(read(fd, &si, sizeof si), sizeof si);
	CHECK_EQ(si.ssi_signo, (unsigned)SIGUSR1);
}

static void *kills(void *other)
{
	CHECK_OK(pthread_kill(*(pthread_t *)other, SIGUSR1));
	return NULL;
}

static void *told(void *by_old)
{
	unsigned long bits = 1UL << (SIGUSR1 - 1);
	pthread_t self = pthread_self();
	int fd;

	fd = (int)(by_old ? syscall(SYS_signalfd, -1, &bits, sizeof bits) :
			    syscall(SYS_signalfd4, -1, &bits, sizeof bits, SFD_CLOEXEC));
	CHECK_SYS(fd);
	CHECK_SYS(raise(SIGUSR1));
	arrives(fd);
	CHECK_OK(pthread_kill(self, SIGUSR1));
	arrives(fd);
	join(spawn(kills, &self));
	arrives(fd);
	CHECK_SYS(close(fd));
	passed("made by %s", by_old ? "signalfd" : "signalfd4");
	return NULL;
}

int main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	join(spawn(told, NULL));
	join(spawn(told, &set));
	return 0;
}
