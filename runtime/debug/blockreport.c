/*
 * blockreport: where kernel threads of the program blocked without our seeing (WEFT=blockreport=1),
 * printed at exit.
 *
 * It tells why a program needs so many kernel threads, and which call weft should know.  blocked.c
 * reports each block it found when it took the P, and its end.  A site is the system call and the
 * calls that led to it, found on the stack as for a dump (backtrace.c): module+offset, innermost
 * first.  Blocks shorter than two of sysmon's looks are not seen, and a length is known to the
 * nearest look: to a millisecond or so.
 *
 * The table is bounded; what finds no room is counted together.  sysmon alone writes it.  The
 * printer reads it while sysmon may still write: a line may then be one block short.
 *
 * Must never: be on without the option (a walk of a stack costs tens of microseconds).
 */
#include "runtime/debug/backtrace.h"

enum {
	SITES = 256,
	CALLS = 6,      /* of one chain */
	LINES = 40,     /* printed */
	SITE_NONE = -1,
};

struct site {
	long nr;                        /* system call, or as os_where says */
	uintptr_t call[CALLS];          /* 0: no more */
	_Atomic uint64_t count, total, max;
};

static struct site *sites;              /* sysmon makes it */
static _Atomic int nsites;
static struct site rest;                /* for which there was no room */
static struct backtrace maps;
static bool have_maps;

static void chain_of(struct g *gp, const struct os_where *w, uintptr_t call[CALLS])
{
	uintptr_t top = (uintptr_t)gp->stack.top;
	int n = 1;

	call[0] = w->pc;
	/* Modules come and go: read again when an address is in none. */
	if (!have_maps || !backtrace_knows(&maps, w->pc)) {
		if (have_maps)
			backtrace_close(&maps);
		have_maps = backtrace_open(&maps);
	}
	if (have_maps && w->sp)
		n += backtrace_calls(&maps, w->sp, top, call + 1, CALLS - 1);
	while (n < CALLS)
		call[n++] = 0;
}

int blockreport_begin(struct g *gp, const struct os_where *w)
{
	struct site s = { .nr = w->nr };
	int n = load_acquire(&nsites);

	if (!sites)
		sites = os_alloc(SITES * sizeof(*sites));
	if (!sites)
		return SITE_NONE;
	chain_of(gp, w, s.call);
	for (int i = 0; i < n; i++) {
		bool same = sites[i].nr == s.nr;

		for (int k = 0; same && k < CALLS; k++)
			same = sites[i].call[k] == s.call[k];
		if (same)
			return i;
	}
	if (n == SITES)
		return SITE_NONE;
	sites[n].nr = s.nr;
	for (int k = 0; k < CALLS; k++)
		sites[n].call[k] = s.call[k];
	store_release(&nsites, n + 1);
	return n;
}

void blockreport_end(int site, uint64_t ns)
{
	struct site *s = site == SITE_NONE ? &rest : &sites[site];

	fetch_add_relaxed(&s->count, 1);
	fetch_add_relaxed(&s->total, ns);
	if (ns > load_relaxed(&s->max))
		store_relaxed(&s->max, ns);
}

void blockreport_fork_child(void)
{
	/* The child's own from here on; the mappings of the parent are the child's too. */
	store_relaxed(&nsites, 0);
	store_relaxed(&rest.count, 0);
	store_relaxed(&rest.total, 0);
	store_relaxed(&rest.max, 0);
	if (sites)
		os_free(sites, SITES * sizeof(*sites));
	sites = NULL;
	/* sysmon may have been reading them. */
	have_maps = false;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_figures(struct outbuf *o, struct site *s)
{
	weft_print(o, "weft[%d]: blockreport: %6lu times, %8lu ms in all, %6lu ms at most:", os_getpid(),
		   load_relaxed(&s->count), load_relaxed(&s->total) / 1000000,
		   load_relaxed(&s->max) / 1000000);
}

static void print_site(struct outbuf *o, struct backtrace *b, struct site *s)
{
	const char *name = s->nr >= 0 ? os_syscall_name(s->nr) : NULL;

	print_figures(o, s);
	if (name)
		weft_print(o, " %s", name);
	else if (s->nr >= 0)
		weft_print(o, " system call %ld", s->nr);
	else
		weft_print(o, s->nr == OS_UNKNOWN ? " the kernel does not tell where" : " page fault");
	if (s->call[0])
		weft_print(o, " at");
	for (int k = 0; k < CALLS && s->call[k]; k++)
		backtrace_place(b, o, s->call[k]);
	weft_print(o, "\n");
}

/* The one with the largest total below limit; NULL: none. */
static struct site *next_site(const uint64_t *totals, const bool *done, int n)
{
	int best = -1;

	for (int i = 0; i < n; i++)
		if (!done[i] && (best < 0 || totals[i] > totals[best]))
			best = i;
	return best < 0 ? NULL : &sites[best];
}

static void __attribute__((destructor)) at_exit(void)
{
	struct outbuf o = OUTBUF_INIT;
	uint64_t totals[SITES], blocks = 0, ns = 0;
	int n = load_acquire(&nsites), lines = 0;
	bool done[SITES] = { false };
	struct backtrace b;
	struct site *s;

	if (!weft_on || !weft_opt.blockreport)
		return;
	blocked_report_open();
	if (!backtrace_open(&b))
		b = (struct backtrace){ 0 };
	for (int i = 0; i < n; i++) {
		totals[i] = load_relaxed(&sites[i].total);
		blocks += load_relaxed(&sites[i].count);
		ns += totals[i];
	}
	blocks += load_relaxed(&rest.count);
	ns += load_relaxed(&rest.total);
	weft_print(&o, "weft[%d]: blockreport: %lu times a thread blocked unseen, %lu ms in all, at %d places\n",
		   os_getpid(), blocks, ns / 1000000, n);
	while (lines++ < LINES && (s = next_site(totals, done, n))) {
		done[s - sites] = true;
		if (load_relaxed(&s->count))
			print_site(&o, &b, s);
	}
	if (load_relaxed(&rest.count)) {
		print_figures(&o, &rest);
		weft_print(&o, " elsewhere\n");
	}
	weft_flush(&o);
	backtrace_close(&b);
}
