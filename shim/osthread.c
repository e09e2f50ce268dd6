/*
 * osthread: names, and what the kernel keeps per thread and only the kernel can.
 *
 * A name is the G's own; main's is the kernel's too, because that is what ps shows for the process.
 *
 * Capabilities, namespaces, seccomp filters and their like change the kernel thread that asks.  The
 * G that asks is wired to its M for good, and the M ends with it.  M0 cannot end, so a G that is
 * not main leaves it first.  What a native child thread would inherit of these is not passed on: a
 * new G runs anywhere.
 */
#include "shim/fdevents.h"
#include "shim/ids.h"

#include <string.h>

/* The kernel's name of the process: that of its first thread, from wherever main happens to run. */
static void show_main(const char *name)
{
	char path[64];
	long fd, pid = direct3(SYS_getpid, 0, 0, 0);

	if (direct3(SYS_gettid, 0, 0, 0) == pid) {
		direct3(SYS_prctl, PR_SET_NAME, name, 0);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", pid);
	fd = direct3(SYS_open, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	direct3(SYS_write, (int)fd, name, strlen(name));
	direct3(SYS_close, (int)fd, 0, 0);
}

static void rename_g(struct g *gp, const char *name)
{
	g_setname(gp, name);
	if (gp == g_main())
		show_main(name);
}

void osthread_init(void)
{
	char name[16] = "";

	direct3(SYS_prctl, PR_GET_NAME, name, 0);
	g_setname(g_main(), name);
}

void osthread_showname(void)
{
	char name[16];

	g_getname(getg(), name);
	direct3(SYS_prctl, PR_SET_NAME, name, 0);
}

EXPORT int pthread_setname_np(pthread_t t, const char *name)
{
	struct g *gp = weft_on ? g_of(t) : NULL;

	if (!gp)
		return real.pthread_setname_np(t, name);
	if (strlen(name) > 15)
		return ERANGE;
	rename_g(gp, name);
	return 0;
}

EXPORT int pthread_getname_np(pthread_t t, char *buf, size_t n)
{
	struct g *gp = weft_on ? g_of(t) : NULL;
	char name[16];

	if (!gp)
		return real.pthread_getname_np(t, buf, n);
	if (n < sizeof(name))
		return ERANGE;
	g_getname(gp, name);
	memcpy(buf, name, sizeof(name));
	return 0;
}

/* ---- wired for good -------------------------------------------------------------------------- */

/* From here on the caller has a kernel thread of its own; again and again costs nothing more. */
static void own_thread(void)
{
	struct thread *th = &self_thread;

	if (th->owns_os)
		return;
	th->owns_os = true;
	leavem0();
	lockosthread();
}

long osthread_call(long nr, long a, long b, long c, long d, long e, long f)
{
	own_thread();
	return direct6(nr, a, b, c, d, e, f);
}

static bool per_thread(long op)
{
	switch (op) {
	case PR_SET_PDEATHSIG:
	case PR_SET_UNALIGN:
	case PR_SET_KEEPCAPS:
	case PR_SET_FPEMU:
	case PR_SET_FPEXC:
	case PR_SET_TIMING:
	case PR_SET_ENDIAN:
	case PR_SET_SECCOMP:
	case PR_CAPBSET_DROP:
	case PR_SET_TSC:
	case PR_SET_SECUREBITS:
	case PR_SET_TIMERSLACK:
	case PR_MCE_KILL:
	case PR_SET_NO_NEW_PRIVS:
	case PR_CAP_AMBIENT:
	case PR_SET_SPECULATION_CTRL:
#ifdef PR_SET_IO_FLUSHER
	case PR_SET_IO_FLUSHER:
#endif
#ifdef PR_SET_SYSCALL_USER_DISPATCH
	case PR_SET_SYSCALL_USER_DISPATCH:
#endif
#ifdef PR_SCHED_CORE
	case PR_SCHED_CORE:
#endif
		return true;
	}
	return false;
}

long osthread_prctl(long op, long a, long b, long c, long d)
{
	char name[16] = "";

	switch (op) {
	case PR_SET_NAME:
		strncpy(name, (const char *)a, sizeof(name) - 1);
		rename_g(getg(), name);
		return 0;
	case PR_GET_NAME:
		g_getname(getg(), (char *)a);
		return 0;
	}
	if (per_thread(op))
		return osthread_call(SYS_prctl, op, a, b, c, d, 0);
	return direct5(SYS_prctl, op, a, b, c, d);
}

EXPORT int prctl(int op, ...)
{
	long a, b, c, d;
	va_list ap;

	va_start(ap, op);
	a = va_arg(ap, long);
	b = va_arg(ap, long);
	c = va_arg(ap, long);
	d = va_arg(ap, long);
	va_end(ap);
	if (!on_g())
		return real.prctl(op, a, b, c, d);
	return (int)syscall_ret(osthread_prctl(op, a, b, c, d));
}

EXPORT int unshare(int flags)
{
	if (!on_g())
		return real.unshare(flags);
	return (int)FD_NOTED(unshare, syscall_ret(osthread_call(SYS_unshare, flags, 0, 0, 0, 0, 0)), flags);
}

EXPORT int setns(int fd, int kind)
{
	if (!on_g())
		return real.setns(fd, kind);
	return (int)syscall_ret(osthread_call(SYS_setns, fd, kind, 0, 0, 0, 0));
}

/* They cannot fail: the old id is the answer either way. */
EXPORT int setfsuid(uid_t id)
{
	return on_g() ? (int)osthread_call(SYS_setfsuid, id, 0, 0, 0, 0, 0) : real.setfsuid(id);
}

EXPORT int setfsgid(gid_t id)
{
	return on_g() ? (int)osthread_call(SYS_setfsgid, id, 0, 0, 0, 0, 0) : real.setfsgid(id);
}
