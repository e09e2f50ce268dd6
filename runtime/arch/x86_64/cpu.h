/*
 * cpu: x86-64's part of runtime/arch/cpu.h.
 *
 * Must never: touch errno; be included but through runtime/arch/cpu.h.
 */
#ifndef WEFT_ARCH_X86_64_CPU_H
#define WEFT_ARCH_X86_64_CPU_H

#define ARCH_NAME "x86-64"
#define ARCH_LOADER "ld-linux-x86-64.so.2" /* glibc's, the last part of its path */
#define ARCH_ELF_MACHINE EM_X86_64         /* elf.h */
#define ARCH_AUDIT AUDIT_ARCH_X86_64       /* linux/audit.h */
#define ARCH_EPOLL_PACKED __attribute__((packed)) /* struct epoll_event of the kernel */

/* arch_prctl(2): its number, and what it is asked. */
enum {
	ARCH_PRCTL = 158,
	ARCH_PRCTL_SETGS = 0x1001,
	ARCH_PRCTL_SETFS = 0x1002,
	ARCH_PRCTL_GETGS = 0x1004,
	ARCH_PRCTL_CPUID = 0x1012,
	ARCH_PRCTL_SHSTK = 0x5005,
};

/* glibc's tcbhead_t, which the ABI fixes: bytes from the thread pointer. */
enum {
	TCBHEAD_TCB = 0x00,
	TCBHEAD_DTV = 0x08,
	TCBHEAD_SELF = 0x10,
	TCBHEAD_MULTIPLE_THREADS = 0x18,
	TCBHEAD_POINTER_GUARD = 0x30,
	TCBHEAD_FEATURES = 0x48, /* feature_1 */
};

/* A raw system call: the result or -errno. */
static inline long arch_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

/*
 * clone(2) whose child runs fn(arg), which must not return, on the stack that ends at top; tls: its FS
 * with CLONE_SETTLS.  Only the parent returns: the child's id or -errno.
 */
static inline long arch_clone(long flags, void *top, void *tls, void (*fn)(void *), void *arg)
{
	enum { CLONE = 56 };
	register long r10 __asm__("r10") = 0;
	register void *r8 __asm__("r8") = tls;
	register void *r12 __asm__("r12") = arg;
	register void (*r13)(void *) __asm__("r13") = fn;
	long r;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %%r12, %%rdi\n\t"
			 "call *%%r13\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(r)
			 : "0"((long)CLONE), "D"(flags), "S"(top), "d"(0L), "r"(r10), "r"(r8),
			   "r"(r12), "r"(r13)
			 : "rcx", "r11", "memory");
	return r;
}

static inline void arch_pause(void)
{
	__builtin_ia32_pause();
}

/* The thread pointer: FS. */
static inline void *arch_getfs(void)
{
	void *p;

	__asm__ volatile("mov %%fs:0x10, %0" : "=r"(p)); /* TCBHEAD_SELF */
	return p;
}

/* By the kernel, which every CPU and every kernel can: for where no switch is hot. */
static inline void arch_setfs(void *fs)
{
	arch_syscall(ARCH_PRCTL, ARCH_PRCTL_SETFS, (long)fs, 0, 0, 0, 0);
}

/* Is the calling thread on a shadow stack?  One belongs to a kernel thread, and no switch changes it. */
static inline int arch_shadow_stack(void)
{
	unsigned long features = 0;

	if (*(unsigned long *)((char *)arch_getfs() + TCBHEAD_FEATURES) & 2)
		return 1;
	return arch_syscall(ARCH_PRCTL, ARCH_PRCTL_SHSTK, (long)&features, 0, 0, 0, 0) == 0 &&
	       features & 1;
}

#endif
