/*
 * tracelog: takes the events of an execution trace out of a process, while it writes them, or out of a file.
 *
 * A chunk is read between two looks at its `use`: if that has changed, a writer has begun the chunk anew, and what was
 * copied is thrown away.  What is missing is counted by the numbers that the events have in their writer's stream.
 *
 * Must never: wait for a writer; believe a number that was read to be a size.
 */
#include "ctl/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { HEADS = 512, CHUNKS_MOST = 1 << 16, WRITERS = 1 << 12 };

struct chunkseen {
	uint64_t use;
	uint32_t n;                  /* events that were taken */
};

static const char *kind_of(const char *magic)
{
	return strcmp(magic, PROFILE_MAGIC) == 0 ? "profile" : "trace";
}

bool log_begin(struct tracelog *log, const struct trace_header *h, const char *magic, char *why, size_t n)
{
	bool profile = strcmp(magic, PROFILE_MAGIC) == 0;

	*log = (struct tracelog){ .head = *h };
	if (memcmp(h->magic, magic, sizeof(h->magic)) != 0) {
		snprintf(why, n, "is no %s of this weft's", kind_of(magic));
		return false;
	}
	if (h->header != sizeof(*h) || h->maps != TRACE_MAPS || h->stacks != (profile ? PROFILE_STACKS : TRACE_STACKS) ||
	    h->stack != TRACE_STACK_BYTES || h->chunk != TRACE_CHUNK || h->nchunks > CHUNKS_MOST ||
	    !h->nchunks != profile) {
		snprintf(why, n, "is a %s of another build of weft", kind_of(magic));
		return false;
	}
	log->seen = calloc(h->nchunks + 1, sizeof(*log->seen));
	log->maps = calloc(1, TRACE_MAPS + 1);
	log->stacks = calloc(h->stacks, TRACE_STACK_BYTES);
	if (log->seen && log->maps && log->stacks)
		return true;
	snprintf(why, n, "no memory");
	return false;
}

void log_free(struct tracelog *log)
{
	free(log->ev);
	free(log->seen);
	free(log->maps);
	free(log->stacks);
}

const struct trace_stack *log_stack(const struct tracelog *log, uint32_t i)
{
	const struct trace_stack *s = (const void *)(log->stacks + (size_t)i * TRACE_STACK_BYTES);

	return s->n && s->n <= TRACE_STACK_MOST ? s : NULL;
}

static bool room_for(struct tracelog *log, size_t n)
{
	size_t room = log->room ? log->room : 4096;
	struct logged *more;

	while (room < log->n + n)
		room *= 2;
	if (room == log->room)
		return true;
	more = realloc(log->ev, room * sizeof(*more));
	if (!more) {
		log->failed = true;
		return false;
	}
	log->ev = more;
	log->room = room;
	return true;
}

/* Events from of c on; each carries its number in its writer's stream until log_sort(). */
static void append(struct tracelog *log, const struct trace_chunk *c, const struct trace_event *e, uint32_t from,
		   uint32_t n)
{
	if (!room_for(log, n - from))
		return;
	for (uint32_t i = from; i < n; i++) {
		struct logged *l = &log->ev[log->n++];

		l->e = e[i - from];
		l->writer = c->writer;
		l->order = (uint32_t)(c->first + i);
	}
}

/* ---- a process ------------------------------------------------------------------------------- */

static uint64_t chunk_addr(uint64_t at, uint32_t i)
{
	return at + TRACE_HEAD + (uint64_t)i * TRACE_CHUNK;
}

static bool take_chunk(struct tracelog *log, const struct proc *p, uint64_t addr, const struct trace_chunk *head,
		       struct chunkseen *seen)
{
	struct trace_event e[TRACE_CHUNK_EVENTS];
	struct trace_chunk again;
	uint32_t from = head->use == seen->use ? seen->n : 0;

	if (!head->use || head->n > TRACE_CHUNK_EVENTS || head->n <= from)
		return true;
	if (!proc_read(p, addr + sizeof(*head) + from * sizeof(*e), e, (head->n - from) * sizeof(*e)) ||
	    !proc_read(p, addr, &again, sizeof(again)))
		return false;
	if (again.use != head->use)
		return true;
	append(log, head, e, from, head->n);
	seen->use = head->use;
	seen->n = head->n;
	return true;
}

static bool take_chunks(struct tracelog *log, const struct proc *p, uint64_t at, uint64_t taken)
{
	struct trace_chunk head[HEADS];
	struct iovec here[HEADS], there[HEADS];

	for (uint32_t i = 0; i < log->head.nchunks && i < taken && !log->failed; i += HEADS) {
		uint32_t n = log->head.nchunks - i < HEADS ? log->head.nchunks - i : HEADS;

		for (uint32_t k = 0; k < n; k++) {
			here[k] = (struct iovec){ &head[k], sizeof(head[k]) };
			there[k] = (struct iovec){ (void *)(uintptr_t)chunk_addr(at, i + k), sizeof(head[k]) };
		}
		if (process_vm_readv(p->pid, here, n, there, n, 0) != (ssize_t)(n * sizeof(*head)))
			return false;
		for (uint32_t k = 0; k < n; k++)
			if (!take_chunk(log, p, chunk_addr(at, i + k), &head[k], &log->seen[i + k]))
				return false;
	}
	return true;
}

