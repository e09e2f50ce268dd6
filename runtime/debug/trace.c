/*
 * trace: execution traces: what becomes of each G, M and P, as events in memory (tracefile.h).
 *
 * Begun by weftctl(1), which writes to trace_control and reads the memory while it is written, or by the option
 * `trace`, whose memory is a file that is mapped shared: what was written stays when the process dies.  sysmon begins
 * and ends a trace; no M waits for that.  An M takes a chunk when it has its first event, and the next when that is
 * full.  Its position is published by a store-release of `n`; a reader that finds another `use` afterwards throws away
 * what it copied.
 *
 * The memory of a trace that ended is given back page by page and stays reserved: an M that was stopped in the middle
 * of an event may write one more.
 *
 * Rejected: a ring for each M.  Ms are many and most of them sleep, so a ring that is large enough for a busy one is
 * wasted on the others.  A clock of our own (rdtsc): 10 ns instead of 22 for an event, and then the order of causes is
 * not the order of times.
 *
 * Must never: wait for a reader; call libc but for its copies of memory; be entered unpinned.
 */
#include "runtime/debug/trace.h"

#include <string.h>

_Atomic uint32_t trace_on;
struct trace_control trace_control;

enum { SIZES = 32 };                     /* powers of two, of chunks */

static struct trace_header *buffer;      /* sysmon's, and before the first thread main's; NULL: there was no trace */
static size_t room;                      /* bytes of it */
static bool into_file;
/* Of each size one that weftctl asked for: an M may still write to it, so none is unmapped. */
static struct trace_header *kept[SIZES];
static _Atomic uint32_t run;             /* changes with each trace: chunks of the last one are not to be used */

static struct lock nativelock = LOCK_INIT(Trace);
static struct tracewriter native;        /* nativelock: of what is no M */

/* ---- chunks ---------------------------------------------------------------------------------- */

static struct trace_chunk *chunk_at(struct trace_header *h, uint64_t i)
{
	return (struct trace_chunk *)((char *)h + TRACE_HEAD + i * TRACE_CHUNK);
}

/* The oldest that no writer fills; NULL: each has one. */
static struct trace_chunk *chunk_take(struct trace_header *h, uint64_t use)
{
	for (uint32_t i = 0; i < h->nchunks; i++) {
		struct trace_chunk *c = chunk_at(h, (use + i) % h->nchunks);
		uint32_t s = load_relaxed(&c->state);

		if (s != TRACE_FILLS && cas_acquire(&c->state, &s, TRACE_FILLS))
			return c;
	}
	return NULL;
}

/* False: there is no room, and the event is lost. */
static bool chunk_next(struct tracewriter *w, uint32_t writer, int tid)
{
	struct trace_header *h = load_acquire(&buffer);
	uint64_t use = fetch_add_relaxed(&h->taken, 1);
	struct trace_chunk *c;

	if (w->run != load_relaxed(&run)) {
		w->run = load_relaxed(&run);
		w->chunk = NULL;
		w->count = 0;
	}
	if (w->chunk)
		store_release(&w->chunk->state, TRACE_FULL);
	w->chunk = c = chunk_take(h, use);
	if (!c)
		return false;
	/* A reader looks at use before and after. */
	store_relaxed(&c->use, 0);
	fence_seqcst(); /* seq_cst with the reader, another process: it reads use, copies, then reads use again */
	store_relaxed(&c->n, 0);
	c->writer = writer;
	c->tid = (uint32_t)tid;
	c->first = w->count;
	store_release(&c->use, use + 1);
	return true;
}

/* An M ends: what it has filled may be used again. */
void trace_leave(struct m *mp)
{
	if (mp->trace.chunk && mp->trace.run == load_relaxed(&run))
		store_release(&mp->trace.chunk->state, TRACE_FULL);
	mp->trace.chunk = NULL;
}

