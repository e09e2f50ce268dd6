/*
 * backtrace: from where a G that does not run was called, for dumps.
 *
 * Programs keep no frame pointers, and unwind tables need libgcc, locks and memory.  So the saved
 * stack is scanned: every word that points directly behind a call instruction in executable memory
 * is printed as module+offset, innermost first (offset: as the module's file is linked, what
 * addr2line takes).  A call that returned may still lie in a live frame: what is printed contains
 * the true chain, and perhaps more.  Rejected: the chain of frame pointers alone; it ends at the
 * first function of the program.
 *
 * The mappings are read once a dump into memory of their own.  All of the program's memory is read
 * by os_peek(): a stack or a library may go away meanwhile.
 *
 * Must never: take a lock, touch the program's memory directly.
 */
#include "runtime/debug/backtrace.h"

#include "runtime/arch/insn.h"

#include <string.h>

enum {
	MAPS_TEXT = 8 << 20,  /* bytes of /proc/self/maps at most */
	MAPS = 16384,         /* executable mappings at most */
	FRAMES = 40,          /* printed of one stack */
	SCAN_DEPTH = 64 << 10, /* bytes of one stack that are scanned */
};

struct map {
	uintptr_t start, end;
	uintptr_t base;       /* where the module's first mapping starts */
	const char *name;     /* not terminated */
	int namelen;
};

static uintptr_t hex(const char **p)
{
	uintptr_t v = 0;

	for (;; (*p)++) {
		char c = **p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (uintptr_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (uintptr_t)(c - 'a' + 10);
		else
			return v;
	}
}

/* The path of a line (the sixth field) without its folders; "" for memory of no file. */
static const char *name_in(const char *line, const char *end, int *len)
{
	const char *slash;

	for (int field = 0; field < 5; field++) {
		while (line < end && *line != ' ')
			line++;
		while (line < end && *line == ' ')
			line++;
	}
	slash = memrchr(line, '/', (size_t)(end - line));
	if (slash)
		line = slash + 1;
	*len = (int)(end - line);
	return line;
}

static void parse(struct backtrace *b)
{
	const char *line = b->text, *end, *lastname = "";
	uintptr_t base = 0;
	int lastlen = 0;

	/* A last line without its newline was cut. */
	for (; (end = strchr(line, '\n')); line = end + 1) {
		const char *p = line;
		struct map m;
		bool exec;

		m.start = hex(&p);
		p++;
		m.end = hex(&p);
		exec = p + 3 < end && p[1] == 'r' && p[3] == 'x';
		m.name = name_in(line, end, &m.namelen);
		/*
		 * A module's mappings follow one another; its first is where the file's address 0
		 * lies.
		 */
		if (m.namelen == 0 || m.namelen != lastlen || memcmp(m.name, lastname, (size_t)lastlen))
			base = m.start;
		lastname = m.name;
		lastlen = m.namelen;
		m.base = base;
		if (m.namelen == 7 && memcmp(m.name, "[stack]", 7) == 0)
			b->stackend = m.end;
		if (exec && b->nmaps < MAPS)
			b->maps[b->nmaps++] = m;
	}
}

bool backtrace_open(struct backtrace *b)
{
	*b = (struct backtrace){ 0 };
	if (backtrace_again(b))
		return true;
	backtrace_close(b);
	return false;
}

bool backtrace_again(struct backtrace *b)
{
	b->nmaps = 0;
	if (!b->text)
		b->text = os_reserve(MAPS_TEXT);
	if (!b->maps)
		b->maps = os_reserve(MAPS * sizeof(*b->maps));
	if (!b->text || !b->maps || os_slurp("/proc/self/maps", b->text, MAPS_TEXT) <= 0)
		return false;
	parse(b);
	return b->nmaps > 0;
}

void backtrace_close(struct backtrace *b)
{
	if (b->text)
		os_free(b->text, MAPS_TEXT);
	if (b->maps)
		os_free(b->maps, MAPS * sizeof(*b->maps));
	*b = (struct backtrace){ 0 };
}

static const struct map *find(const struct backtrace *b, uintptr_t addr)
{
	uint32_t lo = 0, hi = b->nmaps;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (addr < b->maps[mid].start)
			hi = mid;
		else if (addr >= b->maps[mid].end)
			lo = mid + 1;
		else
			return &b->maps[mid];
	}
	return NULL;
}

/* Is addr the end of a call instruction in m? */
static bool after_call(const struct backtrace *b, const struct map *m, uintptr_t addr)
{
	unsigned char code[INSN_CALL_MAX]; /* what precedes addr */
	uintptr_t to;

	if (addr < m->start + sizeof(code) ||
	    !os_peek((void *)(addr - sizeof(code)), code, sizeof(code)))
		return false;
	to = insn_call_target(code + sizeof(code) - INSN_CALL_DIRECT, addr);
	return (to && find(b, to)) || insn_call_indirect(code);
}

bool backtrace_knows(const struct backtrace *b, uintptr_t pc)
{
	return find(b, pc) != NULL;
}

void backtrace_place(const struct backtrace *b, struct outbuf *o, uintptr_t pc)
{
	const struct map *m = find(b, pc);

	if (m && m->namelen)
		weft_print(o, " %.*s+0x%lx", m->namelen, m->name, pc - m->base);
	else
		weft_print(o, " 0x%lx", pc);
}

int backtrace_calls(const struct backtrace *b, uintptr_t sp, uintptr_t top, uintptr_t *call, int max)
{
	uintptr_t chunk[64];
	int n = 0;

	if (!top)
		top = b->stackend;
	if (top > sp + SCAN_DEPTH)
		top = sp + SCAN_DEPTH;
	for (sp &= ~(uintptr_t)7; sp < top && n < max; sp += sizeof(chunk)) {
		size_t want = top - sp < sizeof(chunk) ? top - sp : sizeof(chunk);

		if (!os_peek((void *)sp, chunk, want))
			break;
		for (size_t i = 0; i < want / sizeof(*chunk) && n < max; i++) {
			const struct map *m = find(b, chunk[i]);

			if (m && after_call(b, m, chunk[i]))
				call[n++] = chunk[i];
		}
	}
	return n;
}

void backtrace_print(const struct backtrace *b, struct outbuf *o, uintptr_t pc, uintptr_t sp,
		     uintptr_t top)
{
	uintptr_t call[FRAMES];
	int n = 0;

	if (pc && find(b, pc))
		call[n++] = pc;
	n += backtrace_calls(b, sp, top, call + n, FRAMES - n);
	weft_print(o, "\tat");
	for (int i = 0; i < n; i++)
		backtrace_place(b, o, call[i]);
	weft_print(o, n ? "\n" : " ? (its stack cannot be read)\n");
}
