/*
 * proc: where a thread blocks, as /proc tells.  The parts of the input, each up to a NUL: the file syscall
 * (missing when it is empty), the file stat.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/types.h>

#define os_slurp fuzz_slurp
#include "runtime/os/linux/task.c"

static const uint8_t *input;
static size_t length;

ssize_t fuzz_slurp(const char *path, char *buf, size_t n)
{
	size_t have;
	const char *text = part_of(input, length, strstr(path, "/stat") != NULL, &have);

	if (have > n - 1)
		have = n - 1;
	memcpy(buf, text, have);
	buf[have] = '\0';
	return (ssize_t)have;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct os_where w;
	int blocked;

	input = data;
	length = size;
	blocked = os_blocked(7, &w);
	must(blocked == 0 || blocked == 1 || blocked < 0);
	os_syscall_name(w.nr);
	return 0;
}
