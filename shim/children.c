/*
 * children: whether the programs that this one starts run under weft too.
 *
 * They do, as long as they inherit LD_PRELOAD.  With children=0 our name is taken out of it, when
 * this library is loaded: before the program looks at its environment or copies it.  In place:
 * nobody may allocate yet.
 *
 * Other preloaded libraries and the rest of the environment stay.
 */
#include "shim/thread.h"

#include <dlfcn.h>
#include <string.h>

#include "runtime/options.h"

static char **find(char **e, const char *name)
{
	size_t n = strlen(name);

	for (; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return e;
	return NULL;
}

/*
 * Takes the words that are name out of a list separated by spaces or colons; false: none is left.
 */
static bool take_out(char *list, const char *name)
{
	char *to = list, *start = list;

	while (*list) {
		size_t n = strcspn(list, " :");

		if (n && (n != strlen(name) || memcmp(list, name, n))) {
			if (to != start)
				*to++ = ':';
			memmove(to, list, n);
			to += n;
		}
		list += n + (list[n] != '\0');
	}
	*to = '\0';
	return to != start;
}

/* ld.so hands the environment over; libc's environ is not set yet. */
static void __attribute__((constructor(102))) leave_children_alone(int argc, char **argv, char **envp)
{
	char **weft = find(envp, "WEFT"), **preload = find(envp, "LD_PRELOAD");
	Dl_info self;

	/* Most programs that inherit us are asked nothing: their start costs two looks. */
	if (!weft || !preload || !strstr(*weft, "children"))
		return;
	(void)argc;
	(void)argv;
	options_read(envp);
	if (weft_opt.children || !dladdr((void *)leave_children_alone, &self))
		return;
	if (!take_out(strchr(*preload, '=') + 1, self.dli_fname))
		do
			preload[0] = preload[1];
		while (*preload++);
}
