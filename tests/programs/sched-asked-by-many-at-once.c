/*
 * A thread's policy and priority, asked for by many others at once while they compute, by handle and by id,
 * from handlers too: everybody gets an answer, and nobody computes while he waits for it.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>

enum { ASKERS = 8, ROUNDS = 2000 };

static sem_t go;
static pthread_t target;
static volatile pid_t target_id;
static volatile sig_atomic_t handled;

static void ask(void)
{
	struct sched_param sp;
	int policy = -1;

	sp.sched_priority = -1;
	CHECK_OK(pthread_getschedparam(target, &policy, &sp));
	CHECK_EQ(policy, SCHED_OTHER);
	CHECK_EQ(sp.sched_priority, 0);
	CHECK_EQ(sched_getscheduler(target_id), SCHED_OTHER);
}

static void handler(int sig)
{
	(void)sig;
	ask();
	handled++;
}

static void *waits(void *arg)
{
	target_id = (pid_t)syscall(SYS_gettid);
	CHECK_SYS(sem_post(&go));
	while (sem_wait(arg) == -1)
		CHECK_EQ(errno, EINTR);
	return NULL;
}

static void *asks(void *arg)
{
	volatile unsigned long n = 0;

	for (int i = 0; i < ROUNDS; i++) {
		ask();
		if (i % 100 == 0)
			CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
		for (int k = 0; k < 200; k++)
			n++;
	}
	return arg;
}

static volatile sig_atomic_t stop;

static void *asks_on(void *arg)
{
	while (!stop)
		ask();
	return arg;
}

/* Of 300 calls, made by one that slept before each; natively none needs a tenth of a millisecond. */
static void cheap(void)
{
	pthread_t t = spawn(asks_on, NULL);
	int slow = 0;

	for (int i = 0; i < 300; i++) {
		struct timespec ts = { .tv_nsec = 300000 };
		long long used;

		CHECK_SYS(nanosleep(&ts, NULL));
		used = now_ns(CLOCK_THREAD_CPUTIME_ID);
		ask();
		slow += now_ns(CLOCK_THREAD_CPUTIME_ID) - used > 1000000;
	}
	stop = 1;
	join(t);
	CHECK(slow <= 2);
	passed("an answer takes no processor time, whoever asks meanwhile");
}

int main(void)
{
	pthread_t t[ASKERS];
	sem_t end;

	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	CHECK_SYS(sem_init(&go, 0, 0));
	CHECK_SYS(sem_init(&end, 0, 0));
	target = spawn(waits, &end);
	while (sem_wait(&go) == -1)
		CHECK_EQ(errno, EINTR);
	for (int i = 0; i < ASKERS; i++)
		t[i] = spawn(asks, NULL);
	for (int i = 0; i < ASKERS; i++)
		join(t[i]);
	CHECK(handled > 0);
	passed("policy and priority as asked by eight threads and their handlers");
	cheap();
	CHECK_SYS(sem_post(&end));
	join(target);
	return 0;
}
