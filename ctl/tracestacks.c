/*
 * tracestacks: the stacks of a trace, unwound by libdw over the copies that the library made, with names.
 *
 * The registers of a copy are those of the program's call into weft; of others than the stack and the frame pointer
 * nothing is known, and a frame that needs one ends the walk, as does the end of the copy.  Modules are found by the
 * mappings in the trace, so a trace of a process that is gone has names as long as its files are there.
 *
 * Without libdw a stack is its first address.
 *
 * Must never: read the process.
 */
#include "ctl/debuginfo.h"
#include "ctl/modfiles.h"
#include "ctl/trace.h"

#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

enum { DEPTH = 64, HASH = 1 << 14, DW_RBP = 6, DW_RSP = 7, NAME = 512 };

struct unwound {
	struct frame *f;
	int n;
	uint32_t next;               /* of the same hash */
};

struct place {
	uint64_t pc;
	struct frame f;
};

struct tracestacks {
	const struct tracelog *log;
	uint32_t *known;             /* of the log's: number and 1 */
	struct unwound *u;
	uint32_t nu, roomu;
	uint32_t hash[HASH];
	char **s;
	uint32_t *snext;
	uint32_t ns, rooms;
	uint32_t shash[HASH];
	struct place *places;        /* by pc; a power of two */
	size_t nplaces, roomplaces;
#ifdef HAVE_LIBDW
	Dwfl *dwfl;
	const struct trace_stack *at;
	uint64_t pc[DEPTH];
	int n;
#endif
};

static uint32_t hash_of(const void *from, size_t n)
{
	const unsigned char *c = from;
	uint64_t h = 14695981039346656037ULL;

	while (n--)
		h = (h ^ *c++) * 1099511628211ULL;
	return (uint32_t)(h >> 32 ^ h) % HASH;
}

/* ---- strings --------------------------------------------------------------------------------- */

uint32_t tracestacks_string(struct tracestacks *t, const char *s)
{
	uint32_t h = hash_of(s, strlen(s));

	for (uint32_t i = t->shash[h]; i; i = t->snext[i - 1])
		if (strcmp(t->s[i - 1], s) == 0)
			return i;
	if (t->ns == t->rooms) {
		uint32_t room = t->rooms * 2 + 256;
		char **more = realloc(t->s, room * sizeof(*more));
		uint32_t *next = more ? realloc(t->snext, room * sizeof(*next)) : NULL;

		if (more)
			t->s = more;
		if (!next)
			return 0;
		t->snext = next;
		t->rooms = room;
	}
	t->s[t->ns] = strdup(s);
	if (!t->s[t->ns])
		return 0;
	t->snext[t->ns] = t->shash[h];
	return t->shash[h] = ++t->ns;
}

const char *tracestacks_text(const struct tracestacks *t, uint32_t id)
{
	return id && id <= t->ns ? t->s[id - 1] : "";
}

uint32_t tracestacks_strings(const struct tracestacks *t)
{
	return t->ns;
}

/* ---- places ---------------------------------------------------------------------------------- */

static void name_place(struct tracestacks *t, uint64_t pc, bool first, struct frame *f)
{
	char text[NAME];

	*f = (struct frame){ .pc = pc };
	snprintf(text, sizeof(text), "0x%lx", (unsigned long)pc);
#ifdef HAVE_LIBDW
	Dwarf_Addr where = first ? pc : pc - 1, start;
	Dwfl_Module *mod = t->dwfl ? dwfl_addrmodule(t->dwfl, where) : NULL;
	const char *name = NULL, *module = NULL;
	Dwfl_Line *line = NULL;
	GElf_Sym sym;
	GElf_Off off;

	if (mod && modfiles_anonymous(t->log->maps, where))
		mod = NULL;
	if (mod) {
		module = dwfl_module_info(mod, NULL, &start, NULL, NULL, NULL, NULL, NULL);
		name = dwfl_module_addrinfo(mod, where, &off, &sym, NULL, NULL, NULL);
		line = dwfl_module_getsrc(mod, where);
	}
	if (name) {
		f->function = tracestacks_string(t, name);
	} else if (module) {
		const char *slash = strrchr(module, '/');

		snprintf(text, sizeof(text), "%s+0x%lx", slash ? slash + 1 : module, (unsigned long)(pc - start));
	}
	name = line ? dwfl_lineinfo(line, NULL, &f->line, NULL, NULL, NULL) : module;
	f->file = tracestacks_string(t, name ? name : "?");
#else
	(void)first;
	f->file = tracestacks_string(t, "?");
#endif
	if (!f->function)
		f->function = tracestacks_string(t, text);
}

