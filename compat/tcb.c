/*
 * tcb: the life cycle of a thread block of ours.
 *
 * An area, low to high:
 *
 *	static TLS (layout.below) | struct pthread (layout.size) | struct extra
 *	                          ^ thread pointer, tcb, pthread_t
 *
 * Order at creation: template, list, storage.  Listing before the storage exists closes the race
 *with a concurrent dlopen: it either finds the block on the list and fills it, or our own
 *allocation, which comes later and under the loader's lock, sees the new module.
 *
 * Between two lives the block stays listed and keeps what libc hung on it for good: the resolver
 * state, priority-protection data, getrandom's state, and the allocator's cache (words in libc's
 * static TLS, saved around the fresh initialisation).  Rewriting the whole template instead would
 * leak all of them; keeping all of libc's TLS instead would carry errno and the locale into the next
 * life.  Destroying a block would leak its allocator cache and getrandom's state, so those words go to the
 * next block that is created, or to a thread of libc's own that ends at once and frees them (tcb_bury);
 * priority-protection data (a few hundred bytes, in the rare thread that has them) are lost with their
 * block.
 *
 * Must never: run with a scheduler lock held (the loader's lock and malloc are below).
 */
#include "compat/tcb.h"
#include "compat/broken.h"
#include "compat/glibc.h"
#include "compat/stacklist.h"
#include "runtime/base/atomic.h"

#include <resolv.h>
#include <stdlib.h>
#include <string.h>

struct extra {
	bool has_tls; /* the dtv is allocated; false only after memory ran out between two lives */
};

/* The allocator's words of a destroyed block, and getrandom's, waiting for the next creation. */
struct orphan {
	struct orphan *next;
	uintptr_t word[MALLOC_WORDS_MAX];
};

static struct orphan *orphans;
static int norphans;
static int orphans_lock; /* spin: a few instructions inside, never blocks */

const char *tcb_break;

size_t tcb_area_size(void)
{
	size_t n = layout.below + layout.size + sizeof(struct extra);

	return (n + layout.align - 1) & -layout.align;
}

size_t tcb_area_align(void)
{
	return layout.align;
}

static struct extra *extra_of(struct tcb *t)
{
	return at(t, (ptrdiff_t)layout.size);
}

static struct list_node *node_of(struct tcb *t)
{
	return at(t, (ptrdiff_t)layout.list);
}

static void orphans_enter(void)
{
	while (exchange_acquire(&orphans_lock, 1))
		arch_pause();
}

static void orphans_leave(void)
{
	store_release(&orphans_lock, 0);
}

static void save_malloc(const struct tcb *t, uintptr_t *w)
{
	for (unsigned i = 0; i < layout.malloc_words; i++)
		w[i] = *word_at(t, layout.malloc_word[i]);
}

static void restore_malloc(struct tcb *t, const uintptr_t *w)
{
	for (unsigned i = 0; i < layout.malloc_words; i++)
		*word_at(t, layout.malloc_word[i]) = w[i];
}

/* Moves the words away; without memory for that they are lost, which is a leak and not a fault. */
static void orphan(struct tcb *t)
{
	uintptr_t word[MALLOC_WORDS_MAX], any = 0;
	struct orphan *o;

	save_malloc(t, word);
	for (unsigned i = 0; i < layout.malloc_words; i++)
		any |= word[i] ^ layout.malloc_fresh[i];
	if (!any) /* it never called malloc, nor getrandom */
		return;
	o = broken("orphans") ? NULL : malloc(sizeof *o);
	if (!o)
		return;
	memcpy(o->word, word, sizeof word);
	orphans_enter();
	o->next = orphans;
	orphans = o;
	norphans++;
	orphans_leave();
}

static void adopt(struct tcb *t)
{
	struct orphan *o;

	if (!load_relaxed(&orphans))
		return;
	orphans_enter();
	o = orphans;
	if (o) {
		orphans = o->next;
		norphans--;
	}
	orphans_leave();
	if (!o)
		return;
	restore_malloc(t, o->word);
	free(o);
}

/*
 * The words that the kernel would keep for a registered thread.  -1 makes libc ask the kernel
 * instead: the block moves between kernel threads, whose own blocks are the registered ones.
 */
static void set_rseq(struct tcb *t)
{
	uint32_t *w = at(t, libc_data.rseq_offset);
	size_t words = libc_data.rseq_size > 32 ? 8 : libc_data.rseq_size / 4;

	if (!libc_data.rseq_offset)
		return;
	w[0] = w[2] = w[3] = w[4] = 0;
	w[1] = broken("rseq") ? 0 : (uint32_t)-1;
	for (size_t i = 5; i < words; i++)
		w[i] = 0;
}

