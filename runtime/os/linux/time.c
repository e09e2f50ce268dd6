/*
 * time: clocks without libc.
 *
 * clock_gettime is a name we interpose (a thread's CPU clock is a G's), so the vDSO entry is found
 * here: 20 ns instead of a system call's 100.  Must never: fail for want of a vDSO; then it is a
 * system call.
 */
#include "runtime/base/atomic.h"
#include "runtime/os/os.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>

static int (*vdso_gettime)(int clock, struct timespec *ts);

/* The vDSO is an ELF image of one load segment: walk its dynamic symbols. */
static void *vdso_sym(const char *base, const char *want)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)base;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + eh->e_phoff);
	const Elf64_Dyn *dyn = NULL;
	const Elf64_Sym *sym = NULL;
	const char *str = NULL;
	const uint32_t *hash = NULL;
	uintptr_t bias = 0;
	bool have_load = false;

	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !have_load) {
			bias = (uintptr_t)base + ph[i].p_offset - ph[i].p_vaddr;
			have_load = true;
		} else if (ph[i].p_type == PT_DYNAMIC) {
			dyn = (const Elf64_Dyn *)(base + ph[i].p_offset);
		}
	}
	if (!dyn || !have_load)
		return NULL;
	for (; dyn->d_tag != DT_NULL; dyn++) {
		void *p = (void *)(bias + dyn->d_un.d_ptr);

		if (dyn->d_tag == DT_SYMTAB)
			sym = p;
		else if (dyn->d_tag == DT_STRTAB)
			str = p;
		else if (dyn->d_tag == DT_HASH)
			hash = p;
	}
	if (!sym || !str || !hash)
		return NULL;
	for (uint32_t i = 0; i < hash[1]; i++)
		if (sym[i].st_shndx != SHN_UNDEF && strcmp(str + sym[i].st_name, want) == 0)
			return (void *)(bias + sym[i].st_value);
	return NULL;
}

void os_time_init(void)
{
	const char *base = (const char *)__getauxval(AT_SYSINFO_EHDR);

	if (base && !vdso_gettime && os_has(OS_vdso))
		*(void **)&vdso_gettime = vdso_sym(base, "__vdso_clock_gettime");
}

/* The vDSO reads the time stamp counter, and a thread may not any more. */
void os_time_notsc(void)
{
	store_relaxed(&vdso_gettime, NULL);
}

/* The caller's ts: unoptimised, a variable of an inlined function has a landing pad, which calls libgcc. */
static inline __attribute__((always_inline)) int gettime(int clock, struct timespec *ts)
{
	int (*vdso)(int, struct timespec *) = load_relaxed(&vdso_gettime);

	if (vdso)
		return vdso(clock, ts);
	return (int)os_syscall(SYS_clock_gettime, clock, (long)ts, 0, 0, 0, 0);
}

static uint64_t nanoseconds(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
}

int os_clock_gettime(int clock, uint64_t *ns)
{
	struct timespec ts;
	int e = gettime(clock, &ts);

	if (!e)
		*ns = nanoseconds(&ts);
	return e;
}

uint64_t os_nanotime(void)
{
	struct timespec ts = { 0 };

	gettime(CLOCK_MONOTONIC, &ts);
	return nanoseconds(&ts);
}

void os_usleep(uint32_t us)
{
	struct timespec ts = { us / 1000000, (long)(us % 1000000) * 1000 };
	uint32_t never = 0;

	if (os_has(OS_naps))
		os_syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, (long)&ts, 0, 0, 0);
	else
		os_futex_wait(&never, 0, os_nanotime() + (uint64_t)us * 1000);
}
