/*
 * tid: the numbers by which the kernel and a program name threads.
 *
 * A G has an id of its own for life, far above any the kernel gives out (pid_max), so it never
 * names a kernel thread; main's is the process id, as everywhere on Linux.  Every call that takes a
 * thread id is translated: tgkill and its relatives reach the G and not the M that happens to run
 * it.
 *
 * Looking up an id walks the table of all Gs: rare, and a struct thread stays mapped when its
 * thread ended, so the worst that a race with an exit does is what it does natively: the thread is
 * gone.
 */
#include "shim/thread/tid.h"

#include "shim/sync/sync.h"
#include "shim/syscall/usermem.h"

struct thread *thread_by_id(long id)
{
	struct g *gp;
	uint32_t i = 0;

	if (!weft_on || id <= 0)
		return NULL;
	if (on_g() && id == (long)weft_tls.tid)
		return &self_thread;
	if (id == (long)g_tid(g_main()))
		return g_shim(g_main())->thread;
	if (id < G_ID_MIN)
		return NULL; /* a kernel thread's, or no thread's */
	while ((gp = g_next(&i))) {
		struct thread *th = g_shim(gp)->thread;

		if (g_tid(gp) == (uint32_t)id && th && th->g == gp)
			return load_seqcst(&th->state) & TH_EXITED ? NULL : th;
	}
	return NULL;
}

pid_t tid_process(pid_t id)
{
	return likely(id < G_ID_MIN) || !thread_by_id(id) ? id : (pid_t)direct3(SYS_getpid, 0, 0, 0);
}

EXPORT pid_t gettid(void)
{
	return on_g() ? (pid_t)weft_tls.tid : real.gettid();
}

/* glibc 2.42; no program can have linked against it before. */
EXPORT pid_t pthread_gettid_np(pthread_t t)
{
	struct g *gp = weft_on ? g_of(t) : NULL;

	if (!gp)
		return real.pthread_gettid_np(t);
	return load_seqcst(&thread_of(t)->state) & TH_EXITED ? -1 : (pid_t)g_tid(gp);
}

bool tid_may_send(long id, const siginfo_t *si)
{
	if (si->si_code < 0 && si->si_code != SI_TKILL)
		return true;
	return id == (on_g() ? (long)weft_tls.tid : direct3(SYS_gettid, 0, 0, 0));
}

/* Result or -errno, asked in the kernel's order.  info NULL: as tgkill(2) makes it. */
static long kill_by_id(long tid, int sig, const siginfo_t *info)
{
	struct thread *th = thread_by_id(tid);
	siginfo_t si;

	if (info) {
		memset(&si, 0, sizeof(si));
		if (!user_read(&si, info, KERNEL_SIGINFO))
			return -EFAULT;
		si.si_signo = sig;
		if (!tid_may_send(tid, &si))
			return -EPERM;
	}
	if (!th)
		return -ESRCH;
	if (sig < 0 || sig > 64)
		return -EINVAL;
	/* Main has the process's id: it is there until the process ends, and ignores it. */
	if (load_seqcst(&th->state) & TH_EXITED)
		return th->g == g_main() ? 0 : -ESRCH;
	return -thread_kill(th, sig, info ? &si : NULL);
}

static bool ours(long tgid, long tid)
{
	return weft_on && (tgid == -1 || tgid == direct3(SYS_getpid, 0, 0, 0)) &&
	       (tid >= G_ID_MIN || tid == (long)g_tid(g_main()));
}

bool tid_kill(long nr, long a, long b, long c, long d, long *r)
{
	switch (nr) {
	case SYS_tkill:
		if (!ours(-1, (int)a))
			return false;
		*r = kill_by_id((int)a, (int)b, NULL);
		return true;
	case SYS_tgkill:
		if ((int)a == -1 || !ours((int)a, (int)b))
			return false;
		*r = kill_by_id((int)b, (int)c, NULL);
		return true;
	case SYS_rt_tgsigqueueinfo:
		if ((int)a == -1 || !ours((int)a, (int)b))
			return false;
		*r = d ? kill_by_id((int)b, (int)c, (const siginfo_t *)d) : -EFAULT;
		return true;
	}
	return false;
}

EXPORT int tgkill(pid_t tgid, pid_t tid, int sig)
{
	long r;

	if (!tid_kill(SYS_tgkill, tgid, tid, sig, 0, &r))
		return real.tgkill(tgid, tid, sig);
	return (int)syscall_ret(r);
}
