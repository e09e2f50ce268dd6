/*
 * libcalls: libc's functions that are nothing but a system call: on a G the table says what it
 * means (syscalls.def), elsewhere they are libc's.
 */
#include "shim/fd/fdevents.h"
#include "shim/thread/tid.h"
#include "shim/syscall/syscall.h"

#define LIBCALL(ret, name, nr, params, args, a, b, c, d, e, f)                                     \
	EXPORT ret name params                                                                     \
	{                                                                                          \
		if (!on_g())                                                                       \
			return real.name args;                                                     \
		return (ret)syscall_ret(by_table6(nr, a, b, c, d, e, f));                          \
	}

LIBCALL(int, capget, SYS_capget, (cap_user_header_t h, cap_user_data_t p), (h, p), h, p, 0, 0, 0, 0)
LIBCALL(int, capset, SYS_capset, (cap_user_header_t h, const cap_user_data_t p), (h, p), h, p, 0, 0,
	0, 0)
LIBCALL(int, personality, SYS_personality, (unsigned long p), (p), p, 0, 0, 0, 0, 0)
LIBCALL(int, ioperm, SYS_ioperm, (unsigned long from, unsigned long n, int on), (from, n, on), from,
	n, on, 0, 0, 0)
LIBCALL(int, iopl, SYS_iopl, (int level), (level), level, 0, 0, 0, 0, 0)
LIBCALL(int, setns, SYS_setns, (int fd, int kind), (fd, kind), fd, kind, 0, 0, 0, 0)
LIBCALL(int, setfsuid, SYS_setfsuid, (uid_t id), (id), id, 0, 0, 0, 0, 0)
LIBCALL(int, setfsgid, SYS_setfsgid, (gid_t id), (id), id, 0, 0, 0, 0, 0)
LIBCALL(int, getrusage, SYS_getrusage, (__rusage_who_t who, struct rusage *usage), (who, usage), who,
	usage, 0, 0, 0, 0)
LIBCALL(pid_t, getpgid, SYS_getpgid, (pid_t id), (id), id, 0, 0, 0, 0, 0)
ALIAS(__getpgid, getpgid);
ALIAS(__bsd_getpgrp, getpgid);
LIBCALL(int, setpgid, SYS_setpgid, (pid_t id, pid_t group), (id, group), id, group, 0, 0, 0, 0)
ALIAS(__setpgid, setpgid);
LIBCALL(pid_t, getsid, SYS_getsid, (pid_t id), (id), id, 0, 0, 0, 0, 0)
LIBCALL(ssize_t, process_vm_readv, SYS_process_vm_readv,
	(pid_t id, const struct iovec *to, unsigned long n, const struct iovec *from, unsigned long m,
	 unsigned long flags),
	(id, to, n, from, m, flags), id, to, n, from, m, flags)
LIBCALL(ssize_t, process_vm_writev, SYS_process_vm_writev,
	(pid_t id, const struct iovec *from, unsigned long n, const struct iovec *to, unsigned long m,
	 unsigned long flags),
	(id, from, n, to, m, flags), id, from, n, to, m, flags)
LIBCALL(int, pidfd_open, SYS_pidfd_open, (pid_t id, unsigned int flags), (id, flags), id, flags, 0, 0,
	0, 0)
LIBCALL(int, pidfd_send_signal, SYS_pidfd_send_signal, (int pidfd, int sig, siginfo_t *info, unsigned int flags),
	(pidfd, sig, info, flags), pidfd, sig, info, flags, 0, 0)
LIBCALL(int, pidfd_getfd, SYS_pidfd_getfd, (int pidfd, int fd, unsigned int flags),
	(pidfd, fd, flags), pidfd, fd, flags, 0, 0, 0)
LIBCALL(int, arch_prctl, SYS_arch_prctl, (int op, unsigned long arg), (op, arg), op, arg, 0, 0, 0, 0)
ALIAS(__arch_prctl, arch_prctl);

#define PRLIMIT(name, type)                                                                        \
	LIBCALL(int, name, SYS_prlimit64,                                                          \
		(pid_t id, enum __rlimit_resource what, const type *new, type *old),               \
		(id, what, new, old), id, what, new, old, 0, 0)
PRLIMIT(prlimit, struct rlimit)
PRLIMIT(prlimit64, struct rlimit64)

EXPORT int unshare(int flags)
{
	if (!on_g())
		return real.unshare(flags);
	return (int)FD_NOTED(unshare, syscall_ret(by_table2(SYS_unshare, flags, 0)), flags);
}

/* What is peeked at is libc's result, and errno says whether it is one. */
EXPORT long ptrace(enum __ptrace_request request, ...)
{
	va_list ap;
	pid_t pid;
	void *addr, *data;

	va_start(ap, request);
	pid = va_arg(ap, pid_t);
	addr = va_arg(ap, void *);
	data = va_arg(ap, void *);
	va_end(ap);
	if (on_g())
		threadstate_own(false);
	return real.ptrace(request, pid, addr, data);
}
