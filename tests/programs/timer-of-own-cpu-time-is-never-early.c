/*
 * A timer on a thread's own CPU time, by its number, by pthread_getcpuclockid() and absolute: its signal
 * comes when that clock shows the time, and no sooner, though the thread yields, sleeps and waits
 * meanwhile, and others run.
 */
#include "check.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>

enum { ROUNDS = 12, EACH = 3000000, THREADS = 3 };

static _Atomic int over;
static sem_t sem;
static __thread volatile sig_atomic_t fired;
static __thread long long shown;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)sig, (void)si, (void)uc;
	shown = now_ns(CLOCK_THREAD_CPUTIME_ID);
	fired = 1;
}

static void *other(void *arg)
{
	while (!over) {
		sem_post(&sem);
		sched_yield();
	}
	return arg;
}

static void *thread(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1 };
	struct itimerspec it = { 0 };
	clockid_t clock = CLOCK_THREAD_CPUTIME_ID;
	timer_t timer;

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (arg)
		CHECK_OK(pthread_getcpuclockid(pthread_self(), &clock));
	CHECK_SYS(timer_create(clock, &ev, &timer));
	for (int i = 0; i < ROUNDS; i++) {
		long long start = now_ns(CLOCK_THREAD_CPUTIME_ID), due = start + EACH;
		long long value = i % 2 ? due : EACH;

		fired = 0;
		it.it_value = (struct timespec){ value / 1000000000, value % 1000000000 };
		CHECK_SYS(timer_settime(timer, i % 2 ? TIMER_ABSTIME : 0, &it, NULL));
		for (unsigned n = 0; !fired; n++) {
			sched_yield();
			if (n % 4 == 1)
				sem_trywait(&sem);
			if (n % 8 == 2)
				sem_wait(&sem);
			if (n % 64 == 3)
				usleep(1);
		}
		if (shown < due)
			CHECK_EQ(shown - due, 0);
	}
	CHECK_SYS(timer_delete(timer));
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t t[THREADS], o;

	CHECK_SYS(sigaction(SIGRTMIN + 1, &sa, NULL));
	CHECK_OK(sem_init(&sem, 0, 0));
	o = spawn(other, NULL);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(thread, (void *)(i % 2));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("timers of threads");
	thread(NULL);
	over = 1;
	join(o);
	passed("a timer of main");
	return 0;
}
