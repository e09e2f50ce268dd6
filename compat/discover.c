/*
 * discover: reads the layout of struct pthread from what libc publishes and from live threads.
 *
 * Two user-stack donors are compared word by word:
 *	the same in both		a constant of every thread: copied into the template
 *	block + k in both		points into its own block: relocated at creation
 *	the stack we gave, its size	where glibc keeps the bounds of the stack
 *	anything else			belongs to that thread: zero in the template
 * The list node, the id, the dtv and the kernel's rseq words are known apart and are never copied:
 *two donors on one CPU have the same cpu_id, and a neighbour in a list may be equal by chance.
 *
 * Rejected: a table of offsets per version: distributions patch, and a wrong offset is silent.
 *
 * Must never: guess.  A field that is found twice is as bad as one that is not found.
 */
#include "compat/discover.h"
#include "compat/stacklist.h"
#include "compat/tcb.h"

#include <string.h>

static bool field_is(const struct db_field *f, uint32_t bits, uint32_t count, size_t limit)
{
	return f->bits == bits && f->count == count && f->offset + bits / 8 * count <= limit;
}

static const char *static_lists(void)
{
	size_t used = libc_data.stack_used->offset, user = libc_data.stack_user->offset;
	char *g = libc_data.rtld_global;

	/* used, user, cache: three list heads; cache size; announced node; lock. */
	if (used + 16 != user || user + 52 > libc_data.rtld_global_size)
		return "stack lists are not where they were";
	layout.used = at(g, (ptrdiff_t)used);
	layout.user = at(g, (ptrdiff_t)user);
	layout.cache = at(g, (ptrdiff_t)user + 16);
	layout.cache_size = at(g, (ptrdiff_t)user + 32);
	layout.in_flight = at(g, (ptrdiff_t)user + 40);
	layout.lock = at(g, (ptrdiff_t)user + 48);
	return NULL;
}

static const char *static_geometry(void)
{
	size_t total, align;

	libc.static_info(&total, &align);
	if (align < 16 || align > 4096 || (align & (align - 1)))
		return "alignment of static TLS";
	if (total < layout.size || total > (1u << 30))
		return "size of static TLS";
	layout.align = align < 64 ? 64 : align;
	layout.below = (total - layout.size + layout.align - 1) & -layout.align;
	if (libc_data.rseq_offset < 0 && (size_t)-libc_data.rseq_offset > layout.below)
		return "rseq area is outside the thread block";
	if (libc_data.rseq_offset > 0 && (size_t)libc_data.rseq_offset + 32 > layout.size)
		return "rseq area is outside the thread block";
	return NULL;
}

const char *discover_static(void)
{
	size_t size = *libc_data.sizeof_pthread;

	memset(&layout, 0, sizeof layout);
	if (libc_data.version < 34)
		return "needs glibc 2.34 or later";
	if (size < 1024 || size > PTHREAD_WORDS_MAX * 8 || size % 8)
		return "size of struct pthread";
	layout.size = size;
	if (!field_is(libc_data.tid, 32, 1, size) || !field_is(libc_data.list, 128, 1, size) ||
	    !field_is(libc_data.cancelhandling, 32, 1, size))
		return "descriptors of struct pthread";
	layout.tid = libc_data.tid->offset;
	layout.list = libc_data.list->offset;
	layout.cancelhandling = libc_data.cancelhandling->offset;
	layout.specific = libc_data.specific->offset;
	/* Published as one field of 2048 bits, or as an array: the product is the same. */
	layout.specific_count = (size_t)libc_data.specific->bits * libc_data.specific->count / 64;
	layout.first_block_size = *libc_data.sizeof_level2;
	if (*libc_data.sizeof_key_data != 16 || layout.first_block_size % 16 ||
	    !layout.specific_count || layout.specific + layout.specific_count * 8 > size)
		return "descriptors of thread keys";
	if (arch_shadow_stack())
		return "shadow stacks are on";
	const char *e = static_lists();

	return e ? e : static_geometry();
}

/*
 * In the child of a fork that went past libc (clone, a system call) the word still has the parent's
 * id.  Libc then owns locks by that number; so it is the word that libc reads, and may be put
 * right.
 */
