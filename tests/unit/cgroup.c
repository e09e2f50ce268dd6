/*
 * cgroup: CPUs and memory that a process may use, over trees of files like /proc and /sys.
 */
#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/os/os.h"

static char root[] = "/tmp/weft-grant-XXXXXX";

static void make_root(void)
{
	cr_assert(mkdtemp(root));
}

static void drop_root(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(grant, .init = make_root, .fini = drop_root);

/* Writes a file below root and makes the folders above it. */
static void put(const char *path, const char *text)
{
	char full[512];
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(full, 0700);
		*p = '/';
	}
	f = fopen(full, "w");
	cr_assert(f, "%s", full);
	fputs(text, f);
	fclose(f);
}

Test(grant, no_files_is_no_limit)
{
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, version_2_is_quota_by_period_rounded_up)
{
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 3);
	put("/sys/fs/cgroup/a/cpu.max", "400000 100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 4);
	put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 1);
}

Test(grant, version_2_max_is_no_limit)
{
	put("/proc/self/cgroup", "0::/a\n");
	put("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, any_ancestor_may_bind)
{
	put("/proc/self/cgroup", "0::/a/b/c\n");
	put("/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n");
	put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
	put("/sys/fs/cgroup/a/cpu.max", "600000 100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 6);
	put("/sys/fs/cgroup/cpu.max", "300000 100000\n"); /* a container sees its own as the root */
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 3);
}

Test(grant, version_1_reads_two_files)
{
	put("/proc/self/cgroup", "4:memory:/m\n3:cpu,cpuacct:/a/b\n2:cpuset:/z\n");
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "350000\n");
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_period_us", "100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 4);
	put("/sys/fs/cgroup/cpu/a/b/cpu.cfs_quota_us", "-1\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, memory_is_in_other_files)
{
	put("/proc/self/cgroup", "4:memory:/m\n0::/a/b\n");
	cr_expect_eq(os_cgroup_limit(root, OS_MEMORY), -1);
	put("/sys/fs/cgroup/a/b/memory.max", "max\n");
	cr_expect_eq(os_cgroup_limit(root, OS_MEMORY), -1);
	put("/sys/fs/cgroup/a/memory.max", "536870912\n");
	cr_expect_eq(os_cgroup_limit(root, OS_MEMORY), 536870912);
	put("/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "1048576\n");
	cr_expect_eq(os_cgroup_limit(root, OS_MEMORY), 1048576);
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, of_both_versions_the_smaller_binds)
{
	put("/proc/self/cgroup", "2:cpuacct,cpu:/one\n0::/two\n");
	put("/sys/fs/cgroup/cpu/one/cpu.cfs_quota_us", "900000\n");
	put("/sys/fs/cgroup/cpu/one/cpu.cfs_period_us", "100000\n");
	put("/sys/fs/cgroup/two/cpu.max", "500000 100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), 5);
}

Test(grant, other_controllers_with_cpu_in_their_name_do_not_count)
{
	put("/proc/self/cgroup", "1:cpuset,cpuacct:/a\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "200000\n");
	put("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, damaged_files_are_no_limit)
{
	put("/proc/self/cgroup", "nonsense\n0::\n::\n0::/a");
	put("/sys/fs/cgroup/a/cpu.max", "100000");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
	put("/sys/fs/cgroup/a/cpu.max", "100000 0\n");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
	put("/sys/fs/cgroup/a/cpu.max", "");
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, a_path_too_long_to_read_is_no_limit)
{
	char line[1200];

	snprintf(line, sizeof(line), "0::/%0600d\n", 0);
	put("/proc/self/cgroup", line);
	cr_expect_eq(os_cgroup_limit(root, OS_CPU), -1);
}

Test(grant, the_quota_bounds_the_mask_but_never_below_two)
{
	cr_expect_eq(os_ncpu_of(8, -1), 8);
	cr_expect_eq(os_ncpu_of(8, 3), 3);
	cr_expect_eq(os_ncpu_of(8, 100), 8);
	cr_expect_eq(os_ncpu_of(8, 1), 2);
	cr_expect_eq(os_ncpu_of(1, 1), 1, "but one CPU is one CPU");
	cr_expect_eq(os_ncpu_of(0, -1), 1);
}

Test(grant, the_affinity_mask_is_counted)
{
	cpu_set_t all, one;
	int first = 0;

	cr_assert_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	cr_expect_eq(os_ncpu(), os_ncpu_of((unsigned)CPU_COUNT(&all), os_cgroup_limit("", OS_CPU)));
	while (!CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	cr_expect_eq(os_ncpu(), 1);
}
