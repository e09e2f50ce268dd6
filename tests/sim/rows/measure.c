/*
 * measure: what this machine takes for the few things of which the simulation's times are made, in ns.
 *
 * Prints lines `NAME NS`, and `NAME NS...` for a distribution: its 16 quantiles from 1/32 to 31/32.  A single figure is
 * the least of many batches, for whatever else runs on the machine can only add to it.  cost.c says what each is used
 * for; a figure that this machine cannot give (there is one CPU) is left out, and cost.c's own is used.
 *
 * Must never: link anything of weft's, or include more than the CPU's instructions.  It runs natively.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/arch/cpu.h"

enum { BATCHES = 40, BATCH = 2000, SAMPLES = 400, QUANTILES = 16 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void quiet_sleep(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	nanosleep(&t, NULL);
}

static cpu_set_t allowed;
static int cpus[2];

static int find_cpus(void)
{
	int n = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (int i = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &allowed))
			cpus[n++] = i;
	return n;
}

static void on_cpu(int which)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[which], &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void print1(const char *name, double ns)
{
	printf("%s %.2f\n", name, ns);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of a distribution, without what is more than so many times the middle: another program had the CPU then. */
enum { FOREIGN = 4 };

static unsigned own(uint64_t *v, unsigned n)
{
	uint64_t most;

	qsort(v, n, sizeof(*v), by_size);
	most = v[n / 2] * FOREIGN;
	while (n > 1 && v[n - 1] > most)
		n--;
	return n;
}

static void print_quantiles(const char *name, uint64_t *v, unsigned n)
{
	n = own(v, n);
	printf("%s", name);
	for (unsigned i = 0; i < QUANTILES; i++)
		printf(" %lu", (unsigned long)v[n * (2 * i + 1) / (2 * QUANTILES)]);
	putchar('\n');
}

/* ---- what one thread does alone -------------------------------------------------------------- */

/* The least time of one run of `body` among batches. */
#define LEAST(name, batch, body)                                                                                      \
	do {                                                                                                          \
		double least = 1e18;                                                                                  \
		for (int batch_i = 0; batch_i < BATCHES; batch_i++) {                                                 \
			uint64_t began = now();                                                                       \
			for (int i = 0; i < (batch); i++) {                                                           \
				body;                                                                                 \
			}                                                                                             \
			double each = (double)(now() - began) / (batch);                                              \
			least = each < least ? each : least;                                                          \
		}                                                                                                     \
		print1(name, least);                                                                                  \
	} while (0)

static void on_signal(int sig)
{
	(void)sig;
}

