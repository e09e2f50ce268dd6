/*
 * block: thread blocks of tasks and Gs: copies of the first task's, as libc's loader would make them.
 */
#include "tests/sim/sim.h"

#include <link.h>
#include <string.h>

#include "runtime/arch/arch.h"
#include "runtime/runtime.h"

enum { TCB = 2304 }; /* more than glibc's struct pthread */
static uintptr_t tls_lowest;
static char *first;        /* the first task's block, for good */

static int lowest_of(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t at = (uintptr_t)info->dlpi_tls_data;

	(void)size;
	(void)arg;
	if (at && at < tls_lowest)
		tls_lowest = at;
	return 0;
}

void block_init(void)
{
	first = arch_getfs();
}

static size_t below(void)
{
	uintptr_t fs = (uintptr_t)first;

	if (!tls_lowest) {
		tls_lowest = fs;
		dl_iterate_phdr(lowest_of, NULL);
	}
	return (fs - tls_lowest + 63) & ~63UL;
}

size_t block_size(void)
{
	return below() + TCB;
}

void *block_at(void *area)
{
	char *fs = (char *)area + below();

	memcpy(area, first - below(), below() + TCB);
	memset(fs + ((char *)&weft_tls - (char *)arch_getfs()), 0, sizeof(weft_tls));
	*(void **)fs = fs;
	*(void **)(fs + 0x10) = fs;
	return fs;
}

void *block_new(void)
{
	return block_at(arena_alloc(block_size(), 64));
}
