/*
 * thread: what the kernel knows of another thread of this process.
 *
 * os_blocked() reads /proc/self/task/TID/syscall.  It says "running" for a thread that runs or could, "-1 SP PC"
 * for one that is blocked elsewhere than in a system call, and else "NR ARG... SP PC" (six arguments).  The kernel
 * answers for a blocked thread only once it is off its CPU.
 *
 * Must never: need memory, keep a descriptor.
 */
#include "runtime/os/os.h"

#include <errno.h>
#include <sys/syscall.h>

enum { PERTHREAD_SCHED = 6 };
enum { MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

int os_thread_cpu(int tid, uint64_t *ns)
{
	return os_clock_gettime((int)(~(uint32_t)tid << 3 | PERTHREAD_SCHED), ns);
}

static char *decimal(char *p, unsigned v)
{
	char digits[12];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *append(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

/* The field at *s, decimal or 0x and hexadecimal; moves past it and the blank behind. */
static uintptr_t field(const char **s)
{
	const char *p = *s;
	unsigned base = 10;
	uintptr_t v = 0;

	if (p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
	}
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			v = v * base + (uintptr_t)(*p - '0');
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			v = v * base + (uintptr_t)(*p - 'a' + 10);
		else
			break;
	}
	*s = *p ? p + 1 : p;
	return v;
}

int os_blocked(int tid, struct os_where *w)
{
	char path[64], text[256];
	const char *s = text;
	char *p;
	ssize_t n;

	p = append(path, "/proc/self/task/");
	p = decimal(p, (unsigned)tid);
	*append(p, "/syscall") = '\0';
	n = os_slurp(path, text, sizeof(text));
	if (n <= 0)
		return n ? (int)n : -ENOENT;
	if (text[0] == 'r')
		return 0;
	if (text[0] == '-') {
		s += 3;
		w->nr = -1;
	} else {
		w->nr = (long)field(&s);
		for (int i = 0; i < 6; i++)
			field(&s);
	}
	w->sp = field(&s);
	w->pc = field(&s);
	return 1;
}

int os_membarrier_start(void)
{
	return (int)os_syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}

void os_membarrier(void)
{
	os_syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0, 0, 0, 0);
}
