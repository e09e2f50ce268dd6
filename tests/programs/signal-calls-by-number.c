/*
 * The calls of signals by number do what libc's functions do: a mask belongs to the thread that set
 * it, an action to the process, and a timer reaches the thread whose id it names, main too.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { THREADS = 8, ROUNDS = 200 };

struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

static __thread atomic_int here;

static void count(int sig)
{
	(void)sig;
	atomic_fetch_add(&here, 1);
}

static void *masks(void *arg)
{
	unsigned long mine = 1UL << (SIGRTMIN + (long)arg - 1), seen;

	CHECK_SYS(syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mine, NULL, 8));
	for (int i = 0; i < ROUNDS; i++) {
		sigset_t set;

		sched_yield();
		CHECK_SYS(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &seen, 8));
		CHECK(seen == mine);
		CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &set));
		CHECK(sigismember(&set, SIGRTMIN + (int)(long)arg) == 1);
	}
	CHECK_OK(pthread_kill(pthread_self(), SIGRTMIN + (int)(long)arg));
	CHECK_SYS(syscall(SYS_rt_sigpending, &seen, 8));
	CHECK(seen & mine);
	CHECK_ERR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mine, NULL, 4), EINVAL);
	return NULL;
}

/* Of this thread, by a timer that names it. */
static void *timed(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	struct itimerspec in = { .it_value = { .tv_nsec = 1000000 } };
	int timer;
	timer_t by_libc;

	ev._sigev_un._tid = gettid();
	atomic_store(&here, 0);
	CHECK_SYS(syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(syscall(SYS_timer_settime, timer, 0, &in, NULL));
	while (!atomic_load(&here))
		usleep(1000);
	CHECK_SYS(syscall(SYS_timer_delete, timer));
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &by_libc));
	CHECK_SYS(timer_settime(by_libc, 0, &in, NULL));
	while (atomic_load(&here) < 2)
		usleep(1000);
	CHECK_SYS(timer_delete(by_libc));
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	struct kernel_action act = { .handler = SIG_IGN }, old;
	struct sigaction sa = { .sa_handler = count };
	pthread_t t[THREADS];

	join(spawn(nothing, NULL));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(masks, (void *)i);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("masks are their threads'");
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &old, 8));
	CHECK(old.handler == count);
	CHECK_SYS(syscall(SYS_rt_sigaction, SIGUSR1, &act, NULL, 8));
	CHECK_SYS(sigaction(SIGUSR1, NULL, &sa));
	CHECK(sa.sa_handler == SIG_IGN);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_ERR(syscall(SYS_rt_sigaction, SIGUSR1, &act, NULL, 4), EINVAL);
	passed("an action by number is the action");
	sa.sa_handler = count;
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(timed, NULL);
	timed(NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("timers reach the threads that they name");
	return 0;
}
