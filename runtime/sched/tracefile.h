/*
 * tracefile: an execution trace, or a profile, as the library writes it: in memory that weftctl(1) reads, or in a file.
 *
 * A header, the program's mappings, stacks, then chunks of events, in that order and each on pages of its own.  An M
 * (or sysmon and native threads together) fills a chunk at a time and alone; when none was never used, the one that was
 * full for the longest time is used again.  So what is here is the end of what happened, and each event has a number in
 * its writer's stream by which a reader counts what is missing.
 *
 * A profile is the same without chunks, with more stacks, and its stacks count.
 *
 * Included by the library, the launcher and ctl/.
 * Must never: include anything of weft's; be read from a file without checks.
 */
#ifndef WEFT_TRACEFILE_H
#define WEFT_TRACEFILE_H

#include <stdint.h>
#include <string.h>

enum {
	TRACE_PAGE = 4096,
	TRACE_MAPS = 256 << 10,      /* bytes of /proc/self/maps at most */
	TRACE_STACKS = 2048,         /* different stacks of a trace at most; a power of two */
	/*
	 * The same of a profile.  Calls that wait are hundreds at most.  CPU time is found at a hundred places a
	 * second and CPU, so of places that are all different this is room for a minute and a half of two CPUs.
	 */
	PROFILE_STACKS = 16384,
	TRACE_STACK_BYTES = 2048,    /* of one, with its head */
	TRACE_CHECKS = 8,            /* return addresses by which a stack is known again */
	TRACE_CHUNK = 32 << 10,      /* bytes of a chunk, with its head */
};

#define TRACE_MAGIC "weft trace 0002"
#define PROFILE_MAGIC "weft profile 01"

/* The writer that is no M: sysmon and native threads, one after another. */
enum { TRACE_NATIVE = 1 << 20 };

enum trace_kind {
	TRACE_NONE,
	TRACE_CREATE,   /* g is made; arg: where it will begin */
	TRACE_RUN,      /* g runs on this writer's M, on p */
	TRACE_PARK,     /* g, which ran here, waits for reason and arg, an address */
	TRACE_READY,    /* g is runnable; arg: who woke it, 0: no G */
	TRACE_YIELD,    /* g, which ran here, is runnable */
	TRACE_PREEMPT,  /* the same: it had its slice */
	TRACE_EXIT,     /* g, which ran here, ends */
	TRACE_SYSCALL,  /* g is in a system call, and its P stays with this M */
	TRACE_SYSBLOCK, /* the same, and its P leaves */
	TRACE_SYSEXIT,  /* g is out of it, with the P that it had */
	TRACE_SYSLOST,  /* g is out of it, or of an unseen block, and its P is gone */
	TRACE_HANDOFF,  /* p was taken from the call of the M arg */
	TRACE_UNSEEN,   /* p was taken from the M arg, whose G g blocks where weft does not see it */
	TRACE_PSTART,   /* this M has p */
	TRACE_PSTOP,    /* this M has p no more */
	TRACE_STEAL,    /* g was stolen from the P arg, for p */
	TRACE_KINDS,
};

enum { TRACE_NOP = 0xffff };         /* no P */

struct trace_event {
	uint64_t time;               /* CLOCK_MONOTONIC, ns */
	uint64_t g;
	uint64_t arg;
	uint32_t stack;              /* number of a stack and 1; 0: none */
	uint16_t p;
	uint8_t kind;                /* enum trace_kind */
	uint8_t reason;              /* enum waitreason */
};

enum trace_state { TRACE_FREE, TRACE_FILLS, TRACE_FULL };

struct trace_chunk {
	uint32_t state;              /* enum trace_state */
	uint32_t writer;             /* number of an M, or TRACE_NATIVE */
	uint64_t use;                /* so many chunks were taken before this one; changes with each use */
	uint64_t first;              /* events of this writer before the first here */
	uint32_t n;                  /* events here */
	uint32_t tid;                /* of the writer */
	uint64_t spare[4];
	struct trace_event event[];
};

enum { TRACE_CHUNK_EVENTS = (TRACE_CHUNK - sizeof(struct trace_chunk)) / sizeof(struct trace_event) };

/* For whom a G waits: the last column of waitreason.def. */
enum profile_whom { WHOM_NOBODY, WHOM_HOLDER, WHOM_ANY };

/* Of a profile: what happened at a stack, how often and for how many ns. */
enum profile_value { PROFILE_CPU, PROFILE_BLOCK, PROFILE_MUTEX, PROFILE_VALUES };

struct trace_stack {
	uint64_t key;                /* 0: free */
	uint64_t pc, sp, bp;         /* where the program called weft, and its registers after that */
	uint32_t n;                  /* bytes of the stack here, from sp up; 0: not written yet */
	uint8_t nchecks;
	uint8_t interrupted;         /* a signal came at pc, which is no return address */
	struct {
		uint32_t at;         /* bytes from sp */
		uint32_t spare;
		uint64_t value;
	} check[TRACE_CHECKS];
	struct {
		uint64_t n, ns;
	} value[PROFILE_VALUES];     /* of a profile */
	uint8_t bytes[];
};

enum { TRACE_STACK_MOST = TRACE_STACK_BYTES - sizeof(struct trace_stack) };

struct trace_header {
	char magic[16];
	uint32_t header, maps, stacks, stack, chunk, nchunks; /* sizes and counts: the writer's are the reader's */
	uint32_t pid;
	uint32_t mapsused;           /* bytes of the mappings */
	uint64_t start, end;         /* ns; end 0: it is being written, or the process was killed */
	uint64_t realtime;           /* CLOCK_REALTIME at start */
	uint64_t taken;              /* chunks that were taken so far */
	uint64_t nostack;            /* stacks for which there was no room */
	struct {
		uint64_t n, ns;
	} unknown[PROFILE_VALUES];   /* of a profile: what has no stack */
};

/* So a trace or a profile begins. */
static inline int trace_is_raw(const struct trace_header *h)
{
	return memcmp(h->magic, TRACE_MAGIC, sizeof(h->magic)) == 0 ||
	       memcmp(h->magic, PROFILE_MAGIC, sizeof(h->magic)) == 0;
}

/* Bytes before the first chunk; all of a profile. */
enum {
	TRACE_HEAD = TRACE_PAGE + TRACE_MAPS + TRACE_STACKS * TRACE_STACK_BYTES,
	PROFILE_SIZE = TRACE_PAGE + TRACE_MAPS + PROFILE_STACKS * TRACE_STACK_BYTES,
};

enum { TRACE_TAKERS = 8 };           /* of one process at one time */

/* What weftctl asks of the library, in the library's memory: sysmon looks at it. */
struct trace_control {
	uint64_t until;              /* ns: a trace that weftctl wants, until then at most; 0: none */
	uint64_t bytes;              /* of chunks */
	uint64_t at;                 /* where its header is; 0: there is none */
	uint64_t ended;              /* so many such traces have ended, or could not begin */
	uint64_t taker[TRACE_TAKERS]; /* ns: until then a weftctl takes events; theirs alone, sysmon looks at until */
};

#endif
