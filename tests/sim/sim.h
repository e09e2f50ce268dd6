/*
 * sim: the runtime on a machine that does not exist.
 *
 * The runtime's own objects are linked with another os.h (os.c): kernel threads are coroutines of one real thread, CPUs
 * and time are numbers, and one seed decides every choice (kernel.c).  A choice may be made at each call of os.h and at
 * each locked instruction (coarse), or at each atomic access (fine): the objects are compiled with
 * -fsanitize=thread, and points.c has what the compiler then calls.  The same seed makes the same run, byte for
 * byte.
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
enum { SIM_BEGIN = 1000000000 }; /* virtual ns at the start */
enum { LOST = 150000000 }; /* ns; what is so late was lost: whatever else there is to do takes no such time */

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
	uint64_t order;        /* among the sleepers of a futex, and among those that wait for a CPU */
	const char *why;       /* while blocked: a WHY_ */
	bool sysmon;
	int woken;             /* why it does not sleep any more: 0 or -errno */
	uint64_t sigmask, pending;
	uint64_t alarm;        /* when its timer sends it alarmsig; 0: it is not set */
	int alarmsig;
	unsigned queued;       /* signals 32 behind the one that is pending: the kernel keeps each */
	bool inhandler;
	void (*handler)(void); /* of the program's, of a thread that is no G: what it does there */
	bool poked;            /* that handler is to run */
	uint64_t priority;     /* PCT */
	unsigned row;          /* points since it fell */
	/* measured: fair.c, cost.c */
	uint64_t vtime, vdeadline, wants; /* virtual ns; wants: its slice, 0: the usual one */
	uint64_t slack;        /* of its timers; 0: the usual one */
	int lastcpu;
	bool giveway;          /* another shall have its CPU */
	uint64_t wakes;        /* times that it was woken */
	uint64_t waits;        /* times that it blocked */
	unsigned children;     /* processes that are its own */
	void *(*fn)(void *);
	void *arg;
	char name[16];
};

struct simopts {
	uint64_t seed;
	unsigned cpus, procs, gs;
	bool fine, pct, tso, measured;
	unsigned trace;        /* 1: lines; 2: with atomic accesses */
	const char *workload;
	uint64_t maxsteps, maxtime;
};

struct sim {
	struct task *tasks;    /* MAXTASKS */
	struct task *cur;
	unsigned ntasks;
	uint64_t steps, lastnow;
	uint64_t rng;
	bool judged;           /* the runtime has started: audit.c asks */
	bool over;             /* the workload has ended: nothing is judged any more */
	bool refused;          /* a call of os.h failed */
	bool choosing;         /* no task is between two points: what asks now is the simulation */
	int fault;             /* errors of os.h left to be made: see sim_fails() */
};
extern struct sim sim;
extern struct simopts opt;

/* What the runs tell, which are children. */
struct sim_shared {
	uint64_t steps, runs;  /* of runs without a fault */
	uint64_t seed;         /* of the last run */
	const char *fault;     /* the words of sim_fail(); NULL: none */
	uint64_t steps_at_fault, nanswers;
};
extern struct sim_shared *sim_shared;

/* ---- arena.c: the memory of a run --------------------------------------------------------------- */

void arena_init(void);
void *arena_alloc(size_t n, size_t align);        /* zeroes; for the rest of the run */
void arena_close(void *p, size_t n);              /* not to be touched any more */
void arena_keep(void);                            /* all variables, before the first run of a process */
void arena_restore(void);                         /* after a run */

/* ---- main.c, shorten.c: runs ------------------------------------------------------------------ */

bool run_shown(uint64_t seed, const struct simopts *given);   /* true: no fault */
bool run_quietly(uint64_t seed, const struct simopts *given);
void shorten(const struct simopts *given, unsigned seconds);

/* ---- chance.c: what the seed decides ----------------------------------------------------------- */

enum { SIM_ANSWERS = 1 << 24, SIM_LONG = 20000 };
struct sim_answers {
	uint32_t *at;          /* NULL: none are kept, or none are given */
	uint64_t n, next;
};
extern struct sim_answers sim_record, sim_given;

void sim_chance_init(uint64_t seed);
uint64_t sim_mix(uint64_t z);
uint64_t sim_random(uint64_t below);              /* 0 .. below - 1; 0 is what makes least of the run */
bool sim_chance(uint64_t one_in);
uint64_t sim_some(uint64_t least, uint64_t most);
uint64_t sim_gap(uint64_t mean);                  /* points until something, 1 at least */

/* ---- kernel.c: who runs ---------------------------------------------------------------------- */

#define WHY_FUTEX "futex"
#define WHY_EPOLL "epoll"
#define WHY_USLEEP "usleep"
#define WHY_KERNEL "in the kernel"
#define WHY_JOIN "join of a task"

