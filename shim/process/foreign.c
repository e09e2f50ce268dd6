/*
 * foreign: programs that this library cannot be loaded into are started without it.
 *
 * A child inherits LD_PRELOAD.  A loader that is not glibc's, or of an older glibc, ends the
 * program over what it does not find (musl: relocation errors and status 127), and one for other
 * registers complains on stderr.  So each call that starts a program looks first at the file that
 * decides, as the kernel does: the file itself, or the interpreter in its first line.  If that
 * brings a loader along which is not ours, the environment goes without our name; the other entries
 * stay.  What such a program starts then runs without weft, too.
 *
 * Left as it is where the file cannot be read, or is neither ELF nor a script: that is for the
 * kernel to judge.  So are programs without a loader, whose children may be ours.
 *
 * Known gaps: the shell of system() and popen() is taken for one of this libc; a name relative to a
 * directory that posix_spawn() changes to is looked for where the caller is; what system calls in
 * assembly start is not seen.
 *
 * Rejected: a name in LD_PRELOAD that other loaders do not find ($LIB, $ORIGIN): it depends on how
 * each distribution built its loader, and 32-bit loaders complain all the same.
 *
 * Must never: touch errno or allocate (the child of a vfork, a signal handler); use a P, which is
 * given away by then.
 */
#include "shim/process/foreign.h"

#include "compat/elffile.h"
#include "compat/preload.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum {
	SMALLEST_STACK = 16384, /* PTHREAD_STACK_MIN is no constant here */
	SCRIPT_LINE = 256, /* as much of the first line as the kernel reads */
	SCRIPT_DEPTH = 5,  /* interpreters that are scripts themselves: the kernel's limit */
	/*
	 * Half of the smallest stack that a thread may have.  Environments are not that long; one
	 * that is stays as it is.
	 */
	ROOM_MAX = SMALLEST_STACK / 2,
};

