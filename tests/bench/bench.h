/*
 * bench.h: what the benchmark families share.
 *
 * weft-bench is a plain pthread program: it knows nothing of weft, so that the same binary measures
 * the kernel's threads and weft's. A family (create, mutex, echo ...) is one file; a benchmark is
 * one row of the table in bench.c and prints lines `NAME VALUE UNIT`, nothing else on stdout.
 *
 * A benchmark must check its own result (a counter, a sum, every byte of a reply) and die when it
 * is wrong: a fast wrong answer is not a figure.
 */
#ifndef WEFT_BENCH_H
#define WEFT_BENCH_H

#include <stdint.h>
#include <sys/types.h>

struct bench {
	const char *name;
	void (*run)(const struct bench *b);
	long a, b; /* what the row varies: threads, loops, connections */
	const char *help;
};

uint64_t now_ns(void);
uint64_t cpu_ns(void); /* user and system time of the whole process */
void report(const char *name, const char *suffix, double value, const char *unit);
_Noreturn void die(const char *what, int err);

/* Fails loudly: `call` is a pthread-style function that returns an error number. */
#define must(call)                                                                                 \
	do {                                                                                       \
		int must_err = (call);                                                             \
		if (must_err)                                                                      \
			die(#call, must_err);                                                      \
	} while (0)

/* The same for calls that return -1 and set errno. */
#define must_sys(call)                                                                             \
	do {                                                                                       \
		if ((call) < 0)                                                                    \
			die(#call, errno);                                                         \
	} while (0)

/*
 * measure - find a count that takes long enough, report ns per operation
 * @op: do n operations with b->a and b->b, return the ns they took
 *
 * The count grows until one call takes the target time (option -t), so that a 30 us operation and
 * a 10 ns one are both measured over the same stretch of a noisy machine.
 */
void measure(const struct bench *b, double (*op)(long n, const struct bench *b), long first);

/*
 * team_run - run body(0..threads-1) in as many threads, all let go at the same moment
 *
 * Returns the ns from letting go to the end of the last body: creation and join are not in it.
 */
double team_run(long threads, void (*body)(long i, void *arg), void *arg);

/* n/parts rounded so that the shares of all parts sum to n. */
long share(long n, long parts, long i);

long kernel_threads(void);	    /* entries of /proc/self/task */
long resident_kb(void);		    /* VmRSS */
long context_switches(int voluntary); /* of all kernel threads alive now; 0: involuntary ones */
void print_quantiles(const struct bench *b, uint64_t *ns, long n);

/* One line per family. */
void bench_create(const struct bench *b);
void bench_createmany(const struct bench *b);
void bench_forkjoin(const struct bench *b);
void bench_cond(const struct bench *b);
void bench_sem(const struct bench *b);
void bench_pipe(const struct bench *b);
void bench_eventfd(const struct bench *b);
void bench_socketpair(const struct bench *b);
void bench_lock(const struct bench *b);
void bench_mutex(const struct bench *b);
void bench_mutexwork(const struct bench *b);
void bench_mutexfair(const struct bench *b);
void bench_rwlock(const struct bench *b);
void bench_yield(const struct bench *b);
void bench_queue(const struct bench *b);
void bench_barrier(const struct bench *b);
void bench_sleeps(const struct bench *b);
void bench_spinners(const struct bench *b);
void bench_fair(const struct bench *b);
void bench_blocked(const struct bench *b);
void bench_signalled(const struct bench *b);
void bench_park(const struct bench *b);
void bench_idle(const struct bench *b);
void bench_compute(const struct bench *b);
void bench_startup(const struct bench *b);
void bench_echo(const struct bench *b);

int echo_client(int argc, char **argv);

#endif
