/*
 * g: pools of free Gs and their stacks.
 */
#include "tests/unit/world.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

static void nobody(struct g *gp)
{
	(void)gp;
}

static int dropped;

static void drop(void *tls)
{
	(void)tls;
	dropped++;
}

static bool no_leftovers(void)
{
	return false;
}

static void one(void)
{
	world(1);
	hooks.gmain = nobody;
	hooks.dropblock = drop;
	hooks.leftovers = no_leftovers;
}

TestSuite(g, .init = one, .timeout = 60);

static const struct gattr usual = { .stacksize = 64 << 10, .guardsize = 4096, .tlsarea = 4096 };

static struct g *new_g(const struct gattr *a)
{
	int err;

	return g_new(a, &err);
}

/* Those with the first shape that was asked for, or with the nth after it. */
static int local_of(int class)
{
	return allp[0]->gfree[class].n;
}

static int local(void)
{
	return local_of(0);
}

static int common(void)
{
	return sched.gclass[0].free.n;
}

static int length(const struct gfreelist *l)
{
	int n = 0;

	for (struct g *gp = l->head; gp; gp = gp->schedlink)
		n++;
	return n;
}

/* The count and the list say the same. */
static void lists_are_sound(void)
{
	for (int i = 0; i < NCLASS; i++) {
		cr_assert_eq(length(&allp[0]->gfree[i]), allp[0]->gfree[i].n);
		cr_assert_eq(length(&sched.gclass[i].free), sched.gclass[i].free.n);
	}
}

Test(g, at_64_free_ones_33_leave_and_31_stay)
{
	struct g *gs[64];

	for (int i = 0; i < 64; i++)
		cr_assert(gs[i] = new_g(&usual));
	for (int i = 0; i < 63; i++)
		g_free(gs[i]);
	cr_expect_eq(local(), 63);
	cr_expect_eq(common(), 0);
	g_free(gs[63]);
	cr_expect_eq(local(), 31);
	cr_expect_eq(common(), 33);
	lists_are_sound();
}

Test(g, an_empty_list_takes_32_from_the_global_one)
{
	struct g *gs[100];

	for (int i = 0; i < 100; i++)
		gs[i] = new_g(&usual);
	for (int i = 0; i < 100; i++)
		g_free(gs[i]);
	g_cachefree(allp[0]);
	cr_expect_eq(local(), 0);
	cr_expect_eq(common(), 100);
	new_g(&usual);
	cr_expect_eq(local(), 31, "32, of which one is taken");
	cr_expect_eq(common(), 68);
	lists_are_sound();
}

Test(g, a_free_one_is_used_again_with_its_stack)
{
	char name[16];
	struct g *a = new_g(&usual), *b;
	char *base = a->stack.base;
	uint64_t id = a->shim.goid;

	g_setname(a, "former");
	g_free(a);
	b = new_g(&usual);
	cr_expect_eq(a, b);
	cr_expect_eq(b->stack.base, base);
	cr_expect_gt(b->shim.goid, id, "but it is another thread");
	g_getname(b, name);
	cr_expect_str_eq(name, "");
	cr_expect_null(b->shim.thread);
	cr_expect_eq(load_seqcst(&sched.nallgs), 1);
}

Test(g, each_shape_has_lists_of_its_own)
{
	struct gattr big = usual, bigger = usual;
	struct g *a, *b, *c;

	g_free(new_g(&usual));
	big.stacksize = 1 << 20;
	bigger.stacksize = 2 << 20;
	a = new_g(&big);
	b = new_g(&bigger);
	g_free(a);
	g_free(b);
	cr_expect_eq(local(), 1, "none of them among the first ones");
	cr_expect_eq(local_of(1), 1);
	cr_expect_eq(local_of(2), 1);
	c = new_g(&big);
	cr_expect_eq(c, a);
	cr_expect_eq(new_g(&bigger), b);
	cr_expect_neq(new_g(&big), a, "taken already");
	lists_are_sound();
}

/* More shapes than there are classes: the rest are found by their size. */
Test(g, any_number_of_shapes_is_used_again)
{
	enum { N = 3 * NCLASS };
	struct gattr a = usual;
	struct g *gs[N];

	for (int i = 0; i < N; i++) {
		a.stacksize = usual.stacksize + (size_t)i * 4096;
		gs[i] = new_g(&a);
	}
	for (int i = 0; i < N; i++)
		g_free(gs[i]);
	lists_are_sound();
	for (int i = 0; i < N; i++) {
		a.stacksize = usual.stacksize + (size_t)i * 4096;
		cr_expect_eq(new_g(&a), gs[i]);
	}
	lists_are_sound();
}

