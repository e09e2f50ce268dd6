/*
 * names: names of places and variables of another process, by libdw over its files.
 *
 * The files are those of modfiles.c.  Nothing is fetched from a network (DEBUGINFOD_URLS is not followed).
 *
 * Must never: open a file by its path alone.
 */
#include "ctl/debuginfo.h"
#include "ctl/modfiles.h"
#include "ctl/stackparts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct range {
	uint64_t from, to;
};

static FILE *open_maps(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	return fopen(path, "re");
}

static void read_code(struct stacks *s)
{
	FILE *f = open_maps(s->p->pid);
	struct range *r = NULL, *more, one;
	size_t n = 0, room = 0;
	char line[4608], mode[8];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s", &one.from, &one.to, mode) != 3 || mode[2] != 'x')
			continue;
		if (n == room) {
			more = realloc(r, (room * 2 + 64) * sizeof(*r));
			if (!more)
				break;
			r = more;
			room = room * 2 + 64;
		}
		r[n++] = one;
	}
	if (f)
		fclose(f);
	free(s->code);
	s->code = r;
	s->ncode = n;
}

bool names_is_code(struct stacks *s, uint64_t pc)
{
	const struct range *r = s->code;
	size_t lo = 0, hi = s->ncode;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (pc < r[mid].from)
			hi = mid;
		else if (pc >= r[mid].to)
			lo = mid + 1;
		else
			return true;
	}
	return false;
}

#ifdef HAVE_LIBDW

static const Dwfl_Callbacks callbacks = {
	.find_elf = modfiles_find_elf,
	.find_debuginfo = debuginfo_find,
};

static bool report(struct stacks *s)
{
	dwfl_report_begin(s->dwfl);
	return dwfl_linux_proc_report(s->dwfl, s->p->pid) == 0 && dwfl_report_end(s->dwfl, NULL, NULL) == 0;
}

struct stacks *stacks_open(struct proc *p)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->p = p;
	modfiles_look(p->pid);
	read_code(s);
	unsetenv("DEBUGINFOD_URLS");
	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl && (!report(s) || !dwfl_attach_state(s->dwfl, NULL, p->pid, &stack_callbacks, s))) {
		dwfl_end(s->dwfl);
		s->dwfl = NULL;
	}
	return s;
}

static void forget_names(void);

void stacks_close(struct stacks *s)
{
	if (!s)
		return;
	if (s->dwfl)
		dwfl_end(s->dwfl);
	forget_names();
	free(s->code);
	free(s);
}

void stacks_renew(struct stacks *s)
{
	modfiles_look(s->p->pid);
	forget_names();
	read_code(s);
	if (s->dwfl)
		report(s);
}

/* C++ and Rust by libstdc++'s own function, where that is installed. */
static void demangle(const char *name, char *to, size_t n)
{
	typedef char *demangler(const char *, char *, size_t *, int *);
	static demangler *fn;
	static bool looked;
	char *text = NULL;
	int status = 0;

	if (!looked) {
		void *lib = dlopen("libstdc++.so.6", RTLD_LAZY);

		looked = true;
		*(void **)&fn = lib ? dlsym(lib, "__cxa_demangle") : NULL;
	}
	if (fn && strncmp(name, "_Z", 2) == 0)
		text = fn(name, NULL, NULL, &status);
	snprintf(to, n, "%s", text ? text : name);
	printable(to);
	free(text);
}

