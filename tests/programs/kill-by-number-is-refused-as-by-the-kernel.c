/*
 * What rt_sigqueueinfo(2), rt_tgsigqueueinfo(2) and tgkill(2) refuse: a code that only the kernel gives, but of a
 * sender to itself; a bad signal after a thread that is not there; and main's id stays good when main has ended.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

static atomic_int handled;
static volatile pid_t other_tid;
static volatile int stop;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)si;
	(void)uc;
	handled++;
}

static void *other(void *arg)
{
	other_tid = gettid();
	while (!stop)
		usleep(1000);
	return arg;
}

/* 0, or the error. */
static int queued(pid_t tid, int code, int sig)
{
	siginfo_t si;
	long r;

	memset(&si, 0, sizeof(si));
	si.si_code = code;
	si.si_pid = getpid();
	r = tid ? syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, sig, &si) :
		  syscall(SYS_rt_sigqueueinfo, getpid(), sig, &si);
	return r ? errno : 0;
}

static void *sends(void *who)
{
	static const int kernels[] = { SI_USER, SI_TKILL, SI_KERNEL };
	bool main_ = gettid() == getpid();

	for (int n = 0; n < 50; n++) {
		usleep(100); /* on another kernel thread, perhaps */
		for (int i = 0; i < 3; i++) {
			CHECK_EQ(queued(other_tid, kernels[i], SIGUSR1), EPERM);
			CHECK_EQ(queued(gettid(), kernels[i], SIGUSR1), 0);
			CHECK_EQ(queued(getpid(), kernels[i], SIGUSR1), main_ ? 0 : EPERM);
			CHECK_EQ(queued(0, kernels[i], SIGUSR1), main_ ? 0 : EPERM);
			CHECK_EQ(queued(0, kernels[i], SIGURG), main_ ? 0 : EPERM); /* ignored */
		}
		CHECK_EQ(queued(other_tid, SI_QUEUE, SIGUSR1), 0);
		CHECK_EQ(queued(getpid(), SI_QUEUE, SIGUSR1), 0);
		CHECK_EQ(queued(0, SI_QUEUE, SIGUSR1), 0);
	}
	CHECK_EQ(queued(gettid(), SI_QUEUE, 100), EINVAL);
	CHECK_EQ(queued(0, SI_QUEUE, 100), EINVAL);
	CHECK_ERR(syscall(SYS_tgkill, getpid(), gettid(), 100), EINVAL);
	CHECK_ERR(syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), 100, 8), EFAULT);
	passed("sent by %s", (const char *)who);
	return NULL;
}

static void *after_main(void *arg)
{
	pid_t pid = getpid();

	CHECK_OK(pthread_join(*(pthread_t *)arg, NULL));
	CHECK_SYS(syscall(SYS_tgkill, pid, pid, 0));
	CHECK_SYS(syscall(SYS_tgkill, pid, pid, SIGUSR1));
	CHECK_SYS(syscall(SYS_tkill, pid, SIGUSR1));
	CHECK_ERR(syscall(SYS_tgkill, pid, pid, 100), EINVAL);
	CHECK_EQ(queued(pid, SI_QUEUE, SIGUSR1), 0);
	CHECK_EQ(queued(pid, SI_USER, SIGUSR1), EPERM);
	passed("main's id after main");
	exit(0);
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	static pthread_t self;
	pthread_t t;
	pid_t gone;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	t = spawn(other, NULL);
	while (!other_tid)
		usleep(1000);
	sends("main");
	join(spawn(sends, "a thread"));
	stop = 1;
	join(t);
	gone = other_tid;
	CHECK_ERR(syscall(SYS_tgkill, getpid(), gone, 100), ESRCH);
	CHECK_ERR(syscall(SYS_tkill, gone, 0), ESRCH);
	CHECK_EQ(queued(gone, SI_QUEUE, 100), ESRCH);
	CHECK_EQ(queued(gone, SI_USER, SIGUSR1), EPERM);
	passed("a thread that is not there");
	self = pthread_self();
	spawn(after_main, &self);
	pthread_exit(NULL);
}
