/*
 * preload_env: whether the programs that this one starts run under weft too.
 *
 * They do, as long as they inherit LD_PRELOAD.  With children=0 our name is taken out of it, when
 * this library is loaded: before the program looks at its environment or copies it.  In place:
 * nothing may be allocated yet.
 *
 * Other preloaded libraries and the rest of the environment stay.
 */
#include "shim/thread/thread.h"

#include <string.h>

#include "compat/preload.h"
#include "runtime/base/options.h"

static char **find(char **e, const char *name)
{
	size_t n = strlen(name);

	for (; e && *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return e;
	return NULL;
}

/* ld.so hands the environment over; libc's environ is not set yet. */
static void __attribute__((constructor(102))) leave_children_alone(int argc, char **argv, char **envp)
{
	char **weft = find(envp, "WEFT"), **preload = find(envp, "LD_PRELOAD");
	char *list;

	/* Most programs that inherit us are asked nothing: their start costs two looks. */
	if (!weft || !preload || !strstr(*weft, "children"))
		return;
	(void)argc;
	(void)argv;
	options_read(envp);
	if (weft_opt.children)
		return;
	list = strchr(*preload, '=') + 1;
	if (!preload_without_weft(list, list))
		do
			preload[0] = preload[1];
		while (*preload++);
}