static size_t place_at(const struct place *p, size_t room, uint64_t pc)
{
	size_t i = (size_t)(pc * 0x9e3779b97f4a7c15ULL >> 20) & (room - 1);

	while (p[i].pc && p[i].pc != pc)
		i = (i + 1) & (room - 1);
	return i;
}

static struct frame frame_of(struct tracestacks *t, uint64_t pc, bool first)
{
	struct frame f;
	size_t i;

	if (2 * t->nplaces >= t->roomplaces) {
		size_t room = t->roomplaces ? t->roomplaces * 2 : 1024;
		struct place *more = calloc(room, sizeof(*more));

		if (!more) {
			name_place(t, pc, first, &f);
			return f;
		}
		for (i = 0; i < t->roomplaces; i++)
			if (t->places[i].pc)
				more[place_at(more, room, t->places[i].pc)] = t->places[i];
		free(t->places);
		t->places = more;
		t->roomplaces = room;
	}
	i = place_at(t->places, t->roomplaces, pc);
	if (!t->places[i].pc) {
		name_place(t, pc, first, &f);
		t->places[i] = (struct place){ pc, f };
		t->nplaces++;
	}
	return t->places[i].f;
}

/* ---- libdw ----------------------------------------------------------------------------------- */

#ifdef HAVE_LIBDW

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct tracestacks *t = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = t;
	return (pid_t)t->log->head.pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread)
{
	struct tracestacks *t = arg;

	(void)dwfl;
	*thread = arg;
	return tid == (pid_t)t->log->head.pid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	const struct trace_stack *s = ((struct tracestacks *)arg)->at;

	(void)dwfl;
	if (addr < s->sp || s->n < sizeof(*result) || addr - s->sp > s->n - sizeof(*result))
		return false;
	memcpy(result, s->bytes + (addr - s->sp), sizeof(*result));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct trace_stack *s = ((struct tracestacks *)arg)->at;
	Dwarf_Word sp = s->sp, bp = s->bp;

	if (!dwfl_thread_state_registers(thread, DW_RSP, 1, &sp) ||
	    !dwfl_thread_state_registers(thread, DW_RBP, 1, &bp))
		return false;
	dwfl_thread_state_register_pc(thread, s->pc);
	return true;
}

static const Dwfl_Thread_Callbacks threads = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers,
};

/* weft's own frames say nothing of the program. */
static bool in_weft(const struct tracestacks *t, uint64_t pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(t->dwfl, pc - 1);
	const char *path = mod ? dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL, NULL) : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && strncmp(slash + 1, "libweft.so", 10) == 0;
}

static int on_frame(Dwfl_Frame *f, void *arg)
{
	struct tracestacks *t = arg;
	Dwarf_Addr pc;
	bool first;

	if (!dwfl_frame_pc(f, &pc, &first) || !pc)
		return DWARF_CB_ABORT;
	if (!in_weft(t, pc))
		t->pc[t->n++] = pc;
	return t->n < DEPTH ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static int unwind(struct tracestacks *t, const struct trace_stack *s)
{
	t->at = s;
	t->n = 0;
	if (t->dwfl)
		dwfl_getthread_frames(t->dwfl, (pid_t)t->log->head.pid, on_frame, t);
	if (!t->n)
		t->pc[t->n++] = s->pc;
	/* All are return addresses. */
	t->pc[0] += s->interrupted;
	return t->n;
}

static bool open_dwfl(struct tracestacks *t)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = modfiles_find_elf,
		.find_debuginfo = debuginfo_find,
	};
	FILE *maps = fmemopen(t->log->maps, t->log->mapsused ? t->log->mapsused : 1, "r");
	bool good = false;

	unsetenv("DEBUGINFOD_URLS");
	t->dwfl = maps ? dwfl_begin(&callbacks) : NULL;
	if (t->dwfl) {
		dwfl_report_begin(t->dwfl);
		good = dwfl_linux_proc_maps_report(t->dwfl, maps) == 0 &&
		       dwfl_report_end(t->dwfl, NULL, NULL) == 0 &&
		       dwfl_attach_state(t->dwfl, NULL, (pid_t)t->log->head.pid, &threads, t);
	}
	if (maps)
		fclose(maps);
	if (t->dwfl && !good) {
		dwfl_end(t->dwfl);
		t->dwfl = NULL;
	}
	return good;
}

