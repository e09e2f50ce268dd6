/*
 * debuginfo: files of programs and of their debug information, for libdw.
 *
 * A program says by its own file (.gnu_debuglink) which other file is opened for it, and where its files are it may
 * have put anything: only regular files are opened, and no open waits.
 */
#ifndef WEFT_CTL_DEBUGINFO_H
#define WEFT_CTL_DEBUGINFO_H

/* A descriptor of the regular file there; -1: there is none. */
int debuginfo_open(const char *path);

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>

/* A callback of libdw: debug information of a file. */
int debuginfo_find(Dwfl_Module *mod, void **userdata, const char *module, Dwarf_Addr base, const char *file,
		   const char *link, GElf_Word crc, char **found);
#endif

#endif
