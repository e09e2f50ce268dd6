/*
 * The child of fork(2) or clone(2) by number is to libc the thread that made it: it unlocks an error-checking,
 * recursive or robust mutex that its parent held, and is told that it holds it.  The child of libc's fork() is
 * another thread: EPERM.
 */
#include "check.h"
#include <linux/sched.h>
#include <sys/syscall.h>

static pthread_mutex_t checking, recursive, robust;

static void init(pthread_mutex_t *mu, int type, int robustness)
{
	pthread_mutexattr_t a;

	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_settype(&a, type));
	CHECK_OK(pthread_mutexattr_setrobust(&a, robustness));
	CHECK_OK(pthread_mutex_init(mu, &a));
}

static pid_t by_fork(void)
{
	return (pid_t)syscall(SYS_fork);
}

static pid_t by_clone(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0L);
}

static pid_t by_clone_that_waits(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0L);
}

static pid_t by_clone3(void)
{
	struct clone_args a = { .exit_signal = SIGCHLD };

	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

static void child_unlocks(void)
{
	CHECK_EQ(gettid(), getpid());
	CHECK_EQ(pthread_mutex_lock(&checking), EDEADLK);
	CHECK_OK(pthread_mutex_unlock(&checking));
	CHECK_EQ(pthread_mutex_unlock(&checking), EPERM);
	CHECK_OK(pthread_mutex_lock(&checking));
	CHECK_OK(pthread_mutex_lock(&recursive));
	CHECK_OK(pthread_mutex_unlock(&recursive));
	CHECK_OK(pthread_mutex_unlock(&recursive));
	CHECK_EQ(pthread_mutex_unlock(&recursive), EPERM);
	CHECK_EQ(pthread_mutex_lock(&robust), EDEADLK);
	CHECK_OK(pthread_mutex_unlock(&robust));
	_exit(5);
}

static void makes(const char *who, const char *how, pid_t (*make)(void))
{
	pid_t pid = make();

	if (!pid)
		child_unlocks();
	child_ends(pid, 5);
	passed("%s, %s", who, how);
}

static void *holds(void *who)
{
	pid_t pid;

	CHECK_OK(pthread_mutex_lock(&checking));
	CHECK_OK(pthread_mutex_lock(&recursive));
	CHECK_OK(pthread_mutex_lock(&robust));
	makes(who, "fork", by_fork);
	makes(who, "clone", by_clone);
	makes(who, "clone that waits", by_clone_that_waits);
	makes(who, "clone3", by_clone3);
	pid = fork();
	if (!pid) {
		CHECK_EQ(pthread_mutex_unlock(&checking), EPERM);
		CHECK_EQ(pthread_mutex_unlock(&recursive), EPERM);
		_exit(5);
	}
	child_ends(pid, 5);
	passed("%s, fork()", (const char *)who);
	CHECK_OK(pthread_mutex_unlock(&robust));
	CHECK_OK(pthread_mutex_unlock(&recursive));
	CHECK_OK(pthread_mutex_unlock(&checking));
	return NULL;
}

int main(void)
{
	init(&checking, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	init(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	init(&robust, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST);
	join(spawn(holds, "a thread"));
	holds("main");
	return 0;
}