static void alone(void)
{
	/* As the runtime's code: an access, what is done with the value, a branch that is foreseen. */
	static volatile uint32_t fields[64];
	uint32_t sum = 0;
	_Atomic int word = 0;
	uint32_t futex = 0;
	uint64_t one = 1;
	struct epoll_event ev = { .events = EPOLLIN };
	int pipes[2], efd = eventfd(0, EFD_NONBLOCK), ep = epoll_create1(0);
	char byte = 0;

	if (pipe2(pipes, 02000000 | 04000)) {
		perror("measure: pipe2");
		exit(2);
	}
	LEAST("access", BATCH, {
		uint32_t v = fields[i % 64];

		sum += v & 1 ? v : 7;
	});
	LEAST("locked", BATCH, atomic_fetch_add(&word, 1));
	LEAST("pause", BATCH, arch_pause());
	LEAST("clock", BATCH, (void)now());
	LEAST("syscall", BATCH, syscall(SYS_getppid));
	LEAST("futexnone", BATCH, syscall(SYS_futex, &futex, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0));
	LEAST("pipewrite", 100, if (write(pipes[1], &byte, 1) != 1) exit(2));
	LEAST("pipenone", 100, while (read(pipes[0], &byte, 1) == 1));
	for (int i = 0; i < 5000; i++)
		if (write(pipes[1], &byte, 1) != 1)
			break;
	LEAST("piperead", 100, if (read(pipes[0], &byte, 1) != 1) exit(2));
	LEAST("eventfd", 500, if (write(efd, &one, 8) != 8) exit(2));
	LEAST("epollctl", 200, {
		epoll_ctl(ep, EPOLL_CTL_ADD, efd, &ev);
		epoll_ctl(ep, EPOLL_CTL_DEL, efd, NULL);
	});
	LEAST("epollnone", 500, epoll_wait(ep, &ev, 1, 0));
	epoll_ctl(ep, EPOLL_CTL_ADD, efd, &ev);
	LEAST("epoll", 500, epoll_wait(ep, &ev, 1, 0));
	signal(SIGUSR1, on_signal);
	LEAST("signal", 200, syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
	close(efd);
	close(ep);
	close(pipes[0]);
	close(pipes[1]);
}

/* ---- two threads on one CPU ------------------------------------------------------------------ */

static _Atomic bool stop;
static _Atomic int ready, cputid;

static void *yielder(void *arg)
{
	on_cpu(0);
	(void)arg;
	atomic_store(&ready, 1);
	while (!atomic_load(&stop))
		sched_yield();
	return NULL;
}

/* sched_yield() to another thread and back, halved: the call and the kernel's switch. */
static void kernel_switch(void)
{
	pthread_t t;

	on_cpu(0);
	ready = stop = 0;
	pthread_create(&t, NULL, yielder, NULL);
	while (!atomic_load(&ready))
		sched_yield();
	LEAST("switch", 500, sched_yield());
	atomic_store(&stop, true);
	pthread_join(t, NULL);
}

static void *nothing(void *arg)
{
	return arg;
}

static void threads(void)
{
	double least = 1e18;

	on_cpu(0);
	for (int i = 0; i < 300; i++) {
		pthread_t t;
		uint64_t began = now();

		pthread_create(&t, NULL, nothing, NULL);
		pthread_join(t, NULL);
		least = (double)(now() - began) < least ? (double)(now() - began) : least;
	}
	print1("thread", least);
}

/* ---- two CPUs -------------------------------------------------------------------------------- */

static _Alignas(128) _Atomic uint32_t ball;
static _Alignas(128) uint32_t word;       /* a futex: 0 while the sleeper is to sleep */
static _Atomic uint64_t woke;

static void *hitter(void *arg)
{
	(void)arg;
	on_cpu(1);
	for (uint32_t i = 1; !atomic_load_explicit(&stop, memory_order_relaxed); i += 2) {
		while (atomic_load_explicit(&ball, memory_order_acquire) != i)
			if (atomic_load_explicit(&stop, memory_order_relaxed))
				return NULL;
		atomic_store_explicit(&ball, i + 1, memory_order_release);
	}
	return NULL;
}

/* A line that another CPU has written, there and back, halved. */
static void miss(void)
{
	double least = 1e18;
	pthread_t t;
	uint32_t turn = 0;

	on_cpu(0);
	ball = 0;
	stop = false;
	pthread_create(&t, NULL, hitter, NULL);
	for (int b = 0; b < BATCHES; b++) {
		uint64_t began = now();

		for (int i = 0; i < 1000; i++) {
			atomic_store_explicit(&ball, ++turn, memory_order_release);
			while (atomic_load_explicit(&ball, memory_order_acquire) == turn)
				;
			turn++;
		}
		least = (double)(now() - began) / 2000 < least ? (double)(now() - began) / 2000 : least;
	}
	atomic_store(&stop, true);
	pthread_join(t, NULL);
	print1("miss", least);
}

static void *sleeper(void *arg)
{
	(void)arg;
	on_cpu(1);
	while (!atomic_load(&stop)) {
		while (!__atomic_load_n(&word, __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		atomic_store(&woke, now());
		__atomic_store_n(&word, 0, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* From before the call that wakes until the sleeper runs, its CPU idle for about `idle` ns; and what the call takes. */
static void wakeup(const char *name, const char *callname, uint64_t idle)
{
	static uint64_t late[SAMPLES], call[SAMPLES];
	pthread_t t;

	on_cpu(0);
	stop = false;
	word = 0;
	pthread_create(&t, NULL, sleeper, NULL);
	quiet_sleep(10000000);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t until = now() + idle, at, done;

		/* Awake, so that only the sleeper's CPU is idle. */
		while (now() < until)
			;
		at = now();
		__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
		done = now();
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE))
			;
		late[i] = atomic_load(&woke) - at;
		call[i] = done - at;
	}
	atomic_store(&stop, true);
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(t, NULL);
	print_quantiles(name, late, SAMPLES);
	print_quantiles(callname, call, SAMPLES);
}

static void *busy(void *arg)
{
	(void)arg;
	on_cpu(1);
	atomic_store(&cputid, gettid());
	while (!atomic_load(&stop))
		;
	return NULL;
}

/* What asks after another thread, while that one computes. */
static void questions(void)
{
	struct timespec ts;
	pthread_t t;
	clockid_t clock;

	on_cpu(0);
	stop = false;
	pthread_create(&t, NULL, busy, NULL);
	while (!atomic_load(&cputid))
		;
	pthread_getcpuclockid(t, &clock);
	LEAST("cpuclock", 200, clock_gettime(clock, &ts));
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0)
		LEAST("membarrier", 100, syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
	atomic_store(&stop, true);
	pthread_join(t, NULL);
}

static uint64_t cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* CPU time of the thread, for a sleep: the call, the timer, and its part of the switches. */
static void sleeping(void)
{
	uint64_t used[SAMPLES];

	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t began = cpu_now();

		quiet_sleep(100000);
		used[i] = cpu_now() - began;
	}
	prctl(PR_SET_TIMERSLACK, 0);
	print1("sleep", (qsort(used, SAMPLES, sizeof(*used), by_size), (double)used[SAMPLES / 4]));
}

/* How late a sleep ends whose thread asked for a slack of 1 ns, all CPUs idle; and one with the usual slack. */
static void timer(const char *name, unsigned long slack)
{
	static uint64_t late[SAMPLES];

	prctl(PR_SET_TIMERSLACK, slack);
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t at = now() + 300000 + (uint64_t)(i % 7) * 100000;
		struct timespec ts = { (time_t)(at / 1000000000), (long)(at % 1000000000) };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		late[i] = now() - at;
	}
	prctl(PR_SET_TIMERSLACK, 0);
	print_quantiles(name, late, SAMPLES);
}

int main(void)
{
	int n = find_cpus();

	on_cpu(0);
	alone();
	kernel_switch();
	threads();
	if (n > 1) {
		miss();
		wakeup("wakeup5", "futexwake5", 5000);
		wakeup("wakeup100", "futexwake100", 100000);
		wakeup("wakeup2000", "futexwake2000", 2000000);
		questions();
	}
	sleeping();
	timer("timer", 1);
	pthread_setaffinity_np(pthread_self(), sizeof(allowed), &allowed);
	return 0;
}
