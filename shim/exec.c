/*
 * exec: replacing the process, without a P.
 *
 * A preemption signal that is on its way when the kernel replaces the program is still pending
 * afterwards, when its disposition is the default one: the new program would die of it.  Without a
 * P no G is preempted, and entersyscall() waits for a signal that was sent before.  A failed exec
 * takes a P back.
 *
 * Libc's own functions do the work (the search of PATH, scripts without #!); those with a list of
 * arguments become the ones with a vector, as in libc.
 */
#include "shim/direct.h"

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return HANDOFF(real.execve(path, argv, envp));
}

EXPORT int execveat(int dir, const char *path, char *const argv[], char *const envp[], int flags)
{
	return HANDOFF(real.execveat(dir, path, argv, envp, flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	return HANDOFF(real.fexecve(fd, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return HANDOFF(real.execv(path, argv));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return HANDOFF(real.execvp(file, argv));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return HANDOFF(real.execvpe(file, argv, envp));
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
	return HANDOFF(real.execv(path, argv));
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	char **argv;
	va_list ap;
	size_t n;

	VECTOR(arg, ap, argv, n);
	va_end(ap);
	return HANDOFF(real.execvp(file, argv));
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char **argv, **envp;
	va_list ap;
	size_t n;

	VECTOR(arg, ap, argv, n);
	envp = va_arg(ap, char **);
	va_end(ap);
	return HANDOFF(real.execve(path, argv, envp));
}
