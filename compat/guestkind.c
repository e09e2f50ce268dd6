/*
 * guestkind: run-times that manage kernel threads themselves, known by what they are.
 *
 * Go, the sanitizers, valgrind and qemu's emulation of programs make threads by means of their own, count
 * them, signal them by their kernel's ids or switch their stacks; threads that share kernel threads break
 * each of them.
 * With one of them in the process weft stays out of it, before it has touched anything.
 *
 * Go is known by its build note, which the linker keeps whatever is stripped; gccgo, valgrind and
 * the sanitizers' libraries by the name that the loader has for them; a sanitizer that was linked
 * into the program by the function with which every one of them begins.  qemu-user makes the calls of
 * its guest in assembly, tgkill() with the ids that the guest's gettid() gave among them, and rewinds one
 * that a signal came before: it is known by that assembly, which qemu's emulation of machines lacks.
 * Rejected: names of programs; to try, and to see whether the self-test fails: it does not for all, and
 * then blames libc.
 *
 * Must never: be called in a signal handler (the loader's lock).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compat/findobject.h"
#include "compat/gonote.h"
#include "compat/guestkind.h"
#include "compat/symbol.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

static const struct {
	const char *library; /* the beginning of a file's name; NULL: none */
	const char *symbol;  /* NULL: none */
	const char *what;
} table[] = {
	{"libtsan.so", "__tsan_init", "ThreadSanitizer"},
	{"libasan.so", "__asan_init", "AddressSanitizer"},
	{"libhwasan.so", "__hwasan_init", "AddressSanitizer"},
	{"liblsan.so", "__lsan_init", "LeakSanitizer"},
	{NULL, "__msan_init", "MemorySanitizer"},
	{NULL, "safe_syscall_base", "qemu's emulation of a program"},
	{"vgpreload_core", NULL, "valgrind"},
	{"libgo.so", NULL, "gccgo's run-time"},
};

struct look {
	struct guest guest;
	bool later; /* than the program itself, which comes first */
};

static bool is_go(uintptr_t base, const ElfW(Phdr) *ph, int n)
{
	for (; n > 0; n--, ph++)
		if (go_note_segment(ph) &&
		    go_note_among((const char *)(base + ph->p_vaddr), ph->p_memsz))
			return true;
	return false;
}

static const char *named(const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].library && !strncmp(base, table[i].library, strlen(table[i].library)))
			return table[i].what;
	return NULL;
}

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct look *l = arg;

	(void)size;
	l->guest.is_go = is_go(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum);
	l->guest.what = l->guest.is_go ? "Go's run-time" : named(info->dlpi_name);
	l->guest.program = !l->later;
	l->later = true;
	return l->guest.what != NULL;
}

const char *guestkind_of(const void *code)
{
	find_object_fn *find = find_object_libc();
	struct found_object o;
	const ElfW(Ehdr) *e;

	if (!find || find((void *)(uintptr_t)code, &o))
		return NULL;
	/* The linker puts the file's header at the beginning of what is mapped. */
	e = o.map_start;
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_type != ET_DYN)
		return NULL;
	if (is_go(o.link_map->l_addr, (const void *)((const char *)e + e->e_phoff), e->e_phnum))
		return "Go's run-time";
	return named(o.link_map->l_name);
}

struct guest guestkind_find(void)
{
	int (*each)(int (*)(struct dl_phdr_info *, size_t, void *), void *) =
		(int (*)(int (*)(struct dl_phdr_info *, size_t, void *), void *))
			symbol_libc("dl_iterate_phdr", NULL, NULL);
	struct look l = {.later = false};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].symbol && symbol_first(table[i].symbol))
			return (struct guest){.what = table[i].what, .program = true};
	if (each)
		each(look_at, &l);
	return l.guest;
}