static void set_bounds(struct tcb *t, const struct tcb_stack *stk)
{
	uintptr_t *w = word_at(t, (ptrdiff_t)layout.stack);

	if (broken("stackblock"))
		return;
	w[0] = (uintptr_t)stk->base;
	w[1] = stk->size;
	w[2] = stk->guard;
	w[3] = stk->guard;
}

static void set_id(struct tcb *t, uint32_t tid)
{
	if (broken("tid0"))
		tid = 0;
	else if (broken("same_tid"))
		tid = 0x3fffffff;
	tcb_set_tid(t, tid);
}

/* What every life starts with, after fresh storage. */
static void set_life(struct tcb *t, const struct tcb_stack *stk, uint32_t tid)
{
	if (!broken("resp"))
		*word_at(t, layout.resp) = (uintptr_t)at(t, (ptrdiff_t)layout.res);
	else
		*word_at(t, layout.resp) = 0;
	set_rseq(t);
	set_bounds(t, stk);
	set_id(t, tid);
}

static void fill(struct tcb *t)
{
	memcpy(t, layout.words, layout.size);
	for (unsigned i = 0; i < layout.nself; i++)
		*word_at(t, layout.self_at[i]) = (uintptr_t)at(t, layout.self_to[i]);
	if (broken("pointer_guard"))
		*word_at(t, TCBHEAD_POINTER_GUARD) = 0;
	if (broken("robust"))
		*word_at(t, (ptrdiff_t)layout.robust) = 0;
	if (broken("multiple_threads"))
		*(int *)at(t, TCBHEAD_MULTIPLE_THREADS) = 0;
}

struct tcb *tcb_create(void *area, const struct tcb_stack *stk, uint32_t tid)
{
	struct tcb *t = at(area, (ptrdiff_t)layout.below);

	fill(t);
	list_self(node_of(t));
	if (!broken("unlisted") && !broken("list"))
		stacklist_insert(node_of(t));
	if (!libc.allocate_tls(t)) {
		stacklist_remove(node_of(t));
		return NULL;
	}
	if (broken("list"))
		memset(node_of(t), 0, sizeof(struct list_node));
	extra_of(t)->has_tls = true;
	adopt(t);
	set_life(t, stk, tid);
	return t;
}

void tcb_began_on(const struct tcb_stack *stk)
{
	struct tcb *t = tcb_self();

	if (*word_at(t, (ptrdiff_t)layout.stack) != (uintptr_t)stk->base)
		set_bounds(t, stk);
}

void tcb_enter(void)
{
	/* libc's character tables are thread-local pointers; setting the locale fills them. */
	if (!broken("ctype"))
		libc.uselocale(LC_GLOBAL_LOCALE);
}

/* What libc frees at a thread's end, and does not free for a G. */
static void free_strings(struct tcb *t)
{
	for (int i = 0; i < 2; i++) {
		uintptr_t *w = word_at(t, (ptrdiff_t)layout.owned[i]);

		if (!layout.owned[i] || !*w)
			continue;
		free((void *)*w);
		*w = 0;
	}
}

bool tcb_keys_marked(struct tcb *t)
{
	return *(char *)at(t, (ptrdiff_t)layout.specific_used);
}

bool tcb_mark_keys(struct tcb *t, bool used)
{
	char *mark = at(t, (ptrdiff_t)layout.specific_used), was = *mark;

	*mark = used;
	return was;
}

/* Key values beyond the first block live in blocks of their own; the values are gone by now. */
static void free_keys(struct tcb *t)
{
	uintptr_t *block = word_at(t, (ptrdiff_t)layout.specific);

	if (!*(char *)at(t, (ptrdiff_t)layout.specific_used))
		return;
	memset(at(t, (ptrdiff_t)layout.first_block), 0, layout.first_block_size);
	for (size_t i = 1; i < layout.specific_count; i++) {
		free((void *)block[i]);
		block[i] = 0;
	}
	*(char *)at(t, (ptrdiff_t)layout.specific_used) = 0;
}

void tcb_leave(void)
{
	struct tcb *t = tcb_self();
	struct __res_state *res = at(t, (ptrdiff_t)layout.res);

	free_keys(t);
	free_strings(t);
	/* The first call hands out the message of a failed dlopen, if any, the second frees it. */
	if (libc.dlerror())
		libc.dlerror();
	/*
	 * Never on a state that was not used: its socket number is then 0, which is a file of the
	 * program's.
	 */
	if (res->nscount)
		libc.resolver_close(res);
	res->options = 0; /* the next life initialises it again */
}

/*
 * The loader's vector of a block's TLS: [-1] its length, [0] its generation, then one slot a
 * module.
 */