bool stacks_place(struct stacks *s, uint64_t pc, bool first, struct place *at)
{
	Dwarf_Addr where = first ? pc : pc - 1, start;
	Dwfl_Module *mod = s->dwfl ? dwfl_addrmodule(s->dwfl, where) : NULL;
	const char *name, *file;
	Dwfl_Line *line;
	GElf_Sym sym;
	GElf_Off off;
	size_t n;

	*at = (struct place){ .offset = pc };
	if (!mod || modfiles_anonymous(modfiles_maps(&n), where))
		return false;
	name = dwfl_module_info(mod, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	snprintf(at->module, sizeof(at->module), "%s", name ? name : "");
	printable(at->module);
	at->offset = pc - start;
	name = dwfl_module_addrinfo(mod, where, &off, &sym, NULL, NULL, NULL);
	if (name) {
		snprintf(at->raw, sizeof(at->raw), "%s", name);
		printable(at->raw);
		demangle(name, at->function, sizeof(at->function));
		at->offset = off + (pc - where);
	}
	line = dwfl_module_getsrc(mod, where);
	file = line ? dwfl_lineinfo(line, NULL, &at->line, NULL, NULL, NULL) : NULL;
	if (file)
		snprintf(at->file, sizeof(at->file), "%s", file);
	printable(at->file);
	return true;
}

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Texts of places that were asked for, for top asks for the same each second, and libdw searches a module's symbols
 * from the first one on.
 */
static struct named {
	uint64_t pc;                /* twice, and 1 if it is an instruction to be executed */
	char *text;
} named[1024];

static void forget_names(void)
{
	for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
		free(named[i].text);
		named[i] = (struct named){ 0 };
	}
}

static void make_text(struct stacks *s, uint64_t pc, bool first, char *text, size_t n)
{
	struct place at;

	if (!stacks_place(s, pc, first, &at))
		snprintf(text, n, "0x%lx", pc);
	else if (at.function[0] && at.file[0])
		snprintf(text, n, "%s (%s:%d)", at.function, base_of(at.file), at.line);
	else if (at.function[0])
		snprintf(text, n, "%s (%s)", at.function, base_of(at.module));
	else
		snprintf(text, n, "%s+0x%lx", base_of(at.module), at.offset);
}

void stacks_text(struct stacks *s, uint64_t pc, bool first, char *text, size_t n)
{
	struct named *c = &named[(pc * 0x9e3779b97f4a7c15 >> 32) % (sizeof(named) / sizeof(*named))];

	if (c->text && c->pc == 2 * pc + first) {
		snprintf(text, n, "%s", c->text);
		return;
	}
	make_text(s, pc, first, text, n);
	free(c->text);
	c->text = strdup(text);
	c->pc = 2 * pc + first;
}

void stacks_variable(struct stacks *s, uint64_t addr, char *text, size_t n)
{
	Dwfl_Module *mod = s->dwfl ? dwfl_addrmodule(s->dwfl, addr) : NULL;
	const char *name;
	GElf_Sym sym;
	GElf_Off off;

	text[0] = '\0';
	name = mod ? dwfl_module_addrinfo(mod, addr, &off, &sym, NULL, NULL, NULL) : NULL;
	if (!name || GELF_ST_TYPE(sym.st_info) != STT_OBJECT)
		return;
	demangle(name, text, n);
	if (off)
		snprintf(text + strlen(text), n - strlen(text), "+%lu", off);
}

#else

struct stacks *stacks_open(struct proc *p)
{
	struct stacks *s = calloc(1, sizeof(*s));

	if (s) {
		s->p = p;
		read_code(s);
	}
	return s;
}

void stacks_close(struct stacks *s)
{
	if (s)
		free(s->code);
	free(s);
}

void stacks_renew(struct stacks *s)
{
	read_code(s);
}

bool stacks_place(struct stacks *s, uint64_t pc, bool first, struct place *at)
{
	(void)s, (void)first;
	*at = (struct place){ .offset = pc };
	return false;
}

void stacks_text(struct stacks *s, uint64_t pc, bool first, char *text, size_t n)
{
	(void)s, (void)first;
	snprintf(text, n, "0x%lx", pc);
}

void stacks_variable(struct stacks *s, uint64_t addr, char *text, size_t n)
{
	(void)s, (void)addr, (void)n;
	text[0] = '\0';
}

#endif

void stacks_stop(struct stacks *s)
{
	s->may_stop = true;
}
