/*
 * exec: replacing the process, without a P.
 *
 * A preemption signal that is on its way when the kernel replaces the program is still pending
 * afterwards, when its disposition is the default one: the new program would die of it.  Without a
 * P no G is preempted, and entersyscall() waits for a signal that was sent before.  A failed exec
 * takes a P back.
 *
 * Signals that wait for the calling thread are kept by weft, and given to the kernel for this.
 *
 * A program that cannot have this library in it gets an environment without it (foreign.c).
 *
 * Libc's own functions do the work (the search of PATH, scripts without #!); those with a list of
 * arguments become the ones with a vector, as in libc.  What comes by number is the kernel's.
 */
#include "shim/process/foreign.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"

/* What comes after this is the affair of a race that there is natively, too. */
static void deliver(void)
{
	if (!on_g())
		return;
	sigroute_flush();
	signals_deliver();
}

/*
 * What the mask keeps out of the signals for this thread stays pending in the new program: in the
 * kernel, for the kernel thread, which has that mask and which no other G uses in the region.
 */
static uint64_t to_kernel(void)
{
	uint64_t moved = 0;
	siginfo_t info;
	int sig;

	while (on_g() && (sig = signals_take(sigmask_of(getg()), &info))) {
		long pid = direct3(SYS_getpid, 0, 0, 0), tid = direct3(SYS_gettid, 0, 0, 0);

		/* Only kill()'s own codes are refused: then by a call that makes the like. */
		if (info.si_code >= 0 || info.si_code == SI_TKILL ||
		    direct4(SYS_rt_tgsigqueueinfo, pid, tid, sig, &info))
			direct3(SYS_tgkill, pid, tid, sig);
		moved |= SIGBIT(sig);
	}
	return moved;
}

/* There is no new program. */
static void from_kernel(uint64_t moved)
{
	struct timespec zero = { 0, 0 };
	siginfo_t info;
	int sig;

	while (moved && (sig = (int)direct4(SYS_rt_sigtimedwait, &moved, &info, &zero, 8)) > 0) {
		sigroute_original(&info);
		thread_kill(&self_thread, sig, &info);
	}
}

#define EXEC(call)                                                                                 \
	({                                                                                         \
		int failed_;                                                                       \
		deliver();                                                                         \
		{                                                                                  \
			HANDOFF_REGION;                                                            \
			uint64_t moved_ = to_kernel();                                             \
			failed_ = (call);                                                          \
			from_kernel(moved_);                                                       \
			region_ = HANDOFF_DONE;                                                    \
		}                                                                                  \
		failed_;                                                                           \
	})

#define EXEC_FILE(path, argv, envp)                                                                \
	EXEC(real.execve(path, argv, FOREIGN_ENV_FILE(path, envp)))
#define EXEC_NAME(name, argv, envp)                                                                \
	EXEC(real.execvpe(name, argv, FOREIGN_ENV_NAME(name, envp)))

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return EXEC_FILE(path, argv, envp);
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	return EXEC(real.execveat(dir, path, argv, FOREIGN_ENV(foreign_file(dir, path, flags), envp),
				  flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	return EXEC(real.fexecve(fd, argv, FOREIGN_ENV(foreign_file(fd, "", AT_EMPTY_PATH), envp)));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return EXEC_FILE(path, argv, environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return EXEC_NAME(file, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return EXEC_NAME(file, argv, envp);
}

/* On the stack, as libc has it: the caller may be the child of a vfork. */
#define VECTOR(first, ap, argv, n)                                                                 \
	va_start(ap, first);                                                                       \
	for (n = 1; va_arg(ap, const char *); n++)                                                 \
		;                                                                                  \
	va_end(ap);                                                                                \
	argv = __builtin_alloca((n + 1) * sizeof(*argv));                                          \
	va_start(ap, first);                                                                       \
	argv[0] = (char *)(uintptr_t)first;                                                        \
	for (size_t i_ = 1; i_ <= n; i_++)                                                         \
		argv[i_] = va_arg(ap, char *)

EXPORT int execl(const char *path, const char *arg, ...)
{
	char **argv;
	va_list ap;
	size_t n;

	VECTOR(arg, ap, argv, n);
	va_end(ap);
	return EXEC_FILE(path, argv, environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;
	size_t n;

	VECTOR(arg, ap, argv, n);
	va_end(ap);
	return EXEC_NAME(file, argv, environ);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;
	size_t n;

	VECTOR(arg, ap, argv, n);
	envp = va_arg(ap, char **);
	va_end(ap);
	return EXEC_FILE(path, argv, envp);
}

/* By number. */
long executes(const struct call *x)
{
	bool at = x->nr == SYS_execveat;
	int dir = at ? (int)x->a : AT_FDCWD, flags = at ? (int)x->e : 0;
	const char *path = (const char *)(at ? x->b : x->a);
	struct call y = *x;
	long *envp = at ? &y.d : &y.c;

	return EXEC((*envp = (long)FOREIGN_ENV(foreign_file(dir, path, flags), (char **)*envp),
		     (int)call_plain(&y)));
}