static inline void put(struct tracewriter *w, uint32_t writer, int tid, const struct trace_event *e)
{
	struct trace_chunk *c = w->chunk;
	uint32_t n = c ? load_relaxed(&c->n) : 0;

	if (unlikely(!c || n >= TRACE_CHUNK_EVENTS || w->run != load_relaxed(&run))) {
		if (!chunk_next(w, writer, tid)) {
			w->count++;
			return;
		}
		c = w->chunk;
		n = 0;
	}
	c->event[n] = *e;
	w->count++;
	store_release(&c->n, n + 1);
}

void trace_event(enum trace_kind kind, uint64_t g, uint64_t arg, const struct p *pp, unsigned reason, bool stack)
{
	struct m *mp = getm();
	const struct p *on = pp || !mp ? pp : mp->p;
	uint32_t to = load_relaxed(&trace_on);
	struct trace_event e = {
		.time = nanotime(),
		.g = g,
		.arg = arg,
		.p = on ? (uint16_t)on->id : TRACE_NOP,
		.kind = (uint8_t)kind,
		.reason = (uint8_t)reason,
	};

	if (to & TRACE_PROFILE)
		profile_event(mp, kind, __builtin_frame_address(0));
	if (!(to & TRACE_LOG))
		return;
	if (stack && weft_tls.g)
		e.stack = trace_stack(load_acquire(&buffer), __builtin_frame_address(0));
	if (likely(mp)) {
		put(&mp->trace, (uint32_t)mp->id, mp->ostid, &e);
		return;
	}
	lock(&nativelock);
	put(&native, TRACE_NATIVE, 0, &e);
	unlock(&nativelock);
}

void trace_parks(struct g *gp, unsigned reason, const void *addr)
{
	if (load_relaxed(&trace_on) & TRACE_PROFILE)
		profile_park(gp, __builtin_frame_address(0));
	trace_event(TRACE_PARK, gp->shim.goid, (uintptr_t)addr, NULL, reason, true);
}

void trace_readies(struct g *gp)
{
	const struct g *waker = weft_tls.g;

	if (load_relaxed(&trace_on) & TRACE_PROFILE)
		profile_ready(gp, __builtin_frame_address(0));
	trace_event(TRACE_READY, gp->shim.goid, waker ? waker->shim.goid : 0, NULL, 0, true);
}

void trace_runs(struct g *gp, const struct p *pp)
{
	if (load_relaxed(&trace_on) & TRACE_PROFILE)
		profile_run(gp);
	trace_event(TRACE_RUN, gp->shim.goid, 0, pp, 0, false);
}

/* ---- begin and end --------------------------------------------------------------------------- */

void trace_header_maps(struct trace_header *h)
{
	ssize_t n = os_slurp("/proc/self/maps", (char *)h + TRACE_PAGE, TRACE_MAPS);

	store_release(&h->mapsused, n > 0 ? (uint32_t)n : 0);
}

void trace_header_begin(struct trace_header *h, const char *magic, uint32_t stacks, size_t bytes)
{
	size_t head = TRACE_PAGE + TRACE_MAPS + (size_t)stacks * TRACE_STACK_BYTES;

	*h = (struct trace_header){
		.header = sizeof(*h),
		.maps = TRACE_MAPS,
		.stacks = stacks,
		.stack = TRACE_STACK_BYTES,
		.chunk = TRACE_CHUNK,
		.nchunks = (uint32_t)((bytes - head) / TRACE_CHUNK),
		.pid = (uint32_t)os_getpid(),
		.start = nanotime(),
	};
	memcpy(h->magic, magic, sizeof(h->magic));
	os_clock_gettime(OS_CLOCK_REALTIME, &h->realtime);
	trace_header_maps(h);
	trace_stack_begin();
}

static void begin(struct trace_header *h, size_t bytes)
{
	trace_header_begin(h, TRACE_MAGIC, TRACE_STACKS, bytes);
	room = bytes;
	store_release(&buffer, h);
	fetch_add_release(&run, 1);
	fetch_or_release(&trace_on, TRACE_LOG);
}

/* At least two, or two writers would have no room. */
static size_t chunks_of(uint64_t bytes)
{
	enum { FEWEST = 2, TRACE_MOST = 1 << 30 };

	bytes = bytes < TRACE_MOST ? bytes : TRACE_MOST;
	return bytes > FEWEST * TRACE_CHUNK ? bytes / TRACE_CHUNK : FEWEST;
}

