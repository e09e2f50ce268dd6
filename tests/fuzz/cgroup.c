/*
 * cgroup: limits that files of /proc and /sys tell.  The parts of the input, each up to a NUL: /proc/self/cgroup, quota
 * (or cpu.max), period, memory.  They are read in small pieces.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/syscall.h>

#define os_syscall fuzz_syscall
#include "runtime/os/linux/cgroup.c"

static const uint8_t *input;
static size_t length, at;
static unsigned part;

static bool ends(const char *path, const char *with)
{
	size_t n = strlen(path), k = strlen(with);

	return n >= k && !strcmp(path + n - k, with);
}

static long open_part(const char *path)
{
	must(strlen(path) < 512);
	part = ends(path, "/proc/self/cgroup") ? 0 : ends(path, "period_us") ? 2 : strstr(path, "/memory.") ? 3 : 1;
	at = 0;
	return 3;
}

static long read_part(char *to, size_t n)
{
	size_t have;
	const char *text = part_of(input, length, part, &have);

	if (n > 7)
		n = 7;
	if (n > have - at)
		n = have - at;
	memcpy(to, text + at, n);
	at += n;
	return (long)n;
}

long fuzz_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	switch (nr) {
	case SYS_openat:
		return open_part((const char *)b);
	case SYS_read:
		return read_part((char *)b, (size_t)c);
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long cpus, memory;

	input = data;
	length = size;
	cpus = os_cgroup_limit("", OS_CPU);
	memory = os_cgroup_limit("/root", OS_MEMORY);
	must(cpus == -1 || cpus > 0);
	must(memory == -1 || memory > 0);
	must(os_ncpu_of(4, cpus) >= 1 && os_ncpu_of(4, cpus) <= 4);
	return 0;
}
