/*
 * program: PATH search, #! resolution, and the reading of ELF headers.
 *
 * `ld.so --verify` was rejected: it needs a process per look, and cannot tell musl, 32-bit or
 * set-user-ID. A file that may be executed but not read (mode 0711) is let through: ld.so can still
 * preload into it.
 */
#include "launcher/program.h"

#include "compat/elffile.h"
#include "compat/gonote.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

/* --- finding ---------------------------------------------------------------------------------- */

/*
 * faccessat2(2) is newer than the filters of some containers, which say EPERM to what they do not
 * know; a file that may not be executed is EACCES.
 */
static bool may_execute(const char *path)
{
	if (faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0)
		return true;
	return errno == EPERM && access(path, X_OK) == 0;
}

static char *find_by_path(const char *name)
{
	struct stat st;

	if (stat(name, &st) < 0) {
		if (errno == EACCES)
			refuse(EXIT_CANNOT, "%s: %s (check the directories above it)", name,
			       strerror(errno));
		refuse(EXIT_NOTFOUND, "%s: %s (check the spelling)", name, strerror(errno));
	}
	if (S_ISDIR(st.st_mode))
		refuse(EXIT_CANNOT, "%s: is a directory (name a program)", name);
	if (!S_ISREG(st.st_mode) || !may_execute(name))
		refuse(EXIT_CANNOT, "%s: not executable (chmod +x, or name its interpreter)", name);
	return strdup(name);
}

static char *find_in_path(const char *name)
{
	const char *dirs = getenv("PATH");
	bool denied = false;

	if (!dirs)
		dirs = "/bin:/usr/bin"; /* what execvp does without PATH */
	for (;;) {
		size_t n = strcspn(dirs, ":");
		struct stat st;
		char *path;

		/* An empty element is the current directory. */
		if (asprintf(&path, "%.*s%s%s", (int)n, dirs, n ? "/" : "", name) < 0)
			refuse(EXIT_OWN, "%s: out of memory (free some)", name);
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode)) {
			if (may_execute(path))
				return path;
			denied = true;
		}
		free(path);
		if (!dirs[n])
			break;
		dirs += n + 1;
	}
	if (denied)
		refuse(EXIT_CANNOT, "%s: not executable (chmod +x, or name its interpreter)", name);
	refuse(EXIT_NOTFOUND, "%s: not found in PATH (check the spelling)", name);
}

char *program_find(const char *name)
{
	char *path;

	if (!*name)
		refuse(EXIT_NOTFOUND, "'': an empty name (name a program)");
	path = strchr(name, '/') ? find_by_path(name) : find_in_path(name);
	if (!path)
		refuse(EXIT_OWN, "%s: out of memory (free some)", name);
	return path;
}

/* --- privileges ------------------------------------------------------------------------------- */

/*
 * Would the exec give the process a user or group that it is not?  As the kernel's cap_bprm_creds.
 */
