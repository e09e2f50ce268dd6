/*
 * debuginfo: see debuginfo.h.
 *
 * libdw knows how to tell that a file belongs to another (by build ID, or by the sum of its bytes), but opens whatever
 * has the name: a FIFO there would keep it for ever.  So the file is opened here, and libdw is given the name of the
 * descriptor, which is still the same file where the path is another one by now.
 *
 * Must never: let libdw open a path that the program could choose.
 */
#include "ctl/debuginfo.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int debuginfo_open(const char *path)
{
	/* What it is, is asked before it is opened: to open a device may do something already. */
	int at = open(path, O_PATH | O_CLOEXEC), fd = -1;
	char again[32];
	struct stat st;

	if (at < 0)
		return -1;
	snprintf(again, sizeof(again), "/proc/self/fd/%d", at);
	if (fstat(at, &st) == 0 && S_ISREG(st.st_mode))
		fd = open(again, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	close(at);
	return fd;
}

#ifdef HAVE_LIBDW

enum { PATH_ROOM = 8192 };

/* No descriptor's name. */
static const char none[] = "-";

struct wish {
	Dwfl_Module *mod;
	void **userdata;
	const char *module;
	Dwarf_Addr base;
	char file[32];              /* the program's, as a descriptor in /proc/self/fd */
	GElf_Word crc;
};

/* link is a descriptor's name, or none: then libdw looks by build ID alone, below /usr/lib/debug. */
static int ask(const struct wish *w, const char *link, char **found)
{
	return dwfl_standard_find_debuginfo(w->mod, w->userdata, w->module, w->base, w->file, link, w->crc, found);
}

static int ask_for(const struct wish *w, const char *path, char **found)
{
	int fd = debuginfo_open(path), got;
	char link[16];

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "%d", fd);
	got = ask(w, link, found);
	if (got >= 0) {
		free(*found);
		*found = strdup(path);
	}
	close(fd);
	return got;
}

/* Where libdw looks, in its order. */
static int ask_beside(const struct wish *w, const char *file, const char *link, char **found)
{
	static const char *const form[] = { "%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s" };
	const char *slash = strrchr(file, '/'), *dir = file;
	char path[PATH_ROOM];
	int got = -1, skip = 0;

	if (link[0] == '/')
		return ask_for(w, link, found);
	for (size_t i = 0; slash && got < 0 && i < sizeof(form) / sizeof(*form); i++) {
		/* What is installed for it is installed here, not in its root. */
		if (form[i][0] == '/' && sscanf(file, "/proc/%*d/root%n", &skip) == 0 && file[skip] == '/')
			dir = file + skip;
		if (snprintf(path, sizeof(path), form[i], (int)(slash - dir), dir, link) < (int)sizeof(path))
			got = ask_for(w, path, found);
	}
	return got;
}

int debuginfo_find(Dwfl_Module *mod, void **userdata, const char *module, Dwarf_Addr base, const char *file,
		   const char *link, GElf_Word crc, char **found)
{
	struct wish w = { .mod = mod, .userdata = userdata, .module = module, .base = base, .crc = crc };
	int fd = file ? debuginfo_open(file) : -1, got;

	if (fd >= 0)
		snprintf(w.file, sizeof(w.file), "/proc/self/fd/%d", fd);
	else
		snprintf(w.file, sizeof(w.file), "/proc/self/fd/%s", none);
	got = ask(&w, none, found);
	if (got < 0 && file && link)
		got = ask_beside(&w, file, link, found);
	if (fd >= 0)
		close(fd);
	return got;
}

#endif
