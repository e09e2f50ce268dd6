/*
 * The classic signal thread: everyone blocks the signals, one thread takes them by sigwait,
 * sigwaitinfo and sigtimedwait, sent by kill to the process, by pthread_kill to the thread, or by
 * sigqueue with values that arrive in order; a time-out is EAGAIN and not early.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>

static sigset_t set;
static sem_t got;
static int last;

static void *signal_thread(void *arg)
{
	for (;;) {
		int sig;

		CHECK_OK(sigwait(&set, &sig));
		last = sig;
		CHECK_SYS(sem_post(&got));
		if (sig == SIGTERM)
			return arg;
	}
}

static void *takes_values(void *arg)
{
	struct timespec ts = { 20, 0 };
	siginfo_t info;

	for (int i = 0; i < 20; i++) {
		CHECK_EQ(i % 2 ? sigwaitinfo(&set, &info) : sigtimedwait(&set, &info, &ts),
			 SIGRTMIN);
		CHECK_EQ(info.si_code, SI_QUEUE);
		CHECK_EQ(info.si_value.sival_int, i);
		CHECK_EQ(info.si_pid, getpid());
	}
	return arg;
}

static void *times_out(void *arg)
{
	struct timespec ts = { 0, 30 * 1000000L }, zero = { 0, 0 };
	long long began = now_ns(CLOCK_MONOTONIC);

	CHECK_ERR(sigtimedwait(&set, NULL, &ts), EAGAIN);
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 30 * 1000000LL);
	CHECK_ERR(sigtimedwait(&set, NULL, &zero), EAGAIN);
	return arg;
}

static void *blocked_forever(void *arg)
{
	sem_t s;

	CHECK_SYS(sem_init(&s, 0, 0));
	for (;;)
		sem_wait(&s);
	return arg;
}

int main(void)
{
	static const int sigs[] = { SIGUSR1, SIGUSR2, SIGHUP, SIGINT, SIGALRM, SIGCHLD };
	pthread_t t;

	CHECK_SYS(sem_init(&got, 0, 0));
	sigemptyset(&set);
	for (int i = 0; i < 6; i++)
		sigaddset(&set, sigs[i]);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMIN);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 5; i++)
		spawn(blocked_forever, NULL);
	t = spawn(signal_thread, NULL);
	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 6; i++) {
			if (round % 2)
				CHECK_SYS(kill(getpid(), sigs[i]));
			else
				CHECK_OK(pthread_kill(t, sigs[i]));
			CHECK_SYS(sem_wait(&got));
			CHECK_EQ(last, sigs[i]);
		}
	CHECK_SYS(kill(getpid(), SIGTERM));
	CHECK_SYS(sem_wait(&got));
	CHECK_EQ(last, SIGTERM);
	join(t);
	passed("120 signals taken by the signal thread, then SIGTERM");

	t = spawn(takes_values, NULL);
	for (int i = 0; i < 20; i++) {
		union sigval v = { .sival_int = i };

		if (i < 10)
			CHECK_SYS(sigqueue(getpid(), SIGRTMIN, v));
		else
			CHECK_OK(pthread_sigqueue(t, SIGRTMIN, v));
		if (i == 9)
			let_others_block(); /* the process's queue is empty before the thread's
					       begins */
	}
	join(t);
	passed("20 values in order");

	for (int i = 0; i < 10; i++)
		join(spawn(times_out, NULL));
	passed("time-outs");
	CHECK_SYS(raise(SIGHUP));

	int sig;

	CHECK_OK(sigwait(&set, &sig));
	CHECK_EQ(sig, SIGHUP);
	passed("one that was pending already");
	return 0;
}