static bool changes_identity(const struct stat *st, bool honoured)
{
	uid_t euid = geteuid();
	gid_t egid = getegid();

	if (honoured && (st->st_mode & S_ISUID))
		euid = st->st_uid;
	/* Without group execution the bit means mandatory locking, not identity. */
	if (honoured && (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
		egid = st->st_gid;
	return euid != getuid() || egid != getgid();
}

/* File capabilities that would be granted.  To root they grant nothing new. */
static bool gains_capabilities(int fd)
{
	struct vfs_ns_cap_data cap;
	ssize_t n;

	if (getuid() == 0)
		return false;
	memset(&cap, 0, sizeof(cap));
	n = fgetxattr(fd, "security.capability", &cap, sizeof(cap));
	if (n < (ssize_t)XATTR_CAPS_SZ_1)
		return false;
	return (cap.magic_etc & VFS_CAP_FLAGS_EFFECTIVE) || cap.data[0].permitted ||
	       (n >= (ssize_t)XATTR_CAPS_SZ_2 && cap.data[1].permitted);
}

/*
 * With AT_SECURE ld.so drops LD_PRELOAD.  nosuid mounts and no_new_privs take the privilege away
 * and the reason to refuse with it.
 */
static void check_secure(const char *path, int fd, const struct stat *st)
{
	struct statvfs fs;
	bool honoured = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
			(fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_NOSUID));

	if (changes_identity(st, honoured))
		refuse(EXIT_CANNOT, "%s: runs set-user-ID or set-group-ID, so ld.so ignores "
		       "preloaded libraries (run it as its owner, or without weft)", path);
	if (honoured && gains_capabilities(fd))
		refuse(EXIT_CANNOT, "%s: has file capabilities, so ld.so ignores preloaded "
		       "libraries (run it as root, or without weft)", path);
}

/* --- ELF -------------------------------------------------------------------------------------- */

/*
 * static-pie and shared libraries are both ET_DYN without an interpreter: a flag tells them apart.
 */
static bool is_pie(int fd, const Elf64_Phdr *dynamic)
{
	return elf_dynamic(fd, dynamic, DT_FLAGS_1) & DF_1_PIE;
}

static void check_without_interpreter(const char *path, int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr dynamic;

	if (e->e_type == ET_DYN && elf_segment(fd, e, PT_DYNAMIC, &dynamic)) {
		if (elf_is_our_loader(fd, e))
			return;
		if (!is_pie(fd, &dynamic))
			refuse(EXIT_CANNOT, "%s: a shared library (name a program)", path);
	}
	refuse(EXIT_CANNOT, "%s: statically linked%s, so nothing can be preloaded into it (link it "
	       "dynamically, or run it without weft)", path, e->e_type == ET_DYN ? " (static-pie)" : "");
}

static void check_interpreter(const char *path, int fd, const Elf64_Phdr *interp)
{
	static char loader[PATH_MAX]; /* static: the stack may be no larger than that (ulimit -s) */
	const char *base;
	Elf64_Ehdr e;
	bool ours;

	memset(loader, 0, sizeof(loader)); /* of an interpreter's script before */
	if (interp->p_filesz == 0 || interp->p_filesz >= sizeof(loader) ||
	    !elf_read(fd, loader, interp->p_filesz, interp->p_offset))
		refuse(EXIT_CANNOT, "%s: a damaged ELF file (build it again)", path);
	base = strrchr(loader, '/') ? strrchr(loader, '/') + 1 : loader;
	if (strncmp(base, "ld-musl-", 8) == 0)
		refuse(EXIT_CANNOT, "%s: linked with musl, and weft knows glibc alone (link it with "
		       "glibc, or run it without weft)", path);
	fd = open(loader, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ours = fd >= 0 && elf_read(fd, &e, sizeof(e), 0) && elf_is_our_loader(fd, &e);
	if (fd >= 0)
		close(fd);
	/* One that may not be read, or for which no descriptor is left, is known by its name. */
	if (ours || (fd < 0 && (errno == EACCES || errno == EMFILE || errno == ENFILE) && !strcmp(base, ARCH_LOADER)))
		return;
	if (strcmp(base, ARCH_LOADER) != 0)
		refuse(EXIT_CANNOT, "%s: loaded by %s, which is not glibc's (run it without weft)",
		       path, loader);
	if (fd < 0)
		refuse(EXIT_NOTFOUND, "%s: its loader %s is missing (install that libc)", path, loader);
	refuse(EXIT_CANNOT, "%s: its loader %s is not that of glibc 2.34 or later (run it without weft)",
	       path, loader);
}

static bool has_go_note(int fd, const Elf64_Phdr *ph)
{
	enum { NOTES_MAX = 4096 }; /* the linker's own, a few hundred bytes */
	static char notes[NOTES_MAX] __attribute__((aligned(4)));

	return go_note_segment(ph) && ph->p_filesz <= NOTES_MAX &&
	       elf_read(fd, notes, ph->p_filesz, ph->p_offset) && go_note_among(notes, ph->p_filesz);
}

/* As a child it is left alone without a word (shim/init.c); asked for by name, the user should know. */
static void check_go(const char *path, int fd, const Elf64_Ehdr *e)
{
	Elf64_Phdr ph[ELF_HEADERS];

	for (unsigned i = 0, n; i < e->e_phnum && (n = elf_headers(fd, e, i, ph)); i += n) {
		for (unsigned k = 0; k < n; k++) {
			if (!has_go_note(fd, &ph[k]))
				continue;
			advise("%s: a Go program, whose run-time manages kernel threads itself "
			       "(running with plain pthreads)", path);
			return;
		}
	}
}

static void check_elf(const char *path, int fd, const Elf64_Ehdr *e, const struct stat *st)
{
	Elf64_Phdr interp;

	if (e->e_ident[EI_CLASS] == ELFCLASS32)
		refuse(EXIT_CANNOT, "%s: a 32-bit program, and weft has 64 bits (run it without weft)",
		       path);
	if (!elf_is_ours(e))
		refuse(EXIT_CANNOT, "%s: built for another machine, and weft knows " ARCH_NAME " alone "
		       "(run it without weft)", path);
	if (e->e_type != ET_EXEC && e->e_type != ET_DYN)
		refuse(EXIT_CANNOT, "%s: an object file or a core dump (name a program)", path);
	if (!elf_headers_fit(e))
		refuse(EXIT_CANNOT, "%s: a damaged ELF file (build it again)", path);
	check_secure(path, fd, st);
	if (elf_segment(fd, e, PT_INTERP, &interp))
		check_interpreter(path, fd, &interp);
	else
		check_without_interpreter(path, fd, e);
	check_go(path, fd, e);
}

int library_usable(const char *path)
{
	Elf64_Ehdr e;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return 0;
	ok = elf_read(fd, &e, sizeof(e), 0) && memcmp(e.e_ident, ELFMAG, SELFMAG) == 0 &&
	     elf_is_ours(&e) && e.e_type == ET_DYN;
	close(fd);
	return ok;
}

/* --- scripts ---------------------------------------------------------------------------------- */

#define SCRIPT_LINE 256 /* as much of the first line as the kernel reads */
#define SCRIPT_DEPTH 5	/* interpreters that are scripts themselves: the kernel's limit */

/* The interpreter named by "#! INTERPRETER [ARG]"; line is cut in place. */
static const char *script_interpreter(char *line)
{
	char *p = line + 2;

	p += strspn(p, " \t");
	p[strcspn(p, " \t\n")] = '\0';
	return *p ? p : NULL;
}

/*
 * Returns the file that decides for path: its interpreter (malloc'ed), or NULL when path itself
 * did.
 */
static char *check_one(const char *path)
{
	union {
		Elf64_Ehdr elf;
		char line[SCRIPT_LINE + 1];
	} head = { .line = "" };
	const char *interp = NULL;
	struct stat st;
	/* An interpreter may be anything: to open a named pipe would wait for its writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || pread(fd, head.line, SCRIPT_LINE, 0) < 4) {
		close(fd);
		return NULL; /* the exec will say what is wrong with it */
	}
	if (memcmp(head.line, ELFMAG, SELFMAG) == 0) {
		check_elf(path, fd, &head.elf, &st);
	} else if (memcmp(head.line, "#!", 2) == 0) {
		interp = script_interpreter(head.line);
		if (interp && access(interp, F_OK) < 0)
			refuse(EXIT_NOTFOUND, "%s: its interpreter %s is missing (install it, or "
			       "correct the first line)", path, interp);
		if (interp && !may_execute(interp))
			refuse(EXIT_CANNOT, "%s: its interpreter %s is not executable (correct the "
			       "first line)", path, interp);
	}
	close(fd);
	return interp ? strdup(interp) : NULL;
}

void program_check(const char *path)
{
	char *next = check_one(path);

	for (int depth = 1; next; depth++) {
		char *interp = next;

		if (depth > SCRIPT_DEPTH)
			refuse(EXIT_CANNOT, "%s: its interpreter is a script, and so on without end "
			       "(correct the first line)", path);
		next = check_one(interp);
		free(interp);
	}
}
