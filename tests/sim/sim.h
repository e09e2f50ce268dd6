/*
 * sim: the runtime on a machine that does not exist.
 *
 * The runtime's own objects are linked with another os.h (os.c): kernel threads are coroutines of one real thread, CPUs
 * and time are numbers, and one seed decides every choice (kernel.c).  A choice may be made at each call of os.h and at
 * each locked instruction (coarse), or at each atomic access (fine): the objects are compiled with -fsanitize=thread, and
 * points.c has what the compiler then calls.  The same seed makes the same run, byte for byte.
 *
 * Threads of the simulated kernel are called tasks here: `thread` would be a G's word in the workloads.
 *
 * Must never: read a real clock, a real address that differs from run to run, or anything else that the seed does not
 * decide.
 */
#ifndef WEFT_TESTS_SIM_H
#define WEFT_TESTS_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAXCPUS = 128, MAXTASKS = 4096, MAXFDS = 2048 };

enum point {
	POINT_ATOMIC,   /* a load or store of an atomic object */
	POINT_LOCKED,   /* a read-modify-write: each lock() is one */
	POINT_CALL,     /* a call of os.h */
	POINT_WORK,     /* the workload's own */
};

enum taskstate { TASK_FREE, TASK_READY, TASK_RUNNING, TASK_BLOCKED, TASK_ENDED };

struct task {
	uintptr_t sp;
	void *fs;
	enum taskstate state;
	int tid;
	int cpu;               /* -1: none */
	uint64_t clock;        /* virtual ns at which it does what it does next */
	uint64_t used;         /* virtual ns of CPU */
	uint64_t slice;        /* of its time on this CPU, used */
	uint64_t deadline;     /* while blocked; 0: none */
	const void *futex;     /* while blocked on one */
	int epoll;             /* while blocked in one: number + 1 */
	uint64_t order;        /* among the sleepers of a futex */
	int woken;             /* why it does not sleep any more: 0 or -errno */
	uint64_t sigmask, pending;
	bool inhandler;
	uint64_t priority;     /* PCT */
	/* measured: fair.c, cost.c */
	uint64_t vtime, vdeadline, wants; /* virtual ns; wants: its slice, 0: the usual one */
	uint64_t slack;        /* of its timers; 0: the usual one */
	int lastcpu;
	bool giveway;          /* another shall have its CPU */
	uint64_t wakes;        /* times that it was woken */
	void *(*fn)(void *);
	void *arg;
	char name[16];
};

struct simopts {
	uint64_t seed;
	unsigned cpus, procs, gs;
	bool fine, trace, pct, tso, measured;
	const char *workload;
	uint64_t maxsteps, maxtime;
};

struct sim {
	struct task tasks[MAXTASKS];
	struct task *cur;
	unsigned ntasks;
	uint64_t steps, lastnow;
	uint64_t rng;
	bool over;             /* the workload has ended: nothing is judged any more */
	int fault;             /* errors of os.h left to be made: see sim_fails() */
};
extern struct sim sim;
extern struct simopts opt;

/* ---- kernel.c: who runs ---------------------------------------------------------------------- */

uint64_t sim_random(uint64_t below);              /* 0 .. below - 1 */
void sim_init(void);
void sim_point(enum point kind, const char *what); /* another task may go on here */
void sim_charge(uint64_t ns);                     /* the calling task computes */
struct task *task_new(void *(*fn)(void *), void *arg, void *stack, size_t size, const char *name);
struct task *task_by_tid(int tid);
int task_block(uint64_t deadline, const char *what); /* 0: woken; -ETIMEDOUT, -EINTR */
void task_wake(struct task *t, int why);
void task_end(void) __attribute__((noreturn));
void task_signal(struct task *t, int sig);
void *block_new(void);                            /* a thread block as the first task's */
size_t block_size(void);
void *block_at(void *area);
uint64_t sim_now(void);
void sim_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void sim_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- points.c: what a CPU has stored and others do not see yet ------------------------------- */

void sim_drain(const struct task *t);
void sim_drain_all(void);

/* ---- os.c: descriptors of the workloads ------------------------------------------------------ */

int fd_stream(void);                               /* a stream that others write to */
int fd_file(int fd);                               /* which file the number names: for its other end */
int fd_read(int fd, unsigned most);                /* bytes taken, 0 at the end, -EAGAIN */
void fd_write(int file, unsigned n);
void fd_shut(int file);                            /* the end comes after what is in it */
bool sim_fails(const char *what);

/* ---- world.c: threads of the workloads ------------------------------------------------------- */

struct thread;
void world_run(void (*main_fn)(void));             /* main_fn is the main G */
struct thread *go(void (*fn)(void *), void *arg);
void join(struct thread *t);
void interrupt(struct thread *t);
void compute(uint64_t ns);                         /* points among it */
void ksleep(uint64_t ns);                          /* blocks in the kernel, unseen */
void ksleep_seen(uint64_t ns, bool certain);       /* the same as a system call that the shim knows */
int nap(uint64_t ns);                              /* parks: 0, or -EINTR */

struct mutex { _Atomic uint32_t word; };           /* 0 free, 1 held, 2 held and waited for */
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
struct cond { _Atomic uint32_t seq; };
int cond_wait(struct cond *c, struct mutex *m, uint64_t ns); /* 0 or -ETIMEDOUT; ns 0: no deadline */
void cond_signal(struct cond *c, unsigned n);

/* ---- workloads.c ----------------------------------------------------------------------------- */

struct workload {
	const char *name;
	void (*fn)(void);
};
extern const struct workload workloads[];
extern unsigned long progress;                     /* what the workload has done, for the final line */

#endif
