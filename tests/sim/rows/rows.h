/*
 * rows.h: workloads whose times are measured, in the simulation and on a real machine, from one source.
 *
 * rows.c has them.  It is linked with the simulation's threads (virtual.c, ../world.c) or with pthreads (real.c); both
 * offer what is declared here.
 */
#ifndef WEFT_TESTS_SIM_ROWS_H
#define WEFT_TESTS_SIM_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef ROWS_REAL
#include <pthread.h>
struct thread;
struct mutex { pthread_mutex_t m; };
struct cond { pthread_cond_t c; };
struct barrier { pthread_barrier_t b; };
struct stream { int fd[2]; };
struct thread *go(void (*fn)(void *), void *arg);
void join(struct thread *t);
void compute(uint64_t ns);
int nap(uint64_t ns);
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
int cond_wait(struct cond *c, struct mutex *m, uint64_t ns); /* 0 or -ETIMEDOUT; ns 0: no deadline */
void cond_signal(struct cond *c, unsigned n);
#else
#include "runtime/netpoll.h"
#include "tests/sim/sim.h"
struct barrier { unsigned count, in; _Atomic uint32_t round; };
struct stream { int fd; pollslot slot; };
#endif

uint64_t rows_now(void);
void rows_fail(const char *what) __attribute__((noreturn));
void mutex_init(struct mutex *m);
void cond_init(struct cond *c);
void barrier_init(struct barrier *b, unsigned count);
void barrier_wait(struct barrier *b);
void stream_open(struct stream *s);
void stream_write(struct stream *s);      /* a byte */
void stream_read(struct stream *s);       /* waits for it */
void stream_close(struct stream *s);

struct row {
	const char *name, *what;
	void (*run)(unsigned cpus, unsigned rounds);
	uint64_t (*ideal)(unsigned cpus, unsigned rounds); /* ns: with no scheduler's cost, and no latency */
	unsigned rounds;
};
extern const struct row rows[];
const struct row *row_of(const char *name);

/*
 * One row: a quarter of its rounds first, so that threads and memory are there; then what is measured.  settle
 * is called in between: after it all threads sleep for SETTLE, in which sysmon's looks become rare again.
 * begun and over are called around what is measured; none of the three may block.
 */
enum { SETTLE = 30000000 };   /* ns */
struct rowtimes {
	uint64_t ns, ideal;
	uint64_t p50, p99;     /* ns from a wake-up until the thread runs */
	unsigned samples;
};
void row_measure(const struct row *r, unsigned cpus, unsigned scale, void (*settle)(void), void (*begun)(void),
		 void (*over)(void), struct rowtimes *out);

#endif
