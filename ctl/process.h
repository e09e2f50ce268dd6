/*
 * process: a running process under weft, seen from outside.
 *
 * Everything is read by process_vm_readv(2): no signal, no ptrace, no stop.  The process runs on meanwhile, so what is
 * read may be half old and half new, or gone: every read can fail, every pointer is only a number until a read of it
 * worked, every loop has a bound.  The kernel decides who may look (the same user, or root).
 *
 * Must never: write to the process but for its mailbox (mailbox.h); trust a count that was read there.
 */
#ifndef WEFT_CTL_PROCESS_H
#define WEFT_CTL_PROCESS_H

#include "runtime/debug/layout.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc {
	pid_t pid;
	int pidfd;                  /* readable once the process is gone; -1: this kernel has none */
	char version[LAYOUT_VERSION];
	char library[4096];         /* path of libweft.so as the process has it */
	uint64_t start, end;        /* where it lies */
	bool on;                    /* it schedules: a thread was made */
	struct layout layout;       /* proc_layout_holds(); names is not to be used */
	uint64_t addr[NLAYOUT_ADDR];
	bool inner;                 /* in a pid namespace of its own: its kernel ids are others than ours */
};

/* NULL: cannot be looked at, and why[] says so in words that follow "weftctl: PID: ". */
struct proc *proc_open(pid_t pid, char *why, size_t n);
void proc_close(struct proc *p);
/* It has ended, or is another program by now (exec). */
bool proc_gone(const struct proc *p);

/* places.c: each member is in its struct, each size can be one. */
bool proc_layout_holds(const struct layout *l);

/* All n bytes, or false. */
bool proc_read(const struct proc *p, uint64_t addr, void *to, size_t n);
/* How many bytes from addr on there are, up to n. */
size_t proc_read_some(const struct proc *p, uint64_t addr, void *to, size_t n);
bool proc_write(const struct proc *p, uint64_t addr, const void *from, size_t n);
/* A string of at most n - 1 bytes; always terminated, and printable; "" if there is none. */
bool proc_string(const struct proc *p, uint64_t addr, char *to, size_t n);

/* A member of a copied struct, or of one that lies in the process (0 if it cannot be read); a constant. */
uint64_t proc_member(const struct proc *p, const void *copy, enum layout_field f);
uint64_t proc_field(const struct proc *p, uint64_t object, enum layout_field f);
uint64_t proc_number(const struct proc *p, enum layout_field f);
uint64_t proc_sched(const struct proc *p, enum layout_field f); /* a member of sched */
int proc_gomaxprocs(const struct proc *p);

/* Our number of the kernel thread that the process calls ostid; 0: not found. */
pid_t proc_tid(const struct proc *p, int ostid);

enum { PROC_NAME = 16 };

/* As enum gstatus. */
enum { GIDLE = 0, GRUNNABLE = 1, GRUNNING = 2, GSYSCALL = 3, GWAITING = 4, GDEAD = 6 };

struct proc_g {
	uint64_t addr, goid;
	uint32_t tid;               /* what libc's objects store as owner */
	uint32_t status;
	unsigned waitreason;
	uint64_t waitaddr, waitsince;
	uint64_t parked;            /* its place in the lot; 0: it has none */
	uint64_t sp, syscallsp, intpc, intsp;
	uint64_t m, lockedm;        /* addresses of Ms, 0: none */
	uint64_t stackbase, stacktop; /* main's are 0 */
	uint64_t thread, fs;
	uint64_t label;             /* address of the program's text, 0: none */
	uint64_t cputime;
	char name[PROC_NAME];
	const void *raw;            /* the copied struct g, for proc_member(); while the callback runs */
};

struct proc_m {
	uint64_t addr;
	int id, ostid;
	uint64_t curg, p, lockedg;
	bool spinning;
};

/* As enum pstatus. */
enum { PIDLE = 0, PRUNNING = 1, PSYSCALL = 2, PSTOPPED = 3, PDEAD = 4, PSIGNAL = 5 };

struct proc_p {
	uint64_t addr;
	int id;
	uint32_t status, schedtick, runs, syscalltick, queued, ntimers;
	uint64_t m;
};

/* Each living G, M, P once; until the callback says false.  False: the table cannot be read. */
bool proc_each_g(const struct proc *p, bool (*fn)(const struct proc_g *g, void *arg), void *arg);
bool proc_each_m(const struct proc *p, bool (*fn)(const struct proc_m *m, void *arg), void *arg);
bool proc_each_p(const struct proc *p, bool (*fn)(const struct proc_p *q, void *arg), void *arg);
/* One M by its address. */
bool proc_m_at(const struct proc *p, uint64_t addr, struct proc_m *m);
bool proc_g_at(const struct proc *p, uint64_t addr, struct proc_g *g); /* raw is NULL */

/*
 * In place: '?' for each byte that a terminal could take for a command.  Whatever the process or its files say, names
 * of functions and files among it, goes through here before it is printed.
 */
void printable(char *text);

const char *proc_reason(unsigned waitreason);  /* "mutex lock" */
const char *proc_status(uint32_t gstatus);     /* "waiting" */

#endif