/* A guard that cannot be set, say: the struct is good for any shape that comes. */
Test(g, one_without_a_stack_takes_any)
{
	struct gattr big = usual;
	struct g *gp = g_make();

	g_bare(gp);
	big.stacksize = 1 << 20;
	cr_expect_eq(new_g(&big), gp);
	g_free(gp);
	cr_expect_eq(local(), 1);
	lists_are_sound();
}

/* The same slot in all, but more of it guard: of the usual size, and of another. */
Test(g, a_guard_as_asked_is_part_of_the_shape)
{
	struct gattr narrow = usual, wide = usual;
	struct shape n, w;
	struct g *a;

	for (int i = 0; i < 2; i++) {
		wide.stacksize = narrow.stacksize - 8192;
		wide.guardsize = narrow.guardsize + 8192;
		cr_assert_eq(stack_shape(&narrow, &n), 0);
		cr_assert_eq(stack_shape(&wide, &w), 0);
		cr_assert_eq(n.size, w.size);
		a = new_g(&narrow);
		g_free(a);
		cr_expect_neq(new_g(&wide), a);
		cr_expect_eq(new_g(&narrow), a);
		narrow.stacksize = 1 << 20;
	}
}

/* Both fit the same slot; the second life must not be told the first one's end. */
Test(g, a_slot_used_again_has_the_size_that_was_asked_for_now)
{
	struct gattr one_more = usual;
	struct gmemory mem;
	struct g *gp;

	for (int i = 0; i < 2; i++) {
		struct gattr first = one_more;

		one_more.stacksize -= 64;
		gp = new_g(&first);
		g_free(gp);
		cr_expect_eq(new_g(&one_more), gp);
		mem = g_memory(gp);
		cr_expect_eq(mem.size - mem.guard, one_more.stacksize);
		cr_expect_eq(gp->stack.top, (char *)mem.stack + mem.size);
		one_more.stacksize = 1 << 20; /* the second time not of the usual size */
	}
}

Test(g, the_programs_own_stack_is_used_and_given_back)
{
	size_t n = 128 << 10;
	char *mine = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *other = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gattr own = { .stack = mine, .stacksize = n, .tlsarea = 4096 };
	struct gmemory mem;
	struct g *gp;

	cr_assert_neq(mine, MAP_FAILED);
	gp = new_g(&own);
	mem = g_memory(gp);
	cr_expect_eq(mem.stack, mine);
	cr_expect_eq(mem.size, n);
	cr_expect_eq(mem.guard, 0);
	cr_expect(gp->sp > (uintptr_t)mine && gp->sp < (uintptr_t)mine + n);
	cr_expect((char *)mem.area + 4096 <= mine || (char *)mem.area >= mine + n,
		  "the thread block is not in the program's memory");
	g_free(gp);
	own.stack = other;
	cr_expect_eq(new_g(&own), gp);
	cr_expect_eq(gp->stack.base, other, "the former owner's memory is forgotten");
}

/* ---- stacks ---- */

Test(g, one_without_pages_begins_on_the_stack_of_one_that_is_over)
{
	struct gattr less = usual;
	struct g *over = new_g(&usual), *gp;
	char *hot = over->stack.slot, *cold;

	less.stacksize -= 64;
	gp = new_g(&less);
	cold = gp->stack.slot;
	cr_expect_eq(gp->sp, 0);
	over->stack.used = true;
	g_begin(allp[0], gp, over);
	cr_expect_eq(gp->stack.slot, hot);
	cr_expect_eq(g_memory(gp).stack, hot);
	cr_expect_eq(gp->stack.top, hot + g_memory(gp).size);
	cr_expect(gp->stack.used && stack_is_whole(&gp->stack));
	cr_expect(gp->sp > (uintptr_t)hot && gp->sp < (uintptr_t)gp->stack.top);
	cr_expect_eq(over->stack.slot, cold);
	cr_expect(!over->stack.used && stack_is_whole(&over->stack));
	g_free(over);
	g_free(gp);
	cr_expect(new_g(&usual)->sp != 0, "it has pages");
}

Test(g, a_stack_that_was_told_stays)
{
	struct g *over = new_g(&usual), *gp = new_g(&usual);
	char *told = g_memory_told(gp).stack;

	over->stack.used = true;
	g_begin(allp[0], gp, over);
	cr_expect_eq(gp->stack.base, told);
	cr_expect_eq(g_memory(gp).stack, told);
}

