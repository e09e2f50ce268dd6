/*
 * backtrace: which words of a stack are return addresses.  The input up to a NUL is /proc/self/maps; what
 * follows is both the stack and, over and over, the program's text.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/types.h>

#define os_slurp fuzz_slurp
#define os_peek fuzz_peek
#include "runtime/debug/backtrace.c"

enum { STACK = 0x10000 };
static const char *maps, *memory;
static size_t nmaps, nmemory;

ssize_t fuzz_slurp(const char *path, char *buf, size_t n)
{
	size_t have = nmaps < n - 1 ? nmaps : n - 1;

	must(!strcmp(path, "/proc/self/maps"));
	memcpy(buf, maps, have);
	buf[have] = '\0';
	return (ssize_t)have;
}

bool fuzz_peek(const void *from, void *to, size_t n)
{
	uintptr_t at = (uintptr_t)from;

	if (!nmemory || (at >= STACK && at < 2 * STACK && at - STACK + n > nmemory))
		return false;
	for (size_t i = 0; i < n; i++)
		((char *)to)[i] = memory[(at + i) % nmemory];
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct backtrace b;
	uintptr_t calls[FRAMES];
	int n;

	maps = part_of(data, size, 0, &nmaps);
	memory = nmaps < size ? (const char *)data + nmaps + 1 : "";
	nmemory = nmaps < size ? size - nmaps - 1 : 0;
	if (!backtrace_open(&b))
		return 0;
	n = backtrace_calls(&b, STACK, STACK + nmemory, calls, FRAMES);
	must(n >= 0 && n <= FRAMES);
	for (int i = 0; i < n; i++) {
		struct outbuf o = OUTBUF_INIT;

		must(backtrace_knows(&b, calls[i]));
		backtrace_place(&b, &o, calls[i]);
		must(o.len <= OUTBUF_SIZE);
	}
	backtrace_calls(&b, STACK, 0, calls, FRAMES);
	backtrace_close(&b);
	return 0;
}
