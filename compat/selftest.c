/*
 * selftest: proves, step by step, that the layout is what this libc uses, before anything is
 *written.
 *
 *	0  the kernel keeps the list of robust mutexes that libc registered; emulators of user
 *	   programs (qemu-user) do not, and a filter may refuse it.  No filter refuses the calls
 *	   without which a step could not be ended
 *	1  symbols and descriptors are there and consistent
 *	2  the calling thread's own block agrees with them, and with the kernel
 *	3  three live threads agree; every field is found exactly once
 *	4  an ordinary thread that ended is on the cache list, and the cache grew by its stack; or
 *	   its stack is gone
 *	5  libc itself contends for the word that we take for its list lock
 *	6  a block of ours, between two inaccessible pages, is listed and its vector is right
 *	7  a child that shares our memory runs libc on that block (smoke.c)
 *	8  the block is taken off the list again
 *
 * Up to step 5 nothing is written except by libc to its own data, and the one lock word by
 * compare-and-swap from free.  A failed step leaves the process as it was: plain pthreads.
 */
#include "compat/tcb.h"
#include "compat/broken.h"
#include "compat/discover.h"
#include "compat/mainarena.h"
#include "compat/rseqfield.h"
#include "compat/selftest.h"
#include "compat/stacklist.h"
#include "runtime/base/atomic.h"

#include <errno.h>
#include <string.h>

void (*compat_call_tls_dtors)(void);
void (*compat_register_cancel)(void *unwind_buf);
void (*compat_unregister_cancel)(void *unwind_buf);

static char why[160];

const char *compat_why(void)
{
	return why;
}

static void say(const char *part)
{
	size_t n = strlen(why), m = strlen(part);

	if (n + m >= sizeof why)
		m = sizeof why - 1 - n;
	memcpy(why + n, part, m);
	why[n + m] = 0;
}

/*
 * Step 5.  We hold the word by a bare compare-and-swap; a donor creates a thread, and libc must
 * come to this word, mark it contended and sleep on it.  The bound is generous because the machine
 * may be busy; a word that is not the lock is noticed at once, when the creation finishes without
 * it.
 */
static const char *prove_lock(struct donors *ds)
{
	struct sys_patience patience = sys_patience(UINT64_C(5000000000));
	int v = 0, looks = 0;
	bool contended = false;

	if (!cas_acquire(layout.lock, &v, 1))
		return "stack list lock is not free";
	donor_send(&ds->first, DONOR_CREATE);
	while (!contended && sys_patient(&patience)) {
		contended = load_relaxed(layout.lock) == 2;
		/* The creator's second step: it came through without the lock. */
		if (!contended && load_acquire(&ds->first.ready) >= 2)
			break;
		if (!contended)
			sys_look_again(looks);
		if (!contended && ++looks % 500 == 0 && donors_hang())
			break; /* on another lock, unless it has come to this one just now */
	}
	contended = load_relaxed(layout.lock) == 2;
	stacklist_unlock();
	if (!donor_await(&ds->first, 2))
		return DONOR_HANGS;
	if (ds->first.create_result)
		return "self-test: no thread could be made";
	return contended ? NULL : "stack list lock is not where it was";
}

/* Whether the page at p is part of no mapping. */
static bool unmapped(const void *p)
{
	unsigned char in_core;

	return sys_3(SYS_mincore, (uintptr_t)p & -4096UL, 4096, &in_core) == -ENOMEM;
}

/*
 * Step 4.  The cache has a limit (glibc.pthread.stack_cache_size): where the stack is too large for
 * it, libc gives the memory back, and cache and size are as before.
 */
static const char *prove_cache(struct donors *ds)
{
	struct list_node *n = at(ds->plain.block, (ptrdiff_t)layout.list);
	size_t before = *layout.cache_size, grown;
	bool broken = false, cached;

	if (donor_join(&ds->plain))
		return "a donor cannot be joined";
	cached = list_holds(layout.cache, n, &broken);
	grown = cached ? ds->plain.words[layout.stack / 8 + 1] : 0;
	if (list_holds(layout.used, n, &broken) || broken || !(cached || unmapped(n)))
		return "an ended thread is not in the stack cache";
	if (*layout.cache_size != before + grown)
		return "size of the stack cache";
	return NULL;
}

static const char *prove_gone(struct donors *ds)
{
	struct list_node *a = at(ds->first.block, (ptrdiff_t)layout.list);
	struct list_node *b = at(ds->second.block, (ptrdiff_t)layout.list);
	bool broken = false;

	if (donor_join(&ds->first) || donor_join(&ds->second))
		return "a donor cannot be joined";
	if (list_holds(layout.user, a, &broken) || list_holds(layout.user, b, &broken) || broken)
		return "an ended thread is still listed";
	return NULL;
}