void sim_init(void);
void sim_point(enum point kind, const char *what); /* another task may go on here */
void sim_access(enum point kind, const char *what, const void *pc, const volatile void *at);
void sim_charge(uint64_t ns);                     /* the calling task computes */
void sim_yield(void);                             /* others come before it */
struct task *task_new(void *(*fn)(void *), void *arg, void *stack, size_t size, const char *name);
struct task *task_by_tid(int tid);
int task_block(uint64_t deadline, const char *why); /* 0: woken; -ETIMEDOUT, -EINTR */
void task_wake(struct task *t, int why);
void task_end(void) __attribute__((noreturn));
void task_signal(struct task *t, int sig);
void task_alarm(struct task *t, uint64_t when); /* its timer rings then; 0: never */
void task_poke(struct task *t);                   /* a signal of the program's, to a thread that is no G */
void task_alone(void);                            /* a fork: there are no other tasks */
uint64_t sim_now(void);

/* ---- block.c: thread blocks -------------------------------------------------------------------- */

void block_init(void);
void *block_new(void);                            /* a thread block as the first task's */
size_t block_size(void);
void *block_at(void *area);

/* ---- trace.c ----------------------------------------------------------------------------------- */

void sim_fail(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
void sim_trace(const char *fmt, uintptr_t a, uintptr_t b); /* of each %s or %lu, both of which stay what they are */
void sim_trace_access(const char *what, const void *pc, const void *at);

/* ---- audit.c: what must be true ---------------------------------------------------------------- */

void audit_quiet(void);
void audit_running(uint64_t now);

/* ---- points.c: what a CPU has stored and others do not see yet ------------------------------- */

void points_init(void);
extern unsigned char *sim_reach;                   /* NULL, or a byte for each of the program's */
void sim_drain(const struct task *t);
void sim_drain_all(void);

/* ---- os.c: descriptors of the workloads ------------------------------------------------------ */

int fd_stream(void);                               /* a stream that others write to */
int fd_file(int fd);                               /* which file the number names: for its other end */
bool fd_left(bool (*owned)(int fd));               /* a number that the runtime made for a file, not one of those */
bool fd_readable(int fd);
int fd_wait(int fd, uint64_t deadline);            /* in the kernel, until it is readable: 0, -ETIMEDOUT */
int fd_read(int fd, unsigned most);                /* bytes taken, 0 at the end, -EAGAIN */
void fd_write(int file, unsigned n);
void fd_shut(int file);                            /* the end comes after what is in it */
void fd_shut_open(int file);                       /* the same, if some number names it still */
bool sim_fails(const char *what);
bool fd_any_ready(void);                           /* a poll would return something of the program's */
bool fd_event_is_set(void);
uint64_t clock_now(void);                          /* CLOCK_REALTIME */
void clock_set(int64_t ns);                        /* by so much */
void child_made(void);                             /* by the calling task */
bool child_waited(void);                           /* false: it has none */

/* ---- world.c: threads of the workloads ------------------------------------------------------- */

struct thread;
void world_run(void (*main_fn)(void));             /* main_fn is the main G */
struct thread *go(void (*fn)(void *), void *arg);
void join(struct thread *t);
void interrupt(struct thread *t);
void compute(uint64_t ns);                         /* points among it */
void ksleep(uint64_t ns);                          /* blocks in the kernel, unseen */
void ksleep_seen(uint64_t ns, bool certain);       /* the same as a system call that the shim knows */
void world_limit(unsigned tasks, uint64_t until); /* no more kernel threads than so many before then */
int nap(uint64_t ns);                              /* parks: 0, or -EINTR */

struct thread *go_detached(void (*fn)(void *), void *arg);
struct thread *go_locked(void (*fn)(void *), void *arg); /* on an M of its own from its beginning */
int nap_for_ever(void);                            /* -EINTR */
void resize(unsigned procs);
void prefer(struct thread *t, int priority);
uint64_t cputime(struct thread *t);                /* NULL: of the calling one */
bool become_single(void);                          /* of main alone: true: there is no other task */
void world_fork(void);                             /* goes on in the child: the calling thread is its main one */
struct native;                                     /* a thread that is no G */
struct native *native_start(void (*fn)(void *), void *arg);
struct native *native_start_handled(void (*fn)(void *), void *arg, void (*handler)(void));
void native_poke(struct native *t);                /* a signal: its handler runs there */
void native_join(struct native *t);

struct mutex { _Atomic uint32_t word; };           /* 0 free, 1 held, 2 held and waited for */
void mutex_lock(struct mutex *m);
void mutex_unlock(struct mutex *m);
void pi_lock(struct mutex *m);                     /* its holder may be given its waiters' priority */
void pi_unlock(struct mutex *m, bool stay);
struct cond { _Atomic uint32_t seq; };
int cond_wait(struct cond *c, struct mutex *m, uint64_t ns); /* 0 or -ETIMEDOUT; ns 0: no deadline */
int cond_wait_once(struct cond *c, struct mutex *m, uint64_t ns); /* the same, or -EINTR */
void cond_signal(struct cond *c, unsigned n);
void cond_broadcast(struct cond *c, struct mutex *m); /* all that wait have m */

/* ---- workloads.c ----------------------------------------------------------------------------- */

struct workload {
	const char *name;
	void (*fn)(void);
};
extern const struct workload workloads[];
extern unsigned long progress;                     /* what the workload has done, for the final line */

#endif