Test(g, what_was_told_of_one_that_is_over_stays_until_it_is_free)
{
	struct g *over = new_g(&usual), *gp = new_g(&usual);
	char *slot = gp->stack.slot, *told = g_memory_told(over).stack;

	over->stack.used = true;
	g_begin(allp[0], gp, over);
	cr_expect_eq(gp->stack.slot, slot);
	cr_expect_eq(g_memory(over).stack, told);
	over->drop = true;
	gp = new_g(&usual);
	g_begin(allp[0], gp, over);
	cr_expect_eq(gp->stack.slot, told);
}

Test(g, only_a_stack_of_the_same_shape_is_taken_over)
{
	struct gattr wide = usual, own = usual;
	struct g *over, *gp = new_g(&usual);
	char *slot = gp->stack.slot;

	wide.guardsize = 8192;
	over = new_g(&wide);
	over->stack.used = true;
	g_begin(allp[0], gp, over);
	cr_expect_eq(gp->stack.slot, slot);
	own.stack = mmap(NULL, own.stacksize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(own.stack, MAP_FAILED);
	over = new_g(&own);
	gp = new_g(&usual);
	slot = gp->stack.slot;
	g_begin(allp[0], gp, over);
	cr_expect_eq(gp->stack.slot, slot);
	cr_expect_eq(over->stack.base, own.stack);
}

Test(g, a_stack_is_writable_as_far_as_asked)
{
	struct gmemory mem = g_memory(new_g(&usual));

	cr_expect_geq(mem.size - mem.guard, usual.stacksize);
	cr_expect_eq(mem.guard, 4096);
	memset((char *)mem.stack + mem.guard, 0x5a, mem.size - mem.guard);
	memset(mem.area, 0x5a, usual.tlsarea);
	cr_expect_eq((uintptr_t)mem.area % 64, 0);
	for (size_t i = mem.guard; i < mem.size; i++)
		cr_assert_eq(((char *)mem.stack)[i], 0x5a);
}

Test(g, below_a_stack_is_a_guard, .signal = SIGSEGV)
{
	struct g *gp = new_g(&usual);

	*(volatile char *)gp->stack.base = 1;
}

Test(g, a_guard_by_mprotect_is_a_guard_too, .signal = SIGSEGV)
{
	struct g *gp;

	os_faultinject(1u << OS_guard, 0);
	os_guard_init();
	gp = new_g(&usual);
	*(volatile char *)(gp->stack.slot + 4095) = 1;
}

Test(g, neighbours_do_not_overlap)
{
	enum { N = 200 };
	struct g *gs[N];

	for (int i = 0; i < N; i++) {
		gs[i] = new_g(&usual);
		memset(gs[i]->stack.slot + 4096, i, gs[i]->stack.size - 4096);
		memset(gs[i]->area, ~i, usual.tlsarea);
	}
	for (int i = 0; i < N; i++) {
		for (size_t k = 4096; k < gs[i]->stack.size; k += 512)
			cr_assert_eq(gs[i]->stack.slot[k], (char)i);
		for (size_t k = 0; k < usual.tlsarea; k += 512)
			cr_assert_eq(gs[i]->area[k], (char)~i);
	}
}

Test(g, a_thread_block_goes_without_its_neighbours)
{
	/* Of 4,928 bytes, as with glibc 2.36: pages are shared, of two or of one with the rest of a page. */
	struct gattr a = { .tlsarea = 77 * 64, .tlsalign = 64 };
	struct g gs[40] = { 0 };

	for (size_t k = 0; k < nelem(gs); k++) {
		cr_assert(tlsarea_alloc(&gs[k], &a));
		memset(gs[k].area, (int)k + 1, a.tlsarea);
	}
	for (size_t gone = 0; gone < nelem(gs); gone++) {
		size_t i = gone * 7 % nelem(gs);

		tlsarea_discard(&(struct g *){ &gs[i] }, 1);
		gs[i].areas = NULL; /* no more */
		for (size_t k = 0; k < nelem(gs); k++)
			for (size_t at = 0; at < a.tlsarea; at += 64)
				cr_assert_eq(gs[k].area[at], (char)(gs[k].areas ? k + 1 : 0));
	}
}

Test(g, a_thread_block_comes_back_beside_one_that_goes)
{
	struct gattr a = { .tlsarea = 77 * 64, .tlsalign = 64 };
	struct g gs[8] = { 0 };

	for (size_t k = 0; k < nelem(gs); k++)
		cr_assert(tlsarea_alloc(&gs[k], &a));
	for (size_t k = 0; k < nelem(gs); k++)
		tlsarea_discard(&(struct g *){ &gs[k] }, 1);
	for (size_t k = 0; k < nelem(gs); k += 2) {
		char *was = gs[k].area;

		cr_assert(tlsarea_alloc(&gs[k], &a));
		cr_expect_eq(gs[k].area, was);
		memset(gs[k].area, (int)k + 1, a.tlsarea);
	}
	for (size_t k = 1; k < nelem(gs); k += 2)
		tlsarea_discard(&(struct g *){ &gs[k] }, 1);
	for (size_t k = 0; k < nelem(gs); k++)
		for (size_t at = 0; at < a.tlsarea; at += 64)
			cr_assert_eq(gs[k].area[at], (char)(k % 2 ? 0 : k + 1));
}

Test(g, a_thread_block_has_the_alignment_that_it_needs)
{
	/* The first says how large all are. */
	static const size_t aligns[] = { 65536, 8192, 4096, 128, 64, 0 };

	for (size_t i = 0; i < nelem(aligns); i++) {
		size_t align = aligns[i] ? aligns[i] : 64;
		struct gattr a = { .tlsarea = 10 * align, .tlsalign = aligns[i] };
		struct g gs[5] = { 0 };

		for (size_t k = 0; k < nelem(gs); k++) {
			cr_assert(tlsarea_alloc(&gs[k], &a));
			cr_expect_eq((uintptr_t)gs[k].area % align, 0);
			memset(gs[k].area, (int)k + 1, a.tlsarea);
		}
		for (size_t k = 0; k < nelem(gs); k++) {
			cr_expect_eq(gs[k].area[0], (char)(k + 1));
			cr_expect_eq(gs[k].area[a.tlsarea - 1], (char)(k + 1));
		}
	}
}

/* ---- giving back ---- */

static long resident(void *p, size_t n)
{
	static unsigned char pages[4096];
	long count = 0;

	cr_assert_leq(n / 4096, sizeof(pages));
	cr_assert_eq(mincore(p, n, pages), 0);
	for (size_t i = 0; i < n / 4096; i++)
		count += pages[i] & 1;
	return count;
}

/* As sysmon and maker would: what was not used between two looks goes. */
static void some_looks(void)
{
	for (int i = 0; i < 3; i++) {
		g_cachefree(allp[0]);
		gfree_cool();
		while (scavenge_step())
			;
	}
	lists_are_sound();
}

Test(g, of_many_that_ended_a_few_keep_their_place_and_none_its_memory)
{
	enum { N = 300, KEPT = 64 };
	struct g *gs[N];
	int kept = 0;

	for (int i = 0; i < N; i++) {
		gs[i] = new_g(&usual);
		memset(gs[i]->stack.slot + 4096, 1, usual.stacksize);
		gs[i]->stack.used = true;
		memset(gs[i]->area, 1, usual.tlsarea);
		gs[i]->shim.fs = gs[i]->area;
	}
	for (int i = 0; i < N; i++)
		g_free(gs[i]);
	some_looks();
	for (int i = 0; i < N; i++) {
		if (gs[i]->stack.slot) {
			kept++;
			cr_expect_eq(resident(gs[i]->stack.slot + 4096, usual.stacksize), 0);
			cr_expect_eq(gs[i]->area[0], 1, "its thread block stays");
		} else {
			cr_expect_null(g_tls(gs[i]));
			cr_expect_eq(gs[i]->area[0], 0, "still to be read, and empty");
		}
	}
	cr_expect_eq(kept, KEPT);
	cr_expect_eq(dropped, N - KEPT);
	cr_expect_eq(load_seqcst(&sched.nspare), N - KEPT);
	cr_expect_not(gfree_unscavenged(), "nothing is left to be done");
	for (int i = 0; i < N; i++)
		cr_assert(new_g(&usual));
	cr_expect_eq(load_seqcst(&sched.nallgs), N, "all of them live again");
}

Test(g, what_is_used_between_two_looks_keeps_its_memory)
{
	struct g *gs[10];

	for (int i = 0; i < 10; i++) {
		gs[i] = new_g(&usual);
		gs[i]->stack.slot[8192] = 1;
		gs[i]->stack.used = true;
	}
	for (int i = 0; i < 10; i++)
		g_free(gs[i]);
	for (int round = 0; round < 5; round++) {
		g_cachefree(allp[0]);
		gfree_cool();
		while (scavenge_step())
			;
		for (int i = 0; i < 10; i++)
			gs[i] = new_g(&usual);
		for (int i = 0; i < 10; i++)
			g_free(gs[i]);
	}
	for (int i = 0; i < 10; i++)
		cr_expect_eq(gs[i]->stack.slot[8192], 1);
}

Test(g, a_chunk_of_which_all_are_bare_goes_back_and_comes_again)
{
	enum { N = 3 * GCHUNK };
	static struct g *gs[N];
	static char *area[N];
	static char mine[65536];
	struct gattr own = { .stack = mine, .stacksize = sizeof(mine), .tlsarea = 4096 };
	uint32_t live = 0;

	for (int i = 0; i < N; i++) {
		gs[i] = new_g(&own);
		area[i] = gs[i]->area;
		gs[i]->shim.goid = 7;
	}
	for (int i = 0; i < N; i++)
		g_bare(gs[i]);
	cr_expect_eq(load_seqcst(&sched.nspare), N);
	for (uint32_t i = 0; i < N; i++) {
		cr_assert_eq(g_at(i), gs[i], "late readers find the place");
		cr_assert_eq(gs[i]->shim.goid, 0, "and nothing there");
		live += galive(gs[i]);
	}
	cr_expect_eq(live, 0);
	for (uint32_t i = 0; i < N; i++) {
		struct g *gp = new_g(&own);

		cr_assert_eq(gp, gs[i]);
		cr_assert_eq(gp->allgidx, i);
		cr_assert_eq(gp->area, area[i]);
	}
	cr_expect_eq(load_seqcst(&sched.nspare), 0);
	new_g(&own);
	cr_expect_eq(load_seqcst(&sched.nallgs), N + 1);
}

/* With no limit twice as many each time; with one, or when all is filled at once, no more than used. */
Test(g, what_is_reserved_is_little_more_than_what_is_used)
{
	struct reservation r = { 0 };
	struct rlimit limit;
	uint32_t largest = 0;

	for (int i = 0; i < 1000; i++) {
		cr_assert(reservation_cut(&r, 4096, 0));
		cr_assert_leq(r.left, (uint32_t)i);
		largest = r.left > largest ? r.left : largest;
	}
	cr_expect_eq(largest, 63);
	reservation_trim(&r);
	cr_expect_eq(r.left, 0);
	runtime_memory_filled(true);
	cr_assert(reservation_cut(&r, 4096, 0));
	cr_expect_eq(r.left, 0);
	runtime_memory_filled(false);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = (rlim_t)1 << 40;
	setrlimit(RLIMIT_AS, &limit);
	for (int i = 0; i < 10; i++) {
		cr_assert(reservation_cut(&r, 4096, 0));
		cr_expect_eq(r.left, 0);
	}
}

static bool can_be_read(const char *p)
{
	int fds[2];
	bool can;

	cr_assert_eq(pipe(fds), 0);
	can = write(fds[1], p, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return can;
}

static uint32_t pieces_ready(const struct reservation *r)
{
	uint32_t n = 0;

	for (int i = 0; i < RESERVATION_READY; i++)
		n += r->ready[i].n;
	return n;
}

static void every_piece_has_its_guard(void)
{
	struct reservation r = { 0 };

	for (int i = 0; i < 200; i++) {
		char *p = reservation_cut(&r, 16384, 4096);

		cr_assert(p);
		cr_expect_not(can_be_read(p), "piece %d", i);
		cr_expect(can_be_read(p + 4096));
		cr_expect(can_be_read(p + 16384 - 1));
		cr_assert_leq(pieces_ready(&r), (uint32_t)(i / 2 + 1));
	}
	/* Another guard in pieces of the same size: what is there already is not used. */
	for (int i = 0; i < 20; i++) {
		char *p = reservation_cut(&r, 16384, i & 1 ? 0 : 8192);

		cr_assert(p);
		cr_expect_eq(can_be_read(p), i & 1);
		cr_expect_eq(can_be_read(p + 4096), i & 1);
		cr_expect(can_be_read(p + 8192));
	}
	reservation_trim(&r);
	cr_expect_eq(pieces_ready(&r), 0);
}

static struct reservation shared;

static void *cuts(void *arg)
{
	enum { PIECES = 300 };
	static _Thread_local char *mine[PIECES];

	for (int i = 0; i < PIECES; i++) {
		mine[i] = reservation_cut(&shared, 16384, 4096);
		if (!mine[i] || can_be_read(mine[i]))
			return NULL;
		*(void **)(mine[i] + 4096) = &mine[i];
	}
	for (int i = 0; i < PIECES; i++)
		if (*(void **)(mine[i] + 4096) != &mine[i])
			return NULL;
	return arg;
}

/* Guards are made without the lock: no piece is another's, none is without its guard, and what is left over is kept. */
Test(g, threads_that_cut_at_once_have_pieces_of_their_own)
{
	enum { THREADS = 8 };
	pthread_t t[THREADS];
	void *right;

	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, cuts, &shared), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &right);
		cr_expect_eq(right, &shared);
	}
	cr_expect_leq(pieces_ready(&shared), RESERVATION_READY * 16);
	reservation_trim(&shared);
	cr_expect_eq(pieces_ready(&shared), 0);
}