static size_t size_of(size_t chunks)
{
	return TRACE_HEAD + chunks * TRACE_CHUNK;
}

/* As weftctl asked for. */
static bool begin_asked(void)
{
	int size = 64 - __builtin_clzll(chunks_of(load_relaxed(&trace_control.bytes)) - 1);
	size_t bytes = size_of((size_t)1 << size);
	struct trace_header *h = kept[size];

	if (!h)
		h = kept[size] = os_alloc(bytes);
	if (!h)
		return false;
	begin(h, bytes);
	store_release(&trace_control.at, (uintptr_t)h);
	return true;
}

static void end(uint64_t now)
{
	store_release(&trace_on, load_relaxed(&trace_on) & ~(uint32_t)TRACE_LOG);
	store_relaxed(&buffer->end, now);
	trace_stack_end();
	/* The first page stays: a reader that comes late sees that it is over, an M that is late finds its sizes. */
	os_discard((char *)buffer + TRACE_PAGE, room - TRACE_PAGE);
}

static bool writes_log(void)
{
	return load_relaxed(&trace_on) & TRACE_LOG;
}

/* sysmon, at each look. */
void trace_look(uint64_t now)
{
	uint64_t until = load_acquire(&trace_control.until);

	if (likely(!until) || into_file)
		return;
	if (!writes_log() && now < until && begin_asked())
		return;
	if (now < until && writes_log())
		return;
	if (writes_log())
		end(now);
	/* Asked for again meanwhile: the next look begins it. */
	if (cas_relaxed(&trace_control.until, &until, 0)) {
		store_relaxed(&trace_control.at, 0);
		fetch_add_release(&trace_control.ended, 1);
	}
}

/* It is another process's, of this run or one that lives: the launcher takes away what earlier runs have left. */
static bool is_taken(const void *there)
{
	const struct trace_header *h = there;

	return trace_is_raw(h) && h->pid != (uint32_t)os_getpid();
}

struct trace_header *trace_file(const char *what, const char *path, const char *magic, size_t bytes)
{
	struct trace_header head = { .pid = (uint32_t)os_getpid() }, *h;
	struct outbuf to = OUTBUF_INIT;
	long err;

	_Static_assert(sizeof(head) <= OS_CLAIM_HEAD, "room for it");
	memcpy(head.magic, magic, sizeof(head.magic));
	weft_print(&to, "%s%c", path, 0);
	h = os_claim_file(to.data, bytes, &head, sizeof(head), is_taken, &err);
	if (!h && err == -EBUSY) {
		to.len = 0;
		weft_print(&to, "%s.%d%c", path, os_getpid(), 0);
		h = os_claim_file(to.data, bytes, &head, sizeof(head), is_taken, &err);
	}
	if (!h)
		weft_say("%s: %s: error %ld (no %s is written)", what, to.data, -err, what);
	return h;
}

/* Before the first thread: the option. */
void trace_start(void)
{
	size_t bytes = size_of(chunks_of(weft_opt.tracesize));
	struct trace_header *h;

	if (!weft_opt.trace[0])
		return;
	h = trace_file("trace", weft_opt.trace, TRACE_MAGIC, bytes);
	if (!h)
		return;
	into_file = true;
	begin(h, bytes);
	store_release(&trace_control.at, (uintptr_t)h);
}

/* At exit: libraries that came after the start have names, too. */
static void __attribute__((destructor)) trace_exit_process(void)
{
	if (!into_file || !writes_log())
		return;
	trace_header_maps(buffer);
	store_relaxed(&buffer->end, nanotime());
}

/* The parent's goes on without this process. */
void trace_fork_child(void)
{
	store_relaxed(&trace_on, 0);
	profile_fork_child();
	trace_stack_end();
	buffer = NULL; /* the mapping is left: it may be the parent's file, and those that are kept are copies */
	into_file = false;
	room = 0;
	native = (struct tracewriter){ 0 };
	lock_init(&nativelock, Trace);
	trace_control = (struct trace_control){ 0 };
	fetch_add_relaxed(&run, 1);
}
