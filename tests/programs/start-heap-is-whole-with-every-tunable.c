/*
 * The heap before and after the first thread, with each of libc's tunables: each row is a run of
 * this program by itself.  A program that has never called realloc, with chunks waiting to be used
 * again, makes its first thread; afterwards no two chunks overlap and each keeps what was written.
 */
#include "check.h"

#include <sys/wait.h>

enum { SIZES = 64, EACH = 9 };

/* A tunable that this libc does not know is ignored by it. */
static const char *const tunables[] = {
	"glibc.malloc.check=3",
	"glibc.malloc.top_pad=1",
	"glibc.malloc.top_pad=4194304",
	"glibc.malloc.perturb=85",
	"glibc.malloc.mmap_max=0",
	"glibc.malloc.mmap_threshold=1",
	"glibc.malloc.mmap_threshold=33554432",
	"glibc.malloc.trim_threshold=1",
	"glibc.malloc.arena_max=1",
	"glibc.malloc.arena_max=64",
	"glibc.malloc.arena_test=1",
	"glibc.malloc.tcache_count=0",
	"glibc.malloc.tcache_count=1",
	"glibc.malloc.tcache_count=127",
	"glibc.malloc.tcache_max=0",
	"glibc.malloc.tcache_max=4000",
	"glibc.malloc.tcache_unsorted_limit=1",
	"glibc.malloc.mxfast=0",
	"glibc.malloc.mxfast=160",
	"glibc.malloc.hugetlb=1",
	"glibc.pthread.mutex_spin_count=0",
	"glibc.pthread.rseq=0",
	"glibc.pthread.stack_cache_size=0",
	"glibc.pthread.stack_hugetlb=0",
	"glibc.rtld.optional_static_tls=4096",
	"glibc.rtld.nns=1",
	"glibc.rtld.dynamic_sort=1",
	"glibc.mem.tagging=0",
	"glibc.mem.decorate_maps=1",
	"glibc.cpu.hwcaps=-AVX2_Usable,-ERMS",
	"glibc.elision.enable=0",
	"glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0:glibc.malloc.mmap_threshold=1",
};

static unsigned char *chunk[SIZES][EACH];

static size_t size_of(int i)
{
	return 8 + 24 * (size_t)i;
}

static void fill(int i, int j)
{
	chunk[i][j] = malloc(size_of(i));
	CHECK(chunk[i][j]);
	memset(chunk[i][j], i * EACH + j, size_of(i));
}

static void check_and_free(int i, int j)
{
	for (size_t k = 0; k < size_of(i); k++)
		CHECK_EQ(chunk[i][j][k], (unsigned char)(i * EACH + j));
	free(chunk[i][j]);
}

static void each(void (*act)(int, int))
{
	for (int i = 0; i < SIZES; i++)
		for (int j = 0; j < EACH; j++)
			act(i, j);
}

static void *use_heap(void *arg)
{
	void *p = malloc(24), *q = malloc(24);

	CHECK(p && q && p != q);
	free(p);
	free(q);
	return arg;
}

static int row(void)
{
	each(fill);
	each(check_and_free);
	CHECK(join(spawn(use_heap, &chunk)) == &chunk);
	for (int round = 0; round < 2; round++) {
		each(fill);
		CHECK(join(spawn(use_heap, &chunk)) == &chunk);
		each(check_and_free);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return row();
	for (size_t i = 0; i < sizeof(tunables) / sizeof(tunables[0]); i++) {
		pid_t pid = fork();
		int status;

		CHECK_SYS(pid);
		if (pid == 0) {
			setenv("GLIBC_TUNABLES", tunables[i], 1);
			execl("/proc/self/exe", argv[0], "row", (char *)NULL);
			_exit(3);
		}
		CHECK_SYS(waitpid(pid, &status, 0));
		printf("%s %s: status %x\n", status ? "FAILED" : "ok", tunables[i], status);
		fflush(stdout);
	}
	return 0;
}
