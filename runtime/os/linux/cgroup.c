/*
 * cgroup: how much of the machine this process may use.
 *
 * CPUs as Go 1.25 counts them: min(CPUs in the affinity mask, max(2, ceil(cgroup quota / period))),
 * and memory: min(what there is, cgroup limit); cgroup v1 and v2.
 *
 * Re-read while running (sysmon), so it opens, reads and closes with raw system calls and allocates
 * nothing.  A missing file is "no limit".  The limit that binds may be any ancestor's, so each
 * level of the path is read and the smallest wins.
 */
#include "runtime/base/atomic.h"
#include "runtime/os/os.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

ssize_t os_slurp(const char *path, char *buf, size_t n)
{
	long fd = os_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
	size_t got = 0;
	long r;

	if (fd < 0)
		return fd;
	while (got < n - 1 &&
	       (r = os_syscall(SYS_read, fd, (long)(buf + got), (long)(n - 1 - got), 0, 0, 0)) > 0)
		got += (size_t)r;
	os_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	buf[got] = '\0';
	return (ssize_t)got;
}

/* Decimal at s; -1 when there is none ("max", "-1", an empty file).  One that is too large is LONG_MAX. */
static long number(const char *s)
{
	long v = 0;

	if (*s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return LONG_MAX;
	return v;
}

static long ratio_up(long quota, long period)
{
	return quota > 0 && period > 0 ? (quota - 1) / period + 1 : -1;
}

/* root + base + dir + leaf read into buf; false when it does not fit or is not there. */
static bool slurp_at(const char *const part[4], char *buf, size_t size)
{
	char path[512];
	size_t n = 0;

	for (int i = 0; i < 4; i++) {
		size_t len = strlen(part[i]);

		if (n + len >= sizeof(path))
			return false;
		memcpy(path + n, part[i], len + 1);
		n += len;
	}
	return os_slurp(path, buf, size) > 0;
}

static long cpu_v2(const char *root, const char *dir)
{
	const char *const file[] = { root, "/sys/fs/cgroup", dir, "/cpu.max" };
	char buf[64];
	char *sp;

	if (!slurp_at(file, buf, sizeof(buf)))
		return -1;
	sp = strchr(buf, ' ');
	return sp ? ratio_up(number(buf), number(sp + 1)) : -1;
}

static long cpu_v1(const char *root, const char *dir)
{
	const char *file[] = { root, "/sys/fs/cgroup/cpu", dir, "/cpu.cfs_quota_us" };
	char buf[64];
	long quota;

	if (!slurp_at(file, buf, sizeof(buf)))
		return -1;
	quota = number(buf);
	if (quota <= 0)
		return -1;
	file[3] = "/cpu.cfs_period_us";
	if (!slurp_at(file, buf, sizeof(buf)))
		return -1;
	return ratio_up(quota, number(buf));
}

static long memory_in(const char *root, const char *base, const char *dir, const char *leaf)
{
	const char *const file[] = { root, base, dir, leaf };
	char buf[64];

	return slurp_at(file, buf, sizeof(buf)) ? number(buf) : -1;
}

static long memory_v2(const char *root, const char *dir)
{
	return memory_in(root, "/sys/fs/cgroup", dir, "/memory.max");
}

static long memory_v1(const char *root, const char *dir)
{
	return memory_in(root, "/sys/fs/cgroup/memory", dir, "/memory.limit_in_bytes");
}

static const struct controller {
	const char *name;
	long (*v2)(const char *root, const char *dir);
	long (*v1)(const char *root, const char *dir);
} controllers[] = {
	[OS_CPU] = { "cpu", cpu_v2, cpu_v1 },
	[OS_MEMORY] = { "memory", memory_v2, memory_v1 },
};

/* The smallest limit from dir up to the root; dir is cut at each step. */
static long limit_path(const char *root, char *dir, long (*at)(const char *, const char *))
{
	long best = -1;

	for (;;) {
		long l = at(root, strcmp(dir, "/") ? dir : "");
		char *slash;

		if (l > 0 && (best < 0 || l < best))
			best = l;
		slash = strrchr(dir, '/');
		if (!slash || dir[1] == '\0')
			return best;
		*slash = '\0';
	}
}

/* True when the v1 controller list (between the colons) names this one. */
static bool lists(const char *s, const char *end, const char *name)
{
	size_t n = strlen(name);

	while (s < end) {
		const char *e = s;

		while (e < end && *e != ',')
			e++;
		if ((size_t)(e - s) == n && memcmp(s, name, n) == 0)
			return true;
		s = e + 1;
	}
	return false;
}

long os_cgroup_limit(const char *root, enum os_granted what)
{
	const struct controller *c = &controllers[what];
	const char *const file[] = { root, "/proc/self/cgroup", "", "" };
	char buf[2048];
	long best = -1;
	char *line = buf, *next;

	if (!slurp_at(file, buf, sizeof(buf)))
		return -1;
	for (; line && *line; line = next) {
		char *list = strchr(line, ':');
		char *dir = list ? strchr(list + 1, ':') : NULL;
		long l = -1;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!dir)
			continue;
		if (dir == list + 1)
			l = limit_path(root, dir + 1, c->v2);
		else if (lists(list + 1, dir, c->name))
			l = limit_path(root, dir + 1, c->v1);
		if (l > 0 && (best < 0 || l < best))
			best = l;
	}
	return best;
}

unsigned os_ncpu_of(unsigned cpus, long quota)
{
	if (cpus == 0)
		cpus = 1;
	if (quota > 0 && quota < 2)
		quota = 2;
	return quota > 0 && (unsigned long)quota < cpus ? (unsigned)quota : cpus;
}

unsigned os_ncpu(void)
{
	unsigned long mask[128] = { 0 };
	long n = os_syscall(SYS_sched_getaffinity, 0, sizeof(mask), (long)mask, 0, 0, 0);
	static unsigned last; /* atomic: what is answered where nobody may ask any more */
	unsigned cpus = 0;

	if (n < 0)
		return load_relaxed(&last) ?: 1;
	for (long i = 0; i < n / (long)sizeof(long); i++)
		cpus += (unsigned)__builtin_popcountl(mask[i]);
	cpus = os_ncpu_of(cpus, os_cgroup_limit("", OS_CPU));
	store_relaxed(&last, cpus);
	return cpus;
}

/* What the kernel could give without swapping, in bytes; where it is not told: half of what there is. */
static size_t available(void)
{
	static const char word[] = "MemAvailable:";
	struct sysinfo si = { 0 };
	char buf[512], *at = buf;
	long kb = -1;

	if (os_slurp("/proc/meminfo", buf, sizeof(buf)) < 0)
		at = NULL;
	while (at && strncmp(at, word, sizeof(word) - 1))
		at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL;
	if (at) {
		for (at += sizeof(word) - 1; *at == ' '; at++)
			;
		kb = number(at);
	}
	if (kb > 0 && kb < LONG_MAX / 1024)
		return (size_t)kb * 1024;
	os_syscall(SYS_sysinfo, (long)&si, 0, 0, 0, 0, 0);
	return (size_t)si.totalram * si.mem_unit / 2;
}

size_t os_memory(size_t ours)
{
	long limit = os_cgroup_limit("", OS_MEMORY);
	size_t there = available() + ours;

	return limit > 0 && (size_t)limit < there ? (size_t)limit : there;
}
