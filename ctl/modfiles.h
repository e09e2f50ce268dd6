/*
 * modfiles: the files that a process has mapped, opened while it lives.
 *
 * Of one process at a time.  What was opened stays open: stacks that were taken have names when the process is gone.
 */
#ifndef WEFT_CTL_MODFILES_H
#define WEFT_CTL_MODFILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef HAVE_LIBDW
#include <elfutils/libdwfl.h>
#endif

/* Looks again, too; a process that is gone keeps what it had. */
void modfiles_look(pid_t pid);
/* Its mappings as the kernel tells them, *n bytes and an end of text; NULL: nothing was looked at. */
const char *modfiles_maps(size_t *n);
/* pc lies in memory of no file, by such a text: what libdw finds there is the file around it. */
bool modfiles_anonymous(const char *maps, uint64_t pc);
/* Each mapping of code of a file, those of the program itself first; until the callback says false. */
void modfiles_each_code(bool (*fn)(const char *path, uint64_t start, uint64_t end, uint64_t offset, void *arg), void *arg);

#ifdef HAVE_LIBDW
/* For libdw: opens the module that lies at base. */
int modfiles_find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base, char **file, Elf **elf);
#endif

#endif
