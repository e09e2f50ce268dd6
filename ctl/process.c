/*
 * process: finds libweft.so in another process and reads it (process.h).
 *
 * What is found: the mapping named libweft.so*, its ELF header and program headers in memory, its RELRO segment, in
 * that the magic of struct layout.  No file of the process is opened for it.
 *
 * Must never: follow a pointer of the process here; wait for the process.
 */
#include "ctl/process.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PHDRS = 32, RELRO_MOST = 1 << 20 };

static const char *const reasons[] = {
#define REASON(name, text, whom) text,
#include "runtime/sched/waitreason.def"
#undef REASON
};

const char *proc_reason(unsigned r)
{
	return r < sizeof(reasons) / sizeof(*reasons) ? reasons[r] : "?";
}

const char *proc_status(uint32_t s)
{
	static const char *const text[] = { "idle", "runnable", "running", "syscall", "waiting", "?", "dead" };

	return s < sizeof(text) / sizeof(*text) ? text[s] : "?";
}

void printable(char *text)
{
	int left = 0; /* bytes of a character of UTF-8 that are to come */

	for (unsigned char *c = (unsigned char *)text; *c; c++) {
		bool inside = left > 0 && (*c & 0xc0) == 0x80;

		if (inside)
			left--;
		else
			left = *c >= 0xf0 ? 3 : *c >= 0xe0 ? 2 : *c >= 0xc3;
		/* 0x80 to 0x9f are controls, too, alone and behind 0xc2. */
		if (*c < ' ' || *c == 127 || (!inside && (*c & 0xe0) == 0x80))
			*c = '?';
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t proc_read_some(const struct proc *p, uint64_t addr, void *to, size_t n)
{
	size_t got = 0;

	while (got < n) {
		struct iovec here = { (char *)to + got, n - got };
		struct iovec there = { (void *)(uintptr_t)(addr + got), n - got };
		ssize_t r = process_vm_readv(p->pid, &here, 1, &there, 1, 0);

		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return got;
}

bool proc_read(const struct proc *p, uint64_t addr, void *to, size_t n)
{
	return addr && proc_read_some(p, addr, to, n) == n;
}

bool proc_write(const struct proc *p, uint64_t addr, const void *from, size_t n)
{
	struct iovec here = { (void *)(uintptr_t)from, n };
	struct iovec there = { (void *)(uintptr_t)addr, n };

	return process_vm_writev(p->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

bool proc_string(const struct proc *p, uint64_t addr, char *to, size_t n)
{
	size_t got = addr ? proc_read_some(p, addr, to, n - 1) : 0;

	to[got] = '\0';
	printable(to);
	return got > 0;
}

static uint64_t value_of(const void *at, uint32_t size)
{
	uint64_t v = 0;

	memcpy(&v, at, size < sizeof(v) ? size : sizeof(v));
	return v;
}

uint64_t proc_member(const struct proc *p, const void *copy, enum layout_field f)
{
	return value_of((const char *)copy + p->layout.field[f].at, p->layout.field[f].size);
}

uint64_t proc_number(const struct proc *p, enum layout_field f)
{
	return p->layout.field[f].at;
}

uint64_t proc_field(const struct proc *p, uint64_t object, enum layout_field f)
{
	uint64_t v = 0;
	uint32_t n = p->layout.field[f].size;

	return n <= sizeof(v) && object && proc_read(p, object + p->layout.field[f].at, &v, n) ? v : 0;
}

uint64_t proc_sched(const struct proc *p, enum layout_field f)
{
	return proc_field(p, p->addr[LA_sched], f);
}

int proc_gomaxprocs(const struct proc *p)
{
	int32_t n = 0;

	return proc_read(p, p->addr[LA_gomaxprocs], &n, sizeof(n)) ? n : 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

static FILE *open_of(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return fopen(path, "re");
}

/* The next mapping of the start of a file that is called libweft.so; *end: where its last one ends. */
static bool next_library(FILE *maps, uint64_t *start, uint64_t *end, char *path, size_t n)
{
	char line[4608], name[4096];
	uint64_t from, to, offset;
	bool found = false;
	long before = 0;

	for (; fgets(line, sizeof(line), maps); before = ftell(maps)) {
		const char *base;

		name[0] = '\0';
		if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %4095[^\n]", &from, &to, &offset, name) < 3)
			continue;
		base = strrchr(name, '/');
		base = base ? base + 1 : name;
		if (found && (strcmp(name, path) != 0 || offset == 0)) {
			if (name[0] == '\0')
				continue; /* its .bss, or what the loader put between */
			fseek(maps, before, SEEK_SET);
			return true;
		}
		if (!found && (offset != 0 || strncmp(base, "libweft.so", 10) != 0))
			continue;
		if (!found) {
			*start = from;
			snprintf(path, n, "%s", name);
			found = true;
		}
		*end = to;
	}
	return found;
}

/* Where the RELRO segment of the file at start is; false: no ELF file. */
static bool relro_of(const struct proc *p, uint64_t start, uint64_t *at, uint64_t *size)
{
	Elf64_Phdr ph[PHDRS];
	Elf64_Ehdr eh;

	if (!proc_read(p, start, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh.e_phentsize != sizeof(*ph) || eh.e_phnum > PHDRS ||
	    !proc_read(p, start + eh.e_phoff, ph, eh.e_phnum * sizeof(*ph)))
		return false;
	for (int i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type != PT_GNU_RELRO)
			continue;
		*at = start + ph[i].p_vaddr;
		*size = ph[i].p_memsz;
		return *size <= RELRO_MOST;
	}
	return false;
}

enum found { FOUND_NONE, FOUND_DAMAGED, FOUND_OTHER, FOUND_SAME };

static enum found take_layout(struct proc *p, const char *at, size_t n)
{
	char names[sizeof(layout_names)];

	memset(&p->layout, 0, sizeof(p->layout));
	memcpy(&p->layout, at, n < sizeof(p->layout) ? n : sizeof(p->layout));
	memcpy(p->version, p->layout.version, sizeof(p->version));
	p->version[sizeof(p->version) - 1] = '\0';
	printable(p->version);
	if (n < sizeof(p->layout) || p->layout.size != sizeof(p->layout) ||
	    !proc_read(p, (uint64_t)(uintptr_t)p->layout.names, names, sizeof(names)) ||
	    memcmp(names, layout_names, sizeof(names)) != 0)
		return FOUND_OTHER;
	if (!proc_layout_holds(&p->layout))
		return FOUND_DAMAGED;
	for (int i = 0; i < NLAYOUT_ADDR; i++)
		p->addr[i] = (uint64_t)(uintptr_t)p->layout.addr[i];
	return FOUND_SAME;
}

static enum found find_layout(struct proc *p, uint64_t start)
{
	static const char rest[] = LAYOUT_MAGIC_REST;
	uint64_t at, size;
	enum found r = FOUND_NONE;
	char *copy;

	if (!relro_of(p, start, &at, &size) || !(copy = malloc(size)))
		return FOUND_NONE;
	size = proc_read_some(p, at, copy, size);
	for (size_t i = 0; r == FOUND_NONE && i + LAYOUT_MAGIC <= size; i += 8)
		if (copy[i] == (char)LAYOUT_MAGIC_FIRST && memcmp(copy + i + 1, rest, LAYOUT_MAGIC - 1) == 0)
			r = take_layout(p, copy + i, size - i);
	free(copy);
	return r;
}

/* Of several the one that is at work; else the first. */
static enum found find_library(struct proc *p, FILE *maps, bool *any)
{
	enum found best = FOUND_NONE;
	uint64_t start = 0, end = 0;
	struct proc q = *p;

	*any = false;
	while (next_library(maps, &start, &end, q.library, sizeof(q.library))) {
		enum found r = find_layout(&q, start);
		int32_t on = 0;

		if (!*any)
			snprintf(p->library, sizeof(p->library), "%s", q.library);
		*any = true;
		q.on = r == FOUND_SAME && proc_read(&q, q.addr[LA_on], &on, sizeof(on)) && on != 0;
		if (r < best || (r == best && best != FOUND_NONE && !q.on))
			continue;
		best = r;
		q.start = start;
		q.end = end;
		*p = q;
	}
	return best;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static int ptrace_scope(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

static uid_t owner_of(pid_t pid)
{
	FILE *f = open_of(pid, "status");
	char line[256];
	unsigned uid = (unsigned)-1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u", &uid) == 1)
			break;
	if (f)
		fclose(f);
	return uid;
}

/* The kernel said EPERM or EACCES. */
static void say_refused(pid_t pid, char *why, size_t n)
{
	uid_t uid = owner_of(pid);

	if (uid != geteuid())
		snprintf(why, n, "is user %u's (only that user and root may look)", uid);
	else if (ptrace_scope() > 0)
		snprintf(why, n, "refused by kernel.yama.ptrace_scope=%d (look as root, or set it to 0)", ptrace_scope());
	else
		snprintf(why, n, "the kernel lets none but root look (it changed its user, or has more rights)");
}

static bool in_namespace(pid_t pid)
{
	char mine[64] = "", its[64] = "", path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return readlink(path, its, sizeof(its) - 1) > 0 && readlink("/proc/self/ns/pid", mine, sizeof(mine) - 1) > 0 &&
	       strcmp(mine, its) != 0;
}

/* No libweft.so in maps: which kind of process is it? */
static void say_not_under(pid_t pid, bool empty, char *why, size_t n)
{
	if (empty)
		snprintf(why, n, "has no memory (it has ended, or is a kernel thread)");
	else if (in_namespace(pid))
		snprintf(why, n, "does not run under weft (it is in another pid namespace)");
	else
		snprintf(why, n, "does not run under weft");
}

static bool look(struct proc *p, char *why, size_t n)
{
	FILE *maps = open_of(p->pid, "maps");
	bool any = false, empty;
	enum found r;
	int e = errno;

	if (!maps) {
		if (e == EACCES || e == EPERM)
			say_refused(p->pid, why, n);
		else
			snprintf(why, n, "no such process");
		return false;
	}
	errno = 0;
	empty = fgetc(maps) == EOF;
	e = errno;
	rewind(maps);
	r = empty ? FOUND_NONE : find_library(p, maps, &any);
	fclose(maps);
	if (r == FOUND_SAME)
		return true;
	if (empty && (e == EACCES || e == EPERM))
		say_refused(p->pid, why, n);
	else if (r == FOUND_OTHER)
		snprintf(why, n, "runs under another build of weft, %s (this weftctl is of %s)", p->version,
			 PACKAGE_VERSION);
	else if (r == FOUND_DAMAGED)
		snprintf(why, n, "runs under weft, whose table of places cannot be true (its memory was written over)");
	else if (any && !proc_read_some(p, p->start ? p->start : 0, &(char){ 0 }, 1) && errno == EPERM)
		say_refused(p->pid, why, n);
	else if (any)
		snprintf(why, n, "runs under an older build of weft, which has nothing for weftctl");
	else
		say_not_under(p->pid, empty, why, n);
	return false;
}

struct proc *proc_open(pid_t pid, char *why, size_t n)
{
	struct proc *p = calloc(1, sizeof(*p));

	if (!p) {
		snprintf(why, n, "no memory");
		return NULL;
	}
	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (p->pidfd < 0 && (errno == ESRCH || pid <= 0)) {
		snprintf(why, n, "no such process");
		free(p);
		return NULL;
	}
	if (!look(p, why, n)) {
		proc_close(p);
		return NULL;
	}
	p->inner = in_namespace(pid);
	return p;
}

void proc_close(struct proc *p)
{
	if (p && p->pidfd >= 0)
		close(p->pidfd);
	free(p);
}

bool proc_gone(const struct proc *p)
{
	struct pollfd pf = { .fd = p->pidfd, .events = POLLIN };
	char magic[4];

	/* After an exec something else lies there, or nothing. */
	return (p->pidfd >= 0 && poll(&pf, 1, 0) == 1) || !proc_read(p, p->start, magic, sizeof(magic)) ||
	       memcmp(magic, ELFMAG, SELFMAG) != 0;
}

/* ---- kernel ids ------------------------------------------------------------------------------ */

static int inner_id(pid_t pid, pid_t tid)
{
	char what[48], line[256];
	int id = 0;
	FILE *f;

	snprintf(what, sizeof(what), "task/%d/status", tid);
	f = open_of(pid, what);
	while (f && fgets(line, sizeof(line), f)) {
		const char *last;

		if (strncmp(line, "NSpid:", 6) != 0)
			continue;
		last = strrchr(line, '\t');
		id = last ? atoi(last) : 0;
		break;
	}
	if (f)
		fclose(f);
	return id;
}

pid_t proc_tid(const struct proc *p, int ostid)
{
	const struct dirent *d;
	char path[64];
	pid_t found = 0;
	DIR *dir;

	if (!p->inner)
		return ostid;
	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	dir = opendir(path);
	while (dir && !found && (d = readdir(dir))) {
		pid_t tid = atoi(d->d_name);

		if (tid > 0 && inner_id(p->pid, tid) == ostid)
			found = tid;
	}
	if (dir)
		closedir(dir);
	return found;
}