/* One that another M writes at this moment is taken later. */
static void take_stack(struct tracelog *log, const struct proc *p, uint64_t at, uint32_t stack)
{
	uint64_t i = stack - 1;

	if (stack && stack <= log->head.stacks && !log_stack(log, stack - 1))
		proc_read(p, at + TRACE_PAGE + TRACE_MAPS + i * TRACE_STACK_BYTES, log->stacks + i * TRACE_STACK_BYTES,
			  TRACE_STACK_BYTES);
}

/* It is the one that was begun, and is written still. */
static enum taken look(const struct tracelog *log, const struct proc *p, uint64_t at, struct trace_header *h)
{
	if (!proc_read(p, at, h, sizeof(*h)))
		return TOOK_GONE;
	return h->start == log->head.start && !h->end ? TOOK : TOOK_OVER;
}

enum taken log_take(struct tracelog *log, const struct proc *p, uint64_t at)
{
	size_t before = log->n;
	struct trace_header h;
	enum taken how = look(log, p, at, &h);

	if (how != TOOK)
		return how;
	if (!take_chunks(log, p, at, h.taken))
		how = TOOK_GONE;
	for (size_t i = before; i < log->n; i++)
		take_stack(log, p, at, log->ev[i].e.stack);
	/* Another trace has begun in its memory: nobody knows of which these are. */
	if (look(log, p, at, &h) == TOOK_OVER && h.start != log->head.start) {
		log->n = before;
		how = TOOK_OVER;
	}
	return how;
}

void log_take_stacks(struct tracelog *log, const struct proc *p, uint64_t at)
{
	for (size_t i = 0; i < log->n; i++)
		take_stack(log, p, at, log->ev[i].e.stack);
}

void log_maps(struct tracelog *log, const char *maps, size_t n)
{
	char *copy = maps ? malloc(n + 1) : NULL;

	if (!copy)
		return;
	memcpy(copy, maps, n + 1);
	free(log->maps);
	log->maps = copy;
	log->mapsused = n;
}

/* ---- a file ---------------------------------------------------------------------------------- */

static bool take_all(struct tracelog *log, const uint8_t *from, size_t size, const char *magic, char *why, size_t n)
{
	struct trace_header h;
	size_t head;

	memcpy(&h, from, sizeof(h));
	if (!log_begin(log, &h, magic, why, n))
		return false;
	head = TRACE_PAGE + TRACE_MAPS + (size_t)h.stacks * TRACE_STACK_BYTES;
	if (size < head + (size_t)h.nchunks * TRACE_CHUNK) {
		snprintf(why, n, "is cut short");
		return false;
	}
	log->mapsused = h.mapsused < TRACE_MAPS ? h.mapsused : TRACE_MAPS;
	memcpy(log->maps, from + TRACE_PAGE, log->mapsused);
	memcpy(log->stacks, from + TRACE_PAGE + TRACE_MAPS, (size_t)h.stacks * TRACE_STACK_BYTES);
	for (uint32_t i = 0; i < h.nchunks; i++) {
		const struct trace_chunk *c = (const void *)(from + head + (size_t)i * TRACE_CHUNK);
		struct trace_chunk now;

		memcpy(&now, c, sizeof(now)); /* the file may be written meanwhile */
		if (now.use && now.n <= TRACE_CHUNK_EVENTS)
			append(log, &now, c->event, 0, now.n);
	}
	return true;
}

bool log_take_file(struct tracelog *log, const char *path, const char *magic, char *why, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at = MAP_FAILED;
	bool good = false;

	*log = (struct tracelog){ 0 };
	if (fd < 0 || fstat(fd, &st)) {
		snprintf(why, n, "%s", strerror(errno));
	} else if ((size_t)st.st_size < sizeof(struct trace_header)) {
		snprintf(why, n, "is no %s of this weft's", kind_of(magic));
	} else {
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			snprintf(why, n, "%s", strerror(errno));
		else
			good = take_all(log, at, (size_t)st.st_size, magic, why, n);
	}
	if (at != MAP_FAILED)
		munmap(at, (size_t)st.st_size);
	if (fd >= 0)
		close(fd);
	return good;
}

/* ---- order ----------------------------------------------------------------------------------- */

static int by_writer(const void *a, const void *b)
{
	const struct logged *x = a, *y = b;

	if (x->writer != y->writer)
		return x->writer < y->writer ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int by_time(const void *a, const void *b)
{
	const struct logged *x = a, *y = b;

	if (x->e.time != y->e.time)
		return x->e.time < y->e.time ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

void log_sort(struct tracelog *log)
{
	size_t i = 0, kept = 0;

	if (log->n)
		qsort(log->ev, log->n, sizeof(*log->ev), by_writer);
	while (i < log->n) {
		uint32_t writer = log->ev[i].writer, next = log->since ? log->ev[i].order : 0;

		for (; i < log->n && log->ev[i].writer == writer; i++) {
			if (log->ev[i].e.time >= log->since) {
				log->lost += log->ev[i].order > next ? log->ev[i].order - next : 0;
				log->ev[kept++] = log->ev[i];
			}
			next = log->ev[i].order + 1;
		}
	}
	log->n = kept;
	/* Of one time and one writer: as they were written. */
	for (i = 0; i < log->n; i++)
		log->ev[i].order = (uint32_t)i;
	if (log->n)
		qsort(log->ev, log->n, sizeof(*log->ev), by_time);
}
