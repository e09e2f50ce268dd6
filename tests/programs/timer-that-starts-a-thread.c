/*
 * timer_create in its forms: SIGEV_THREAD calls a function on a thread that libc makes, which may
 * use all locks of the program; SIGEV_SIGNAL and SIGEV_THREAD_ID run a handler; SIGEV_NONE is only
 * asked; and timerfd is read by a thread that blocks.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/timerfd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static int calls;
static atomic_int handled;
static _Thread_local int local = 5;

static void *child(void *arg)
{
	return arg;
}

static void called(union sigval v)
{
	CHECK_EQ(v.sival_int, 77);
	CHECK_EQ(local, 5);
	CHECK_OK(pthread_mutex_lock(&mu));
	calls++;
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_SYS(sem_post(&sem));
	CHECK(join(spawn(child, &v)) == &v);
}

static void handler(int sig, siginfo_t *info, void *ctx)
{
	(void)ctx;
	CHECK_EQ(sig, SIGRTMIN + 1);
	CHECK_EQ(info->si_code, SI_TIMER);
	CHECK_EQ(info->si_value.sival_int, 78);
	handled++;
}

static void *holds_the_lock(void *arg)
{
	while (calls < 5) {
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK_OK(pthread_mutex_unlock(&mu));
		CHECK_SYS(usleep(100));
	}
	return arg;
}

static void by_thread(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 77 };
	struct itimerspec its = { { 0, 5000000 }, { 0, 5000000 } };
	pthread_t t[10];
	timer_t timer;

	ev.sigev_notify_function = called;
	for (int i = 0; i < 10; i++)
		t[i] = spawn(holds_the_lock, NULL);
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
	CHECK_OK(pthread_mutex_lock(&mu));
	while (calls < 5)
		CHECK_OK(pthread_cond_wait(&cv, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	for (int i = 0; i < 5; i++)
		while (sem_wait(&sem) == -1)
			CHECK_EQ(errno, EINTR);
	CHECK_SYS(timer_delete(timer));
	for (int i = 0; i < 10; i++)
		join(t[i]);
	passed("SIGEV_THREAD shares locks with the program's threads");
}

static void *by_signal(void *arg)
{
	struct sigevent ev = { .sigev_signo = SIGRTMIN + 1, .sigev_value.sival_int = 78 };
	struct itimerspec its = { { 0, 0 }, { 0, 5000000 } }, left;
	timer_t timer;

	ev.sigev_notify = arg ? SIGEV_THREAD_ID : SIGEV_SIGNAL;
	if (arg)
		ev.sigev_notify_thread_id = gettid();
	for (int i = 0; i < 5; i++) {
		int before = handled;

		CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
		CHECK_SYS(timer_settime(timer, 0, &its, NULL));
		while (handled == before)
			CHECK(usleep(2000) == 0 || errno == EINTR);
		CHECK_SYS(timer_gettime(timer, &left));
		CHECK(left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0);
		CHECK_SYS(timer_delete(timer));
	}
	return NULL;
}

static void *by_descriptor(void *arg)
{
	struct itimerspec its = { { 0, 2000000 }, { 0, 2000000 } };
	long long began = now_ns(CLOCK_MONOTONIC);
	uint64_t n, sum = 0;
	int fd;

	CHECK_SYS(fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	CHECK_SYS(timerfd_settime(fd, 0, &its, NULL));
	while (sum < 10) {
		CHECK_EQ(read(fd, &n, sizeof n), sizeof n);
		sum += n;
	}
	CHECK(now_ns(CLOCK_MONOTONIC) - began >= 20 * 1000000LL);
	CHECK_SYS(close(fd));
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	struct sigevent none = { .sigev_notify = SIGEV_NONE };
	struct itimerspec its = { { 0, 0 }, { 100, 0 } };
	timer_t timer;
	pthread_t t[20];

	CHECK_SYS(sem_init(&sem, 0, 0));
	by_thread();
	CHECK_SYS(sigaction(SIGRTMIN + 1, &sa, NULL));
	by_signal(NULL);
	join(spawn(by_signal, NULL));
	passed("SIGEV_SIGNAL");
	join(spawn(by_signal, "to this thread"));
	passed("SIGEV_THREAD_ID");
	CHECK_SYS(timer_create(CLOCK_REALTIME, &none, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
	CHECK_SYS(timer_gettime(timer, &its));
	CHECK(its.it_value.tv_sec >= 90);
	CHECK_SYS(timer_delete(timer));
	passed("SIGEV_NONE");
	for (int i = 0; i < 20; i++)
		t[i] = spawn(by_descriptor, NULL);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	passed("20 threads blocked in reads of timerfds");
	return 0;
}
