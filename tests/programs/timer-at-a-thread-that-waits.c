/*
 * A timer that names a thread (SIGEV_THREAD_ID) reaches that thread, main included: its handler while
 * others compute, and its sigwait while every thread keeps the signal out.  And SIGCHLD goes to the
 * thread that made the child, a signal to the process ends no other thread's call.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { TICKS = 10, TICK = 3000000 };
static atomic_int ran, elsewhere;
static _Atomic pthread_t meant;
static atomic_bool stop, blocks;

static void handler(int sig)
{
	(void)sig;
	if (pthread_equal(pthread_self(), meant))
		ran++;
	else
		elsewhere++;
}

static timer_t start(int sig)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig };
	struct itimerspec often = { { 0, TICK }, { 0, TICK } };
	timer_t t;

	ev.sigev_notify_thread_id = gettid();
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
	CHECK_SYS(timer_settime(t, 0, &often, NULL));
	return t;
}

static void *handled(void *arg)
{
	timer_t t;

	meant = pthread_self();
	ran = 0;
	t = start(SIGRTMIN + 1);
	while (ran < TICKS)
		usleep(1000);
	CHECK_SYS(timer_delete(t));
	usleep(10000);
	return arg;
}

static void *awaited(void *arg)
{
	timer_t t = start(SIGRTMIN + 2);
	sigset_t set;
	siginfo_t si;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	for (int i = 0; i < TICKS; i++) {
		CHECK_EQ(sigwaitinfo(&set, &si), SIGRTMIN + 2);
		CHECK_EQ(si.si_code, SI_TIMER);
		CHECK_EQ(si.si_signo, SIGRTMIN + 2);
	}
	CHECK_SYS(timer_delete(t));
	return arg;
}

static void *computes(void *arg)
{
	volatile unsigned long k = 0;

	while (!stop)
		k++;
	return arg;
}

static void *forks(void *arg)
{
	pid_t child;
	int status;

	meant = pthread_self();
	ran = 0;
	CHECK_SYS(child = fork());
	if (child == 0) {
		usleep(30000);
		_exit(0);
	}
	while (ran == 0)
		usleep(1000);
	CHECK_EQ(waitpid(child, &status, 0), child);
	return arg;
}

/* Waits in the kernel, with SIGTERM let in; main takes what is sent to the process. */
static void *locks(void *arg)
{
	int *fds = arg;
	struct flock l = { .l_type = F_WRLCK };

	blocks = true;
	CHECK_SYS(fcntl(fds[1], F_OFD_SETLKW, &l));
	return arg;
}

static void others_calls_go_on(void)
{
	char path[] = "/tmp/timer-at-a-thread-XXXXXX";
	struct flock l = { .l_type = F_WRLCK };
	struct timespec little = { 1000, 0 };
	int fds[2];
	pthread_t t;
	pid_t child;

	CHECK_SYS(fds[0] = mkstemp(path));
	CHECK_SYS(fds[1] = open(path, O_RDWR));
	CHECK_SYS(unlink(path));
	CHECK_SYS(fcntl(fds[0], F_OFD_SETLK, &l));
	meant = pthread_self();
	t = spawn(locks, fds);
	while (!blocks)
		usleep(1000);
	let_others_block();
	CHECK_SYS(child = fork());
	if (child == 0)
		for (int i = 0;; i++) {
			usleep(20000);
			kill(getppid(), SIGTERM);
		}
	for (int i = 0; i < 5; i++)
		CHECK_ERR(nanosleep(&little, NULL), EINTR);
	CHECK_SYS(kill(child, SIGKILL));
	while (waitpid(child, NULL, 0) == -1)
		CHECK_EQ(errno, EINTR);
	l.l_type = F_UNLCK;
	CHECK_SYS(fcntl(fds[0], F_OFD_SETLK, &l));
	join(t);
	CHECK_EQ(elsewhere, 0);
	passed("main's signals do not end another thread's call");
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t busy[2];
	sigset_t set;

	CHECK_SYS(sigaction(SIGRTMIN + 1, &sa, NULL));
	CHECK_SYS(sigaction(SIGRTMIN + 2, &sa, NULL));
	CHECK_SYS(sigaction(SIGCHLD, &sa, NULL));
	sa.sa_flags = 0;
	CHECK_SYS(sigaction(SIGTERM, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 2);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 2; i++)
		busy[i] = spawn(computes, NULL);
	join(spawn(handled, NULL));
	handled(NULL);
	CHECK_EQ(elsewhere, 0);
	passed("a timer at a thread, and one at main, find it among others that compute");
	join(spawn(awaited, NULL));
	awaited(NULL);
	passed("and its sigwait, where nobody lets the signal in");
	join(spawn(forks, NULL));
	CHECK_EQ(elsewhere, 0);
	passed("SIGCHLD goes to the thread that made the child");
	sa.sa_handler = SIG_DFL;
	CHECK_SYS(sigaction(SIGCHLD, &sa, NULL));
	others_calls_go_on();
	stop = true;
	for (int i = 0; i < 2; i++)
		join(busy[i]);
	return 0;
}