Test(g, every_piece_has_its_guard)
{
	every_piece_has_its_guard();
}

Test(g, every_piece_has_its_guard_where_each_is_a_system_call)
{
	os_faultinject(1u << OS_hints, 0);
	every_piece_has_its_guard();
}

Test(g, every_piece_has_its_guard_where_each_is_a_mapping)
{
	os_faultinject(1u << OS_guard, 0);
	os_guard_init();
	every_piece_has_its_guard();
}

/* ---- ids, names, the table of all Gs ---- */

Test(g, ids_are_unique_and_never_a_kernel_id)
{
	uint32_t last = 0;

	store_seqcst(&sched.tidsafe, UINT64_MAX);
	for (int i = 0; i < 100000; i++) {
		uint32_t id = g_nextid();

		cr_assert_gt(id, last);
		cr_assert_geq(id, 0x10000000);
		cr_assert_leq(id, 0x3fffffff); /* FUTEX_TID_MASK */
		last = id;
	}
}

/* After all ids have been used once those of threads that live are left out. */
Test(g, ids_begin_again_but_for_those_in_use)
{
	enum { RANGE = 0x3fffffff - 0x10000000, LIVING = 200 };
	static struct g *gs[LIVING];

	for (int i = 0; i < LIVING; i++) {
		gs[i] = new_g(&usual);
		store_seqcst(&gs[i]->shim.status, Gwaiting);
		gs[i]->shim.tid = 0x10000000 + (uint32_t)i * 37;
	}
	gs[0]->shim.tid = 0x3ffffffe; /* the last there is */
	store_seqcst(&sched.tidgen, RANGE - 100);
	store_seqcst(&sched.tidsafe, RANGE - 100);
	for (int i = 0; i < 300000; i++) {
		uint32_t id = g_nextid();

		cr_assert_geq(id, 0x10000000);
		cr_assert_leq(id, 0x3ffffffe);
		for (int k = 0; k < LIVING; k++)
			cr_assert_neq(id, gs[k]->shim.tid);
	}
	cr_expect_lt(load_seqcst(&sched.tidgen), (uint64_t)RANGE + 400000, "little is left out");
}

Test(g, a_p_that_slept_through_all_ids_forgets_those_that_it_kept)
{
	uint32_t kept;

	g_seedids();
	kept = g_nextid();
	fetch_add_seqcst(&sched.tidgen, 0x3fffffff - 0x10000000);
	store_seqcst(&sched.tidsafe, UINT64_MAX);
	cr_expect_neq(g_nextid(), kept + 1);
}

Test(g, a_long_name_is_cut_not_overrun)
{
	struct g *gp = new_g(&usual);
	char name[16];

	g_setname(gp, "a name that is far too long");
	g_getname(gp, name);
	cr_expect_str_eq(name, "a name that is ");
}

Test(g, the_table_grows_by_chunks_and_never_moves)
{
	enum { N = 3 * GCHUNK + 5 };
	static struct g *gs[N];

	for (uint32_t i = 0; i < N; i++) {
		gs[i] = g_make();
		cr_assert(gs[i]);
		cr_assert_eq(gs[i]->allgidx, i);
	}
	for (uint32_t i = 0; i < N; i++)
		cr_assert_eq(g_at(i), gs[i]);
	cr_expect_null(g_at(4 * GCHUNK));
	cr_expect_null(g_at(UINT32_MAX));
}