static bool own_id(int *id)
{
	pthread_mutex_t mu = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	if (*id == sys_gettid())
		return true;
	if (sys_gettid() != sys_getpid() || libc.mutex_lock(&mu) || mu.__data.__owner != *id)
		return false;
	*id = sys_gettid();
	return true;
}

const char *discover_self(struct donors *ds)
{
	char *self = arch_getfs();
	uintptr_t *head = NULL;
	size_t len = 0;
	bool broken = false;
	struct list_node *node = at(self, (ptrdiff_t)layout.list);

	if (*word_at(self, TCBHEAD_TCB) != (uintptr_t)self ||
	    *word_at(self, TCBHEAD_SELF) != (uintptr_t)self)
		return "thread pointer";
	if (!own_id(at(self, (ptrdiff_t)layout.tid)))
		return "thread id";
	if (sys_3(SYS_get_robust_list, 0, &head, &len) || len != 24)
		return "no robust list";
	layout.robust = (size_t)((char *)head - self);
	if (layout.robust < 8 || layout.robust + len > layout.size)
		return "robust list is outside the thread block";
	if (!list_holds(layout.user, node, &broken) && !list_holds(layout.used, node, &broken))
		return "own block is not on a stack list";
	list_holds(layout.cache, node, &broken);
	if (broken)
		return "stack lists are broken";
	if (*layout.in_flight)
		return "a stack is in flight";
	ds->nmodules = tls_static_modules(ds->modules, TLS_MODULES_MAX);
	if (ds->nmodules < 1 || !layout.libc_tls.modid)
		return "libc has no static thread-local storage";
	if (!tls_dtv_matches(self, ds->modules, ds->nmodules))
		return "thread vector of the calling thread";
	return NULL;
}

/* Words that are never part of the template. */
static bool apart(size_t i)
{
	if (i == TCBHEAD_DTV || i - layout.list < sizeof(struct list_node))
		return true;
	return libc_data.rseq_offset > 0 && i + 8 > (size_t)libc_data.rseq_offset &&
	       i < (size_t)libc_data.rseq_offset + 32;
}

static const char *compare_words(const struct donor *a, const struct donor *b)
{
	int stacks = 0, sizes = 0;

	for (size_t w = 0; w < layout.size / 8; w++) {
		uint64_t x = a->words[w], y = b->words[w];
		uint64_t k = x - (uintptr_t)a->block;

		if (apart(w * 8))
			continue;
		if (x == y) {
			layout.words[w] = x;
		} else if (k == y - (uintptr_t)b->block && k < layout.size) {
			if (layout.nself == SELF_WORDS_MAX)
				return "too many words point into the block";
			layout.self_at[layout.nself] = (uint16_t)(w * 8);
			layout.self_to[layout.nself++] = (uint16_t)k;
		} else if (x == (uintptr_t)a->stack && y == (uintptr_t)b->stack) {
			layout.stack = w * 8;
			stacks++;
		} else if (x == a->stack_size && y == b->stack_size) {
			if (layout.stack + 8 != w * 8)
				return "stack size is out of order";
			sizes++;
		}
	}
	/* The id shares its word with constants. */
	memset((char *)layout.words + layout.tid, 0, 4);
	return stacks == 1 && sizes == 1 ? NULL : "stack bounds not found";
}

static bool points(size_t from, size_t to)
{
	for (unsigned i = 0; i < layout.nself; i++)
		if (layout.self_at[i] == from)
			return layout.self_to[i] == to;
	return false;
}

/* What must point into its own block: two words of the header, the robust list, the keys. */
static const char *check_self_words(void)
{
	if (!points(TCBHEAD_TCB, 0) || !points(TCBHEAD_SELF, 0))
		return "thread pointer is not in the header";
	if (!points(layout.robust, layout.robust) || !points(layout.robust - 8, layout.robust))
		return "robust list is not empty at the start";
	for (unsigned i = 0; i < layout.nself; i++)
		if (layout.self_at[i] == layout.specific)
			layout.first_block = layout.self_to[i];
	if (!layout.first_block || layout.first_block + layout.first_block_size > layout.specific)
		return "first block of thread keys";
	return NULL;
}

