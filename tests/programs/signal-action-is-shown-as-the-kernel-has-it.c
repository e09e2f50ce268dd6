/*
 * sigaction() shows what the kernel has kept: a mask without SIGKILL and SIGSTOP, which nothing keeps out, and
 * no flag that the kernel does not know, by which programs ask for flags (sigaction(2), SA_UNSUPPORTED).
 */
#include "check.h"
#include <signal.h>
#include <string.h>
#include <sys/utsname.h>

#define UNSUPPORTED 0x400

static volatile int blocked;

static void handler(int sig)
{
	sigset_t set;

	(void)sig;
	CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
	blocked = sigismember(&set, SIGKILL) || sigismember(&set, SIGSTOP) || !sigismember(&set, SIGTERM);
}

static void shown(void (*action)(int))
{
	struct sigaction sa = { .sa_handler = action, .sa_flags = SA_RESTART | UNSUPPORTED }, is;

	memset(&sa.sa_mask, 0xff, sizeof(sa.sa_mask));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR1, NULL, &is));
	CHECK(is.sa_handler == action);
	CHECK_EQ(sigismember(&is.sa_mask, SIGKILL), 0);
	CHECK_EQ(sigismember(&is.sa_mask, SIGSTOP), 0);
	CHECK_EQ(sigismember(&is.sa_mask, SIGTERM), 1);
	CHECK_EQ(is.sa_flags & SA_RESTART, SA_RESTART);
	CHECK_EQ(is.sa_flags & UNSUPPORTED, 0);
	sa.sa_flags = SA_RESETHAND | SA_NODEFER | SA_SIGINFO | SA_ONSTACK;
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR1, NULL, &is));
	CHECK_EQ(is.sa_flags & sa.sa_flags, sa.sa_flags);
	sa.sa_flags = 0;
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR1, NULL, &is));
	CHECK_EQ(is.sa_flags & (SA_RESETHAND | SA_NODEFER | SA_SIGINFO | SA_ONSTACK | SA_RESTART), 0);
}

static void *asks(void *who)
{
	shown(SIG_IGN);
	shown(SIG_DFL);
	shown(handler);
	blocked = -1;
	CHECK_SYS(raise(SIGUSR1));
	CHECK_EQ(blocked, 0);
	passed("asked by %s", (const char *)who);
	return NULL;
}

int main(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	CHECK_SYS(uname(&u));
	if (sscanf(u.release, "%d.%d", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 11)))
		return 77; /* this kernel keeps all flags */
	join(spawn(asks, "a thread"));
	asks("main");
	return 0;
}
