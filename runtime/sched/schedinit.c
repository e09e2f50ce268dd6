/*
 * schedinit: the calling thread becomes the main G on M0 and P0; and the same again in a fork child.
 */
#include "runtime/sched/gmp.h"

#include <errno.h>
#include <string.h>

enum { G0_STACK = 256 * 1024 };

uint64_t nanotime(void)
{
	return os_nanotime();
}

bool runtime_fault(const char *what)
{
	return os_fault(what);
}

long runtime_denied_slow(long nr, long a, long b, long c)
{
	return os_missing(nr, a, b, c);
}

static bool probe(void)
{
	os_faultinject(weft_opt.without, weft_opt.fail);
	os_time_init();
	arch_wrfsbase = os_has(OS_wrfsbase) && arch_has_wrfsbase();
	os_guard_init();
	netpoll_makeroom();
	return blocked_possible();
}

/* gp runs on M0 from now on; top: end of M0's g0 stack. */
void schedinit_m0(struct g *gp, void *fs, char *top)
{
	ptrdiff_t off = (char *)&weft_tls - (char *)arch_getfs();

	m0 = (struct m){ .fs = fs, .g0top = top, .sigstack = m0_sigstack() };
	m0.ostid = os_gettid();
	m0.sigmask = gp->shim.sigmask = os_sigmask_get();
	m0.gs = gp->gs = arch_getgs();
	m_init(&m0);
	*(struct weft_tls *)((char *)fs + off) = (struct weft_tls){ .m = &m0 };
	m0.curg = gp;
	store_relaxed(&sched.allm, NULL);
	list_put(&sched.allm, &m0.all);
	sched.nm = 1;
	store_relaxed(&gp->m, &m0);
	store_relaxed(&gp->shim.status, Grunning);
	store_relaxed(&sched.nglive, 1);
}

static int schedinit_p(struct m *mp)
{
	unsigned ncpu = os_ncpu();

	procresize(weft_opt.procs ? weft_opt.procs : ncpu, ncpu);
	if (!allp[0])
		return -ENOMEM;
	lock(&sched.lock);
	for (struct p **link = &sched.pidle; *link; link = &(*link)->link) {
		if (*link == allp[0]) {
			*link = allp[0]->link;
			fetch_sub_seqcst(&sched.npidle, 1);
			break;
		}
	}
	unlock(&sched.lock);
	acquirep(mp, allp[0]);
	return 0;
}

/* The main G, on M0 and P0. */
static int start_main(void *tls, uint32_t tid)
{
	size_t size;
	struct g *gp;
	void *stack, *fs;

	sched.tight = os_memory_is_limited();
	size = ostack_tight(G0_STACK);
	lot_init();
	sched.starttime = nanotime();
	sched.maxm = (int32_t)weft_opt.maxthreads;
	sched.defstack = weft_opt.stacksize ? weft_opt.stacksize : 8 << 20;
	store_relaxed(&sched.lastpoll, 1);
	store_relaxed(&sched.naps, NAP_TRIES);
	stack = os_alloc(size);
	fs = hooks.newmtls();
	if (!stack || !fs || !m0_sigstack())
		return -ENOMEM;
	gp = g_make();
	if (!gp)
		return -ENOMEM;
	g_main_ = gp;
	gp->shim.goid = fetch_add_relaxed(&sched.goidgen, 1) + 1;
	g_seedids();
	g_setname(gp, "main");
	g_set_tls(gp, tls, tid);
	schedinit_m0(gp, fs, (char *)stack + size);
	cputime_start(gp);
	if (os_has_children()) {
		gp->home = &m0;
		m0.lockedg = gp;
	}
	if (schedinit_p(&m0)) {
		weft_tls = (struct weft_tls){ 0 }; /* no G: every wrapper passes through for good */
		return -ENOMEM;
	}
	trace_start();
	profile_start();
	weft_on = 1;
	return 0;
}

int runtime_start(const struct runtime_hooks *h)
{
	void *tls;
	uint32_t tid;

	hooks = *h;
	if (!probe())
		return -EOPNOTSUPP;
	return hooks.knows_libc(&tls, &tid) ? start_main(tls, tid) : -ECANCELED;
}