static const char *donors_run(struct donors *ds)
{
	const char *e;

	if (donor_start(&ds->first) || donor_start(&ds->plain))
		return "self-test: no thread could be made";
	mainarena_find(ds->first.block);
	if ((e = prove_lock(ds)) || (e = discover_compare(ds)))
		return e;
	/* The second has not called malloc yet: its first call must be the probe's. */
	donor_send(&ds->second, DONOR_PROBE);
	if (!donor_await(&ds->second, 2))
		return DONOR_HANGS;
	if (ds->second.probe_failed)
		return ds->second.probe_failed;
	if ((e = bridge_probe(&ds->second, 3)))
		return e;
	/* From 2.36 the state is a bit of the cancellation word itself. */
	if (libc_data.version >= 36 && (layout.cancel_disabled.offset != layout.cancelhandling ||
					layout.cancel_async.offset != layout.cancelhandling))
		return "cancellation word";
	if ((e = prove_cache(ds)))
		return e;
	return prove_gone(ds);
}

/* Steps 6 to 8. */
static const char *try_block(struct donors *ds)
{
	enum { PAGE = 4096 };
	size_t n = tcb_area_size(), room = (n + PAGE - 1) & -PAGE;
	char *map = sys_map(room + 2 * PAGE), *area;
	struct tcb_stack stk = {.base = map, .size = room, .guard = 0};
	struct tcb *t;
	const char *e = NULL;
	bool bad = false;

	if (!map)
		return "self-test: no memory";
	/* The high end is flush with the inaccessible page: writing past the block faults. */
	sys_3(SYS_mprotect, map, PAGE, 0);
	sys_3(SYS_mprotect, map + PAGE + room, PAGE, 0);
	area = map + PAGE + (room - n) / layout.align * layout.align;
	t = tcb_create(area, &stk, 0x10000000);
	if (!t) {
		sys_unmap(map, room + 2 * PAGE);
		return "self-test: no memory";
	}
	if (!list_holds(layout.user, at(t, (ptrdiff_t)layout.list), &bad) || bad)
		e = "test block is not listed";
	else if (!tls_dtv_matches((char *)t, ds->modules, ds->nmodules))
		e = "thread vector of the test block";
	else
		e = smoke_run(t);
	tcb_destroy(t);
	sys_unmap(map, room + 2 * PAGE);
	return e;
}

/*
 * Step 0.  Libc runs without this list and never says so; we find its place in the thread block by
 * it.
 */
static bool kernel_keeps_robust_list(void)
{
	void *head = NULL;
	size_t len = 0;

	return !sys_3(SYS_get_robust_list, 0, &head, &len) && head;
}

/*
 * Calls that cannot fail so unless a filter refuses them: a donor that cannot be woken from its
 * sleep is waited for without end, and a child that cannot be waited for still runs on our memory
 * when that goes.
 */
static const char *refused(void)
{
	int status;

	if (sys_3(SYS_tgkill, sys_getpid(), sys_gettid(), 0))
		return "tgkill";
	if (sys_4(SYS_wait4, sys_getpid(), &status, 1 /* WNOHANG */, NULL) != -ECHILD)
		return "wait4";
	return NULL;
}

static const char *run(void)
{
	const char *e = glibc_bind();
	struct donors *ds;

	if (e || (e = discover_static()))
		return e;
	ds = donors_new();
	if (!ds)
		return "self-test: no memory";
	e = discover_self(ds);
	if (!e)
		e = donors_run(ds);
	if (!e)
		e = discover_cond();
	if (!e)
		e = discover_file();
	if (!e)
		e = try_block(ds);
	donors_end(ds);
	return e;
}

int compat_init(void)
{
	uint64_t mask;
	const char *e;

	why[0] = 0;
	if (!kernel_keeps_robust_list()) {
		say("robust lists: the kernel keeps none for this process, as under an emulator or a filter");
		return -1;
	}
	e = refused();
	if (e) {
		say(e);
		say(": refused, and the self-test needs it");
		return -1;
	}
	mask = sys_sigmask(SYS_MASK_ALL);
	e = run();
	sys_sigmask(mask);
	if (e) {
		/* What the system refused is not libc's fault. */
		if (strncmp(e, "self-test: ", sizeof "self-test: " - 1)) {
			say("glibc ");
			say(libc_data.version_text ? libc_data.version_text : "(unknown)");
			say(" unsupported: ");
		}
		say(e);
		return -1;
	}
	/* The caller's block becomes a G's, and will move. */
	if (!broken("main_rseq"))
		rseq_off(tcb_self());
	compat_call_tls_dtors = libc.call_tls_dtors;
	compat_register_cancel = libc.register_cancel;
	compat_unregister_cancel = libc.unregister_cancel;
	tcb_cancel_at = (ptrdiff_t)layout.cancelhandling;
	/* Since 2.41 a request is one bit; before, the sender also marks it as under way. */
	tcb_cancel_request_bits = libc_data.version >= 41 ? 8 : 8 | 4;
	tcb_join_checks = libc_data.version >= 41;
	tcb_join_acts = libc_data.version >= 43;
	return 0;
}