#endif

/* ---- stacks ---------------------------------------------------------------------------------- */

/* The number of these frames. */
static uint32_t intern(struct tracestacks *t, const struct frame *f, int n)
{
	uint32_t h = hash_of(f, (size_t)n * sizeof(*f));

	for (uint32_t i = t->hash[h]; i; i = t->u[i - 1].next)
		if (t->u[i - 1].n == n && memcmp(t->u[i - 1].f, f, (size_t)n * sizeof(*f)) == 0)
			return i;
	if (t->nu == t->roomu) {
		uint32_t room = t->roomu * 2 + 64;
		struct unwound *more = realloc(t->u, room * sizeof(*more));

		if (!more)
			return 0;
		t->u = more;
		t->roomu = room;
	}
	t->u[t->nu] = (struct unwound){ malloc((size_t)n * sizeof(*f)), n, t->hash[h] };
	if (!t->u[t->nu].f)
		return 0;
	memcpy(t->u[t->nu].f, f, (size_t)n * sizeof(*f));
	return t->hash[h] = ++t->nu;
}

uint32_t tracestacks_of(struct tracestacks *t, uint32_t stack)
{
	const struct trace_stack *s;
	struct frame f[DEPTH];
	int n = 1;

	if (!stack || stack > t->log->head.stacks)
		return 0;
	if (t->known[stack - 1])
		return t->known[stack - 1] - 1;
	s = log_stack(t->log, stack - 1);
	if (!s)
		return 0;
	memset(f, 0, sizeof(f)); /* what lies between the members is compared, too */
#ifdef HAVE_LIBDW
	n = unwind(t, s);
	for (int i = 0; i < n; i++) {
		struct frame one = frame_of(t, t->pc[i], false);

		f[i].pc = one.pc;
		f[i].function = one.function;
		f[i].file = one.file;
		f[i].line = one.line;
	}
#else
	f[0] = frame_of(t, s->pc + s->interrupted, false);
#endif
	t->known[stack - 1] = intern(t, f, n) + 1;
	return t->known[stack - 1] - 1;
}

static uint32_t alone(struct tracestacks *t, uint64_t pc, bool first)
{
	struct frame f, one;

	if (!pc)
		return 0;
	one = frame_of(t, pc, first);
	memset(&f, 0, sizeof(f));
	f.pc = one.pc;
	f.function = one.function;
	f.file = one.file;
	f.line = one.line;
	return intern(t, &f, 1);
}

uint32_t tracestacks_place(struct tracestacks *t, uint64_t pc)
{
	return alone(t, pc, true);
}

uint32_t tracestacks_call(struct tracestacks *t, uint64_t pc)
{
	return alone(t, pc, false);
}

int tracestacks_frames(struct tracestacks *t, uint32_t id, const struct frame **f)
{
	if (!id || id > t->nu)
		return 0;
	*f = t->u[id - 1].f;
	return t->u[id - 1].n;
}

uint32_t tracestacks_count(const struct tracestacks *t)
{
	return t->nu;
}

struct tracestacks *tracestacks_open(const struct tracelog *log)
{
	struct tracestacks *t = calloc(1, sizeof(*t));

	if (t)
		t->known = calloc(log->head.stacks, sizeof(*t->known));
	if (!t || !t->known) {
		free(t);
		return NULL;
	}
	t->log = log;
#ifdef HAVE_LIBDW
	open_dwfl(t);
#endif
	return t;
}

void tracestacks_close(struct tracestacks *t)
{
	if (!t)
		return;
#ifdef HAVE_LIBDW
	if (t->dwfl)
		dwfl_end(t->dwfl);
#endif
	for (uint32_t i = 0; i < t->nu; i++)
		free(t->u[i].f);
	for (uint32_t i = 0; i < t->ns; i++)
		free(t->s[i]);
	free(t->u);
	free(t->s);
	free(t->snext);
	free(t->places);
	free(t->known);
	free(t);
}