/* An ordinary thread has a guard; and something in it says that its stack is not the user's. */
static const char *compare_plain(const struct donor *user, const struct donor *plain)
{
	const unsigned char *u = (const void *)user->words, *p = (const void *)plain->words;
	int guards = 0;

	for (size_t w = 0; w < layout.size / 8; w++)
		if (plain->words[w] == plain->guard && !user->words[w])
			guards++;
	if (guards != 2 || plain->words[layout.stack / 8 + 2] != plain->guard ||
	    plain->words[layout.stack / 8 + 3] != plain->guard)
		return "guard sizes not found";
	/* Guard included, and perhaps rounded up: but it must hold the thread's own frame. */
	if (plain->words[layout.stack / 8 + 1] < plain->stack_size ||
	    (uintptr_t)plain->frame - plain->words[layout.stack / 8] >=
		    plain->words[layout.stack / 8 + 1])
		return "stack bounds of an ordinary thread";
	/*
	 * After the keys: the byte that says whether the program gave the stack.  It is 0 or 1, or
	 * since 2.42 one more than the two kinds of guards that libc's own stacks have.
	 */
	for (size_t i = layout.specific + layout.specific_count * 8; i < layout.stack; i++) {
		if (u[i] > p[i] && u[i] <= 2 && u[i] == ((const unsigned char *)layout.words)[i])
			return NULL;
	}
	return "mark of a user's stack not found";
}

static const char *check_donor(const struct donor *d, const struct list_node *head)
{
	bool broken = false;
	size_t reach = (size_t)(d->block - d->frame);

	if (!d->self_ok)
		return "thread pointer of a donor";
	if (!d->dtv_ok)
		return "thread vector of a donor";
	if (*(int *)((char *)d->words + layout.tid) != d->ostid)
		return "thread id of a donor";
	/* It was enabled, deferred and not cancelled. */
	if (*(int *)((char *)d->words + layout.cancelhandling) != 0)
		return "cancellation state of a donor";
	if (!list_holds(head, at(d->block, (ptrdiff_t)layout.list), &broken) || broken)
		return "a donor is not on its stack list";
	/* libc puts the block at the very top of a stack that it was given. */
	if (d->stack && d->block != (char *)(((uintptr_t)d->stack + d->stack_size - layout.size) &
					     -layout.align))
		return "size of struct pthread in a donor";
	/* Its first frames lie right below the static storage. */
	if (d->frame >= d->block || reach + layout.align < layout.below ||
	    reach > layout.below + 8192)
		return "size of static TLS in a donor";
	return NULL;
}

const char *discover_compare(const struct donors *ds)
{
	const char *e;

	if ((e = check_donor(&ds->first, layout.user)) ||
	    (e = check_donor(&ds->second, layout.user)) ||
	    (e = check_donor(&ds->plain, layout.used)) ||
	    (e = compare_words(&ds->first, &ds->second)) || (e = check_self_words()))
		return e;
	return compare_plain(&ds->first, &ds->plain);
}

size_t compat_cond_flags_offset;

const char *discover_cond(void)
{
	union {
		pthread_cond_t cond;
		uint32_t words[sizeof(pthread_cond_t) / 4];
	} c;
	pthread_condattr_t a;
	int found = 0;

	memset(&c, 0, sizeof c);
	if (libc.condattr_init(&a) || libc.condattr_setpshared(&a, PTHREAD_PROCESS_SHARED) ||
	    libc.condattr_setclock(&a, 1 /* CLOCK_MONOTONIC */) || libc.cond_init(&c.cond, &a))
		return "condition variables";
	for (size_t i = 0; i < sizeof c.words / 4; i++)
		if (c.words[i]) {
			compat_cond_flags_offset = i * 4;
			found += c.words[i] == 3 ? 1 : 2;
		}
	libc.cond_destroy(&c.cond);
	return found == 1 ? NULL : "flags of a condition variable";
}

int compat_file_held;

/* A FILE that is nothing but its lock: libc's two functions touch no more. */
const char *discover_file(void)
{
	struct compat_file_lock l = {0};
	FILE f;
	bool held;

	memset(&f, 0, sizeof f);
	f._lock = (void *)&l;
	libc.flockfile(&f);
	compat_file_held = l.count;
	held = l.word && l.owner == arch_getfs();
	libc.funlockfile(&f);
	return held && !l.word && !l.owner && (unsigned)compat_file_held < 2 ? NULL : "lock of a FILE";
}
