/*
 * A signal that names main is main's, however many of them come at once: another process sends 1,000 real-time
 * signals to main's id, and a timer of 1 ms that was made before the first thread names main, while another thread
 * computes and lets them in too.  All on one CPU, which processes that spin share, so that whatever brings signals to
 * main waits for that CPU.
 */
#include "check.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { SENT = 1000, ROUNDS = 5, SPINNERS = 2 };
static pthread_t main_thread;
static atomic_int in_main, elsewhere, ticks, ticks_elsewhere;
static atomic_bool stop;

static void handler(int sig)
{
	bool here = pthread_equal(pthread_self(), main_thread);

	if (sig == SIGRTMIN + 1)
		(*(here ? &in_main : &elsewhere))++;
	else
		(*(here ? &ticks : &ticks_elsewhere))++;
}

static void *computes(void *arg)
{
	while (!stop)
		;
	return arg;
}

/* At a limit of queued signals the sender tries again. */
static int send_all(pid_t to)
{
	for (int i = 0; i < SENT; i++)
		while (syscall(SYS_tgkill, to, to, SIGRTMIN + 1))
			if (errno != EAGAIN)
				return 1;
	return 0;
}

static void send_from_outside(void)
{
	pid_t me = getpid(), pid = fork();
	int status;

	if (pid == 0)
		_exit(send_all(me));
	while (waitpid(pid, &status, 0) != pid)
		CHECK(errno == EINTR);
	CHECK(status == 0);
}

/* The alarm ends it, if the test fails before it does. */
static pid_t spin(void)
{
	pid_t pid = fork();

	for (alarm(pid == 0 ? 30 : 0); pid == 0;)
		;
	return pid;
}

int main(void)
{
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigaction sa = { .sa_handler = handler };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 2 };
	cpu_set_t one;
	pthread_t t;
	timer_t timer;
	pid_t spinners[SPINNERS];

	CPU_ZERO(&one);
	CHECK(sched_getaffinity(0, sizeof(one), &one) == 0);
	for (int i = 0, seen = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && seen++)
			CPU_CLR(i, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	for (int i = 0; i < SPINNERS; i++)
		spinners[i] = spin();
	main_thread = pthread_self();
	CHECK(sigaction(SIGRTMIN + 1, &sa, NULL) == 0 && sigaction(SIGRTMIN + 2, &sa, NULL) == 0);
	ev._sigev_un._tid = getpid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &often, NULL) == 0);
	CHECK(pthread_create(&t, NULL, computes, NULL) == 0);
	for (int i = 1; i <= ROUNDS; i++) {
		send_from_outside();
		for (int k = ticks + ticks_elsewhere; ticks + ticks_elsewhere < k + 50;)
			pause();
		while (in_main + elsewhere < i * SENT)
			usleep(1000);
	}
	CHECK(timer_delete(timer) == 0);
	for (int i = 0; i < SPINNERS; i++)
		CHECK(kill(spinners[i], SIGKILL) == 0 && waitpid(spinners[i], NULL, 0) == spinners[i]);
	stop = true;
	CHECK(pthread_join(t, NULL) == 0);
	CHECK_EQ(elsewhere, 0);
	CHECK_EQ(in_main, ROUNDS * SENT);
	CHECK_EQ(ticks_elsewhere, 0);
	CHECK(ticks > 0);
	return 0;
}