union dtv_slot {
	size_t counter;
	struct {
		void *val, *to_free;
	} pointer;
};

/*
 * What libc does for a thread on a cached stack: the slots emptied, the static images copied again.
 * Half the price of freeing the vector and making another.  False: the last life left blocks of its
 * own (a library loaded late), which only the long way frees.
 *
 * The flag has meant two things, and repairs were carried back: up to 2.40 that images of other
 * namespaces are wanted; since then that the caller is the first thread, before the program runs, and then
 * they are left out, and words of the objects are written that dlopen and dlclose write at the same
 * time.  False brings the images of the first namespace with either; with another there, the long way
 * lets libc give the flag.
 */
static bool renew_tls(struct tcb *t)
{
	union dtv_slot *dtv = *(union dtv_slot **)at(t, TCBHEAD_DTV), *s;
	uintptr_t own = 0;

	if (!libc.init_tls || !extra_of(t)->has_tls || load_relaxed(&layout.other_spaces))
		return false;
	for (s = &dtv[1]; s <= &dtv[dtv[-1].counter]; s++)
		own |= (uintptr_t)s->pointer.to_free;
	if (own)
		return false;
	/*
	 * It resets each module's slot; one without a module is reset when a module gets its
	 * number.
	 */
	if (!libc.init_tls(t, false))
		return false;
	/* What dlmopen added before the loader's lock was ours counts; pairs with tcb_namespace_comes(). */
	return !load_acquire(&layout.other_spaces);
}

void tcb_namespace_comes(void)
{
	store_release(&layout.other_spaces, true);
}

/* 0, or -1: the old storage is intact, only its vector is gone. */
static int replace_tls(struct tcb *t)
{
	if (extra_of(t)->has_tls)
		libc.deallocate_tls(t, false);
	extra_of(t)->has_tls = false;
	if (!libc.allocate_tls(t))
		return -1;
	extra_of(t)->has_tls = true;
	return 0;
}

static void next_life(struct tcb *t, const struct tcb_stack *stk, uint32_t tid)
{
	*tcb_cancelhandling(t) = 0;
	*(uint8_t *)at(t, layout.cancel_disabled.offset) &= (uint8_t)~layout.cancel_disabled.mask;
	*(uint8_t *)at(t, layout.cancel_async.offset) &= (uint8_t)~layout.cancel_async.mask;
	*word_at(t, (ptrdiff_t)layout.jmpbuf) = 0;
	if (layout.cleanup)
		*word_at(t, (ptrdiff_t)layout.cleanup) = 0;
	*(char *)at(t, (ptrdiff_t)layout.specific_used) = 0;
	*(int *)at(t, TCBHEAD_MULTIPLE_THREADS) = 1;
	set_life(t, stk, tid);
}

static int reuse(struct tcb *t, const struct tcb_stack *stk, uint32_t tid, bool fast)
{
	uintptr_t saved[MALLOC_WORDS_MAX];

	save_malloc(t, saved);
	if (!broken("stale_tls") && (fast ? !renew_tls(t) : replace_tls(t)))
		return -1;
	if (!broken("malloc_words"))
		restore_malloc(t, saved);
	next_life(t, stk, tid);
	return 0;
}

int tcb_renew(struct tcb *t, const struct tcb_stack *stk, uint32_t tid)
{
	return reuse(t, stk, tid, true);
}

int tcb_reuse(struct tcb *t, const struct tcb_stack *stk, uint32_t tid)
{
	return reuse(t, stk, tid, false);
}

int tcb_orphans(void)
{
	return load_relaxed(&norphans);
}

void tcb_bury(void)
{
	adopt(tcb_self());
}

void tcb_destroy(struct tcb *t)
{
	stacklist_remove(node_of(t));
	orphan(t);
	if (extra_of(t)->has_tls)
		libc.deallocate_tls(t, false);
	extra_of(t)->has_tls = false;
}

void *tcb_robust_list(struct tcb *t)
{
	return at(t, (ptrdiff_t)layout.robust);
}

uint32_t *tcb_tid_word(struct tcb *t)
{
	return at(t, (ptrdiff_t)layout.tid);
}

uint32_t tcb_tid(const struct tcb *t)
{
	return load_relaxed((uint32_t *)at(t, (ptrdiff_t)layout.tid));
}

void tcb_set_tid(struct tcb *t, uint32_t tid)
{
	store_relaxed((uint32_t *)at(t, (ptrdiff_t)layout.tid), tid);
}

void tcb_fork_child_orphans(void) hidden;
void tcb_fork_child_orphans(void)
{
	/* The holder, if any, does not exist here; its half-done push or pop loses at most one
	 * entry. */
	orphans_lock = 0;
}
