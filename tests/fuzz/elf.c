/*
 * elf: the launcher's look at a program: a script's first line, ELF headers, notes, versions.  The input is the
 * file, which the program's interpreter may name again (/self); no other file is opened.  What the kernel would
 * copy is copied by pread(), whose bounds sanitizers know.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compat/sys.h"

#undef sys_4
#define sys_4(nr, fd, to, n, off) ((long)pread((fd), (to), (n), (off_t)(off)))

static int file = -1; /* the input */

static int open_file(const char *path)
{
	return strcmp(path, "/self") ? -1 : dup(file);
}

#define open(path, ...) open_file(path)
#define access(path, how) (strcmp(path, "/self") ? -1 : 0)
#include "launcher/program.c"

static jmp_buf refused;

_Noreturn void refuse(int code, const char *fmt, ...)
{
	must(code && *fmt);
	longjmp(refused, 1);
}

void advise(const char *fmt, ...)
{
	must(*fmt != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (file < 0)
		file = memfd_create("input", MFD_CLOEXEC);
	must(file >= 0 && !ftruncate(file, 0) && pwrite(file, data, size, 0) == (ssize_t)size);
	if (!setjmp(refused))
		program_check("/self");
	/* What a refusal leaves open is the launcher's to leave: it ends. */
	closefrom(file + 1);
	library_usable("/self");
	return 0;
}
