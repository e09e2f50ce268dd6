/*
 * A thread that waits is sent two signals by pthread_kill(), then what it waits for.  When its wait returns both
 * handlers have run: the kernel delivers before a thread is back in its program.  So the handler may be taken
 * away at once, as profilers do whose last signals would else end the process.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 40, PROFILES = 1500, SENT = 5 };

static pthread_t target;
static volatile sig_atomic_t ran;
static sem_t sem;
static int ends[2];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int flag;

static void on_signal(int sig)
{
	(void)sig;
	ran++;
}

static void set_handler(int sig, void (*fn)(int))
{
	struct sigaction sa = {.sa_handler = fn, .sa_flags = SA_RESTART};

	sigaction(sig, &sa, NULL);
}

/* ---- each wait, and what ends it ---- */

static void wait_end(pthread_t t)
{
	pthread_join(t, NULL);
}

static void nothing(void)
{
}

static void wait_sem(pthread_t t)
{
	(void)t;
	while (sem_wait(&sem))
		;
}

static void post(void)
{
	sem_post(&sem);
}

static void wait_pipe(pthread_t t)
{
	char byte;

	(void)t;
	while (read(ends[0], &byte, 1) != 1)
		;
}

static void put(void)
{
	if (write(ends[1], "x", 1) != 1)
		puts("nothing was written");
}

static void wait_cond(pthread_t t)
{
	(void)t;
	pthread_mutex_lock(&m);
	while (!flag)
		pthread_cond_wait(&c, &m);
	flag = 0;
	pthread_mutex_unlock(&m);
}

static void tell(void)
{
	pthread_mutex_lock(&m);
	flag = 1;
	pthread_cond_signal(&c);
	pthread_mutex_unlock(&m);
}

static void wait_barrier(pthread_t t)
{
	(void)t;
	pthread_barrier_wait(&barrier);
}

static void come(void)
{
	pthread_barrier_wait(&barrier);
}

static const struct wait {
	const char *name;
	void (*wait)(pthread_t t);
	void (*end)(void);
} waits[] = {
	{"join", wait_end, nothing},
	{"semaphore", wait_sem, post},
	{"pipe", wait_pipe, put},
	{"condition", wait_cond, tell},
	{"barrier", wait_barrier, come},
};

static void *send_then_end(void *arg)
{
	const struct wait *w = arg;

	usleep(1000); /* the target waits by now */
	pthread_kill(target, SIGUSR1);
	pthread_kill(target, SIGUSR2);
	w->end();
	return NULL;
}

static void *profile(void *arg)
{
	for (int i = 0; i < SENT; i++)
		pthread_kill(target, SIGPROF);
	return arg;
}

int main(void)
{
	pthread_t t;

	target = pthread_self();
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	if (pipe(ends))
		return 1;
	set_handler(SIGUSR1, on_signal);
	set_handler(SIGUSR2, on_signal);
	for (size_t k = 0; k < sizeof(waits) / sizeof(waits[0]); k++) {
		int late = 0;

		for (int i = 0; i < ROUNDS; i++) {
			ran = 0;
			pthread_create(&t, NULL, send_then_end, (void *)&waits[k]);
			waits[k].wait(t);
			late += ran < 2;
			if (waits[k].wait != wait_end)
				pthread_join(t, NULL);
		}
		printf("%s: %d of %d late\n", waits[k].name, late, ROUNDS);
	}
	for (int i = 0; i < PROFILES; i++) {
		set_handler(SIGPROF, on_signal);
		pthread_create(&t, NULL, profile, NULL);
		if (i % 2)
			for (volatile int spin = 0; spin < 10000 * (i % 16); spin++)
				;
		pthread_join(t, NULL);
		set_handler(SIGPROF, SIG_DFL);
	}
	puts("no profile ended the process");
	return 0;
}