static int open_look(int dir, const char *path, int flags)
{
	return (int)own4(SYS_openat, dir, path,
			 flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

/* To open a pipe or a device may do something; no program is one. */
static bool is_file(int dir, const char *path, int flags, struct stat *st)
{
	return !own4(SYS_newfstatat, dir, path, st, flags) && S_ISREG(st->st_mode);
}

/* What a file is by, as long as nobody writes to it; never 0. */
static uint64_t identity(const struct stat *st)
{
	const uint64_t part[] = { st->st_dev, st->st_ino, (uint64_t)st->st_size,
				  (uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec };
	uint64_t id = 1;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		id = (id ^ part[i]) * 0x9e3779b97f4a7c15u + (id >> 29);
	return id | 1;
}

/*
 * The last loader that was found to be ours: nearly every program names the same, and to read it takes
 * dozens of system calls.
 */
static _Atomic uint64_t known;
/* The last program that was found to name that loader as nearly all do, which is why it can be asked about. */
static _Atomic uint64_t known_program;
#define USUAL_LOADER "/lib64/" ARCH_LOADER

static bool is_known_program(const struct stat *st)
{
	struct stat loader;

	return load_relaxed(&known_program) == identity(st) &&
	       is_file(AT_FDCWD, USUAL_LOADER, 0, &loader) && load_relaxed(&known) == identity(&loader);
}

/* The loader that a program names.  *usual: it is ours, and the one that is_known_program() asks about. */
static bool foreign_loader(int fd, const Elf64_Phdr *interp, bool *usual)
{
	char path[PATH_MAX / 8]; /* a longer one is nobody's */
	struct stat st;
	Elf64_Ehdr e;
	bool ours;

	if (interp->p_filesz == 0 || interp->p_filesz >= sizeof(path) ||
	    !elf_read(fd, path, interp->p_filesz, interp->p_offset))
		return false;
	path[interp->p_filesz] = '\0';
	if (!is_file(AT_FDCWD, path, 0, &st))
		return false;
	*usual = !strcmp(path, USUAL_LOADER);
	if (load_relaxed(&known) == identity(&st))
		return false;
	*usual = false;
	if ((fd = open_look(AT_FDCWD, path, 0)) < 0)
		return false;
	ours = elf_read(fd, &e, sizeof(e), 0) && elf_is_our_loader(fd, &e);
	direct3(SYS_close, fd, 0, 0);
	if (ours)
		store_relaxed(&known, identity(&st));
	return !ours;
}

/* A loader that is started by its own name; a static program is not one. */
static bool is_other_loader(int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr dynamic;

	return e->e_type == ET_DYN && elf_segment(fd, e, PT_DYNAMIC, &dynamic) &&
	       elf_dynamic(fd, &dynamic, DT_SONAME) && !elf_is_our_loader(fd, e);
}

static bool foreign_elf(int fd, const Elf64_Ehdr *e, bool *usual)
{
	Elf64_Phdr interp;

	if (!elf_is_ours(e))
		return true;
	return elf_segment(fd, e, PT_INTERP, &interp) ? foreign_loader(fd, &interp, usual) :
							      is_other_loader(fd, e);
}

/* The interpreter named by "#! INTERPRETER [ARG]"; line is cut in place. */
static char *interpreter(char *line)
{
	char *p = line + 2;

	p += strspn(p, " \t");
	p[strcspn(p, " \t\n")] = '\0';
	return *p ? p : NULL;
}

/* Every fd is closed here, but the caller's own. */
static bool foreign_fd(int fd, int depth, bool *usual)
{
	union {
		Elf64_Ehdr elf;
		char line[SCRIPT_LINE + 1];
	} head;
	struct stat st;
	char *next;
	long n = own4(SYS_pread64, fd, head.line, SCRIPT_LINE, 0);
	bool foreign;

	if (n < 4)
		return false;
	head.line[n] = '\0';
	if (!memcmp(head.line, ELFMAG, SELFMAG))
		return n >= (long)sizeof(head.elf) && foreign_elf(fd, &head.elf, usual);
	if (memcmp(head.line, "#!", 2) || depth == SCRIPT_DEPTH || !(next = interpreter(head.line)) ||
	    !is_file(AT_FDCWD, next, 0, &st) || (fd = open_look(AT_FDCWD, next, 0)) < 0)
		return false;
	foreign = foreign_fd(fd, depth + 1, usual);
	*usual = false; /* of the script nothing is known */
	direct3(SYS_close, fd, 0, 0);
	return foreign;
}

/* Read through the descriptor itself; one that only names a file cannot be read, its name in /proc can. */
static bool foreign_by_fd(int fd)
{
	char name[] = "/proc/self/fd/0123456789", *p = name + sizeof("/proc/self/fd/") - 1;
	unsigned int scale = 1;
	bool usual = false;
	long flags = direct3(SYS_fcntl, fd, F_GETFL, 0);

	if (flags < 0 || !(flags & O_PATH))
		return flags >= 0 && foreign_fd(fd, 0, &usual);
	while ((unsigned int)fd / scale >= 10)
		scale *= 10;
	for (; scale; scale /= 10)
		*p++ = (char)('0' + (unsigned int)fd / scale % 10);
	*p = '\0';
	return foreign_file(AT_FDCWD, name, 0);
}

bool foreign_file(int dir, const char *path, int flags)
{
	int nofollow = flags & AT_SYMLINK_NOFOLLOW;
	bool foreign, usual = false;
	struct stat st;
	int fd;

	if ((flags & AT_EMPTY_PATH) && path && !*path)
		return foreign_by_fd(dir);
	if (!is_file(dir, path, nofollow, &st) || is_known_program(&st))
		return false;
	fd = open_look(dir, path, nofollow ? O_NOFOLLOW : 0);
	if (fd < 0)
		return false;
	foreign = foreign_fd(fd, 0, &usual);
	/* Of what was read, which is not always what the name said a moment ago. */
	if (usual && !foreign && !own4(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH))
		store_relaxed(&known_program, identity(&st));
	direct3(SYS_close, fd, 0, 0);
	return foreign;
}

static const char *path_of(char **env)
{
	for (; env && *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return "/bin:/usr/bin"; /* libc's own default */
}

bool foreign_name(const char *name)
{
	const char *dirs = path_of(environ);
	size_t len = strnlen(name, NAME_MAX + 1);
	char path[PATH_MAX];
	struct stat st;

	if (strchr(name, '/'))
		return foreign_file(AT_FDCWD, name, 0);
	for (; len <= NAME_MAX; dirs++) {
		size_t n = strcspn(dirs, ":");

		if (n + len + 2 <= sizeof(path)) {
			/* An empty element is the current directory. */
			memcpy(path, dirs, n);
			path[n] = '/';
			memcpy(path + n + !!n, name, len + 1);
			if (is_file(AT_FDCWD, path, 0, &st) && (st.st_mode & 0111))
				return foreign_file(AT_FDCWD, path, 0);
		}
		dirs += n;
		if (!*dirs)
			break;
	}
	return false;
}

static const char *list_of(const char *entry)
{
	static const char name[] = "LD_PRELOAD=";

	return strncmp(entry, name, sizeof(name) - 1) ? NULL : entry + sizeof(name) - 1;
}

size_t foreign_room(char *const envp[])
{
	size_t n = 0, text = 0;

	for (; envp && envp[n]; n++) {
		const char *list = list_of(envp[n]);

		if (list && preload_has_weft(list))
			text += strlen(envp[n]) + 1;
	}
	n = (n + 1) * sizeof(*envp) + text;
	return text && n <= ROOM_MAX ? n : 0;
}

char **foreign_leave_out(void *room, char *const envp[])
{
	char **to = room, *text;
	size_t n = 0, out = 0;

	while (envp[n])
		n++;
	text = (char *)(to + n + 1);
	for (size_t i = 0; i < n; i++) {
		const char *list = list_of(envp[i]);
		size_t name = list ? (size_t)(list - envp[i]) : 0, left;

		if (!list || !preload_has_weft(list)) {
			to[out++] = envp[i];
			continue;
		}
		memcpy(text, envp[i], name);
		left = preload_without_weft(text + name, list);
		if (left) {
			to[out++] = text;
			text += name + left + 1;
		}
	}
	to[out] = NULL;
	return to;
}
