/*
 * symbols: what symbol.c finds is what dlsym() and dlvsym() find, for every interposed name, in the
 * version of the table and without one.
 */
#include "compat/symbol.h"
#include "shim/protos.h"
#include "tests/programs/check.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *version;
} table[] = {
#define SYM(ret, name, version, params) { #name, version },
#include "shim/symbols.def"
#undef SYM
	{"_rtld_global", NULL},
	{"_dl_allocate_tls", NULL},
	{"__libc_malloc", NULL},
	{"_thread_db_pthread_tid", NULL},
	{"no such name", NULL},
	{"", NULL},
	{"read", "GLIBC_2.2.5"},
	{"read", "GLIBC_99"},
	{"pthread_cond_wait", "GLIBC_2.2.5"},
	{"pthread_cond_wait", "GLIBC_2.3.2"},
	{"memcpy", "GLIBC_2.2.5"}, /* each has a resolver */
	{"memcpy", "GLIBC_2.14"},
	{"memcpy", NULL},
	{"strlen", NULL},
};

static int good, bad;

static void compare(const char *how, unsigned i, const void *got, const void *want)
{
	if (got == want) {
		good++;
		return;
	}
	bad++;
	printf("%s %s@%s: %p, and dlsym() finds %p\n", how, table[i].name,
	       table[i].version ? table[i].version : "", got, want);
}

/* The kernel's own functions come from an object that only the loader's list has, in front of libc. */
static int of_the_kernel(const char *name)
{
	return !strcmp(name, "time") || !strcmp(name, "gettimeofday") ||
	       !strcmp(name, "clock_gettime") || !strcmp(name, "clock_getres") ||
	       !strcmp(name, "getcpu") || !strcmp(name, "getrandom");
}

int main(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	size_t size = 0;

	for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
		const char *name = table[i].name, *version = table[i].version;
		void *p;

		p = version ? dlvsym(libc, name, version) : dlsym(libc, name);
		compare("in libc", i, symbol_libc(name, version, NULL), p);
		/* Before 2.36 this may find an old version of a name; symbol.c finds the default one. */
		if (version)
			p = dlvsym(RTLD_NEXT, name, version);
		else if (libc_minor() >= 36)
			p = dlsym(RTLD_NEXT, name);
		if (!of_the_kernel(name))
			compare("next", i, symbol_next(name, version), p);
	}
	symbol_libc("environ", NULL, &size);
	if (size != sizeof(char *) || !symbol_loader()) {
		printf("the size of environ is %zu\n", size);
		bad++;
	}
	printf("%d passed, %d failed\n", good, bad);
	return bad > 0;
}
