/*
 * modfiles: the files that a process has mapped, opened while it lives (modfiles.h).
 *
 * A file is looked for where the process sees it (/proc/PID/root).  A process that has changed its root since, or whose
 * file was deleted, has it in /proc/PID/exe or in /proc/PID/map_files, which root may open; and it may lie in our own
 * root.  Device and inode say whether it is the one that is mapped.  What cannot be opened is read from its memory.
 *
 * Must never: take a file for a mapped one because its path is the same.
 */
#include "ctl/debuginfo.h"
#include "ctl/modfiles.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PATH = 4608, FIRST_ROOM = 64 };

struct mapped {
	uint64_t from, to, offset;
	dev_t dev;
	ino_t ino;
	bool code, program;
	int fd;                     /* of the first row of a file that has code; else -1 */
	char *name, *path;          /* name: as the kernel tells it; path: where it was opened, or NULL */
};

static pid_t whose;
static char *text;                  /* /proc/PID/maps */
static size_t textused;
static struct mapped *row;
static size_t rows;

/* ---- opening --------------------------------------------------------------------------------- */

/* One that is mapped: the inode is the same, and the device, if that can be compared. */
static int open_same(const char *path, const struct mapped *m, bool device)
{
	int fd = debuginfo_open(path);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == m->ino &&
	    (!device || st.st_dev == m->dev))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static void open_file(struct mapped *m)
{
	char path[PATH];

	/* Of an overlay the two devices differ: the inode has to do. */
	snprintf(path, sizeof(path), "/proc/%d/root%s", whose, m->name);
	m->fd = open_same(path, m, false);
	if (m->fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/exe", whose);
		m->fd = open_same(path, m, false);
	}
	if (m->fd < 0) {
		snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", whose, m->from, m->to);
		m->fd = open_same(path, m, false);
	}
	if (m->fd < 0) {
		snprintf(path, sizeof(path), "%s", m->name);
		m->fd = open_same(path, m, true);
	}
	m->path = m->fd >= 0 ? strdup(path) : NULL;
}

static bool same_file(const struct mapped *a, const struct mapped *b)
{
	return a->ino == b->ino && a->dev == b->dev && strcmp(a->name, b->name) == 0;
}

static struct mapped *first_of(struct mapped *r, size_t n, const struct mapped *m)
{
	for (size_t i = 0; i < n; i++)
		if (same_file(&r[i], m))
			return &r[i];
	return NULL;
}

/* Those that were open before are taken over. */
static void open_all(struct mapped *r, size_t n, struct mapped *old, size_t nold)
{
	char path[PATH];
	struct stat exe;
	bool known;

	snprintf(path, sizeof(path), "/proc/%d/exe", whose);
	known = stat(path, &exe) == 0;
	for (size_t i = 0; i < n; i++) {
		struct mapped *first, *was;

		/* A database may have mapped thousands of files: those without code are not looked for. */
		if (!r[i].code)
			continue;
		first = first_of(r, n, &r[i]);
		was = first_of(old, nold, &r[i]);
		r[i].program = first->program = known ? exe.st_ino == r[i].ino : was && was->program;
		if (first->fd >= 0)
			continue;
		if (was && was->fd >= 0) {
			first->fd = was->fd;
			first->path = was->path;
			was->fd = -1;
			was->path = NULL;
		} else {
			open_file(first);
		}
	}
}

/* ---- mappings -------------------------------------------------------------------------------- */

static void forget(struct mapped *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (r[i].fd >= 0)
			close(r[i].fd);
		free(r[i].name);
		free(r[i].path);
	}
	free(r);
}

/* NULL: it is gone, or there is no memory. */
static char *read_maps(pid_t pid, size_t *used)
{
	char path[64], *all = NULL, *more;
	size_t n = 0, room = 0, got;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	do {
		more = f ? realloc(all, (room = room * 2 + (64 << 10)) + 1) : NULL;
		if (!more)
			break;
		all = more;
		got = fread(all + n, 1, room - n, f);
		n += got;
	} while (n == room);
	if (f)
		fclose(f);
	if (!n || !more) {
		free(all);
		return NULL;
	}
	all[n] = '\0';
	*used = n;
	return all;
}

/* A line of the text; false: of no file. */
static bool parse_row(const char *line, struct mapped *m)
{
	unsigned major, minor;
	unsigned long inode;
	char mode[8];
	int at = 0;

	*m = (struct mapped){ .fd = -1 };
	if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %n", &m->from, &m->to, mode, &m->offset, &major, &minor, &inode,
		   &at) != 7 || !at || line[at] != '/')
		return false;
	m->code = mode[2] == 'x';
	m->dev = makedev(major, minor);
	m->ino = inode;
	m->name = strndup(line + at, strcspn(line + at, "\n"));
	return m->name;
}

static struct mapped *parse_rows(const char *from, size_t *count)
{
	struct mapped *r = NULL, one;
	size_t n = 0, room = 0;

	for (const char *line = from; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!*line || !parse_row(line, &one))
			continue;
		if (n == room) {
			struct mapped *more = realloc(r, (room = room * 2 + FIRST_ROOM) * sizeof(*r));

			if (!more) {
				free(one.name);
				break;
			}
			r = more;
		}
		r[n++] = one;
	}
	*count = n;
	return r;
}

void modfiles_look(pid_t pid)
{
	struct mapped *old = row;
	size_t nold = rows, used;
	char *now = read_maps(pid, &used);

	if (!now && pid == whose)
		return;
	free(text);
	text = now;
	textused = now ? used : 0;
	whose = pid;
	row = parse_rows(now, &rows);
	open_all(row, rows, old, nold);
	forget(old, nold);
}

const char *modfiles_maps(size_t *n)
{
	*n = textused;
	return text;
}

bool modfiles_anonymous(const char *maps, uint64_t pc)
{
	for (const char *line = maps; line && *line; line = strchr(line, '\n')) {
		uint64_t from, to;
		char *end;

		line += *line == '\n';
		from = strtoul(line, &end, 16);
		to = *end == '-' ? strtoul(end + 1, &end, 16) : 0;
		if (pc >= from && pc < to)
			return strcspn(end, "/[\n") == strcspn(end, "\n");
	}
	return false;
}

void modfiles_each_code(bool (*fn)(const char *path, uint64_t start, uint64_t end, uint64_t offset, void *arg), void *arg)
{
	for (int program = 1; program >= 0; program--)
		for (size_t i = 0; i < rows; i++)
			if (row[i].code && row[i].program == program &&
			    !fn(row[i].name, row[i].from, row[i].to, row[i].offset, arg))
				return;
}

#ifdef HAVE_LIBDW

int modfiles_find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
	static const char deleted[] = " (deleted)";
	const struct mapped *m = NULL, *first;
	size_t n = strlen(name);
	char path[PATH];

	for (size_t i = 0; i < rows && !m; i++)
		if (base >= row[i].from && base < row[i].to)
			m = &row[i];
	if (!m || name[0] != '/')
		return dwfl_linux_proc_find_elf(mod, userdata, name, base, file, elf);
	first = first_of(row, rows, m);
	if (first->fd >= 0 && first->path) {
		*file = strdup(first->path);
		return fcntl(first->fd, F_DUPFD_CLOEXEC, 0);
	}
	if (n >= sizeof(deleted) - 1 && strcmp(name + n - (sizeof(deleted) - 1), deleted) == 0)
		return dwfl_linux_proc_find_elf(mod, userdata, name, base, file, elf);
	snprintf(path, sizeof(path), "%s%s", name, deleted);
	return dwfl_linux_proc_find_elf(mod, userdata, path, base, file, elf);
}

#endif
