/*
 * symbol: finds functions and data of loaded objects by reading their ELF tables.
 *
 * Not by dlsym(): its failure is a text for dlerror(), which is allocated, and freed by the next
 * call.  Those calls of malloc, realloc and free come to this library, perhaps through a slot that
 * is just being filled, and a second dlsym() inside the first frees what the first still writes to.
 * It also takes the loader's lock.  The tables here are read-only memory: a look-up may be made by
 * any thread, in a signal handler, inside an allocator, and leaves no trace.
 *
 * Objects are looked at in the order of the loader's list, which for those that came with the
 * program is the order in which the loader searches them.  What is loaded later stands behind them
 * in the list and is no part of RTLD_NEXT's scope; the first look-up notes where it begins.  The
 * objects before that mark are never unloaded, so the list is read without a lock.
 *
 * Rejected: reading the symbol tables from the files: they may have been replaced on disk since the
 * program started.
 *
 * Must never: call anything but a symbol's own resolver (IFUNC); take a lock; write to anything but
 * the pointers of `objects`.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compat/symbol.h"
#include "runtime/base/atomic.h"

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Weak: the linker then names no second library that we need (check-needed). */
extern struct r_debug _r_debug __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] hidden;

#define OWN_NAME "libweft.so" /* the link gives it (-soname) */

enum { VERSION_INDEX = 0x7fff, VERSION_HIDDEN = 0x8000, VERSION_FIRST = 2 };

/* Every thread that writes a field writes the same value: relaxed. */
static struct {
	struct link_map *self, *libc, *last;
	struct link_map *before, *behind; /* other builds of this library, as seen from here */
} objects;

/* The tables of one object; a missing one is NULL. */
struct tables {
	uintptr_t base;
	const ElfW(Sym) *syms;
	const char *strings;
	const ElfW(Half) *versions;
	const ElfW(Verdef) *definitions;
	const uint32_t *gnu_hash, *sysv_hash;
	ElfW(Word) soname; /* an offset in strings; 0: none */
};

struct wanted {
	const char *name, *version;
	uint32_t gnu_hash;
};

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

/* The loader has added the base to these where the object's dynamic section is writable. */
static const void *pointer(const struct link_map *l, const ElfW(Dyn) *d)
{
	uintptr_t p = d->d_un.d_ptr;

	return (const void *)(p < l->l_addr ? p + l->l_addr : p);
}

static struct tables tables_of(const struct link_map *l)
{
	struct tables t = {.base = l->l_addr};

	for (const ElfW(Dyn) *d = l->l_ld; d && d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB:
			t.syms = pointer(l, d);
			break;
		case DT_STRTAB:
			t.strings = pointer(l, d);
			break;
		case DT_VERSYM:
			t.versions = pointer(l, d);
			break;
		case DT_VERDEF:
			t.definitions = pointer(l, d);
			break;
		case DT_GNU_HASH:
			t.gnu_hash = pointer(l, d);
			break;
		case DT_HASH:
			t.sysv_hash = pointer(l, d);
			break;
		case DT_SONAME:
			t.soname = (ElfW(Word))d->d_un.d_val;
			break;
		}
	}
	return t;
}

static struct wanted want(const char *name, const char *version)
{
	struct wanted w = {.name = name, .version = version, .gnu_hash = 5381};

	for (const unsigned char *c = (const unsigned char *)name; *c; c++)
		w.gnu_hash = w.gnu_hash * 33 + *c;
	return w;
}

/* For objects without the newer table alone. */
static uint32_t sysv_hash(const char *name)
{
	uint32_t h = 0;

	for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
		h = (h << 4) + *c;
		h ^= h >> 24 & 0xf0;
		h &= 0x0fffffff;
	}
	return h;
}

/* Whether the version with this index is the one of that name. */
static bool version_is(const struct tables *t, unsigned index, const char *name)
{
	const ElfW(Verdef) *v = t->definitions;

	while (v) {
		const ElfW(Verdaux) *first = (const void *)((const char *)v + v->vd_aux);

		if ((v->vd_ndx & VERSION_INDEX) == index)
			return same(t->strings + first->vda_name, name);
		v = v->vd_next ? (const void *)((const char *)v + v->vd_next) : NULL;
	}
	return false;
}

/*
 * An object without versions satisfies every version, as in the loader: allocators and tracers are
 * built so.
 */
static bool matches(const struct tables *t, uint32_t i, const struct wanted *w)
{
	const ElfW(Sym) *s = &t->syms[i];
	unsigned version = t->versions ? t->versions[i] : 0;

	if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) == STT_TLS ||
	    ELF64_ST_BIND(s->st_info) == STB_LOCAL || !same(t->strings + s->st_name, w->name))
		return false;
	if (!t->versions || (version & VERSION_INDEX) < VERSION_FIRST)
		return true;
	if (!w->version)
		return !(version & VERSION_HIDDEN);
	return version_is(t, version & VERSION_INDEX, w->version);
}

static const ElfW(Sym) *by_gnu_hash(const struct tables *t, const struct wanted *w)
{
	const uint32_t *h = t->gnu_hash;
	uint32_t nbuckets = h[0], first = h[1], nbloom = h[2], shift = h[3];
	const ElfW(Addr) *bloom = (const void *)(h + 4);
	const uint32_t *buckets = (const void *)(bloom + nbloom), *chain = buckets + nbuckets;
	enum { BITS = 8 * sizeof(*bloom) };
	ElfW(Addr) word = bloom[w->gnu_hash / BITS & (nbloom - 1)];
	uint32_t i;

	if (!nbuckets || !(word >> w->gnu_hash % BITS & word >> (w->gnu_hash >> shift) % BITS & 1))
		return NULL;
	i = buckets[w->gnu_hash % nbuckets];
	if (i < first)
		return NULL;
	/* The lowest bit of an entry says that it is the bucket's last. */
	for (;; i++) {
		uint32_t hash = chain[i - first];

		if ((hash | 1) == (w->gnu_hash | 1) && matches(t, i, w))
			return &t->syms[i];
		if (hash & 1)
			return NULL;
	}
}

static const ElfW(Sym) *by_sysv_hash(const struct tables *t, const struct wanted *w)
{
	const uint32_t *h = t->sysv_hash, *buckets = h + 2, *chain = buckets + h[0];

	for (uint32_t i = h[0] ? buckets[sysv_hash(w->name) % h[0]] : 0; i; i = chain[i])
		if (matches(t, i, w))
			return &t->syms[i];
	return NULL;
}

static bool is_called(const struct tables *t, const char *soname)
{
	return t->soname && t->strings && same(t->strings + t->soname, soname);
}

/* Another build of this library is passed over: its functions are not libc's. */
static bool worth_a_look(const struct tables *t)
{
	return t->syms && t->strings && !is_called(t, OWN_NAME);
}

static void *look_in(const struct tables *t, const struct wanted *w, size_t *size)
{
	const ElfW(Sym) *s = NULL;
	uintptr_t at;

	if (t->gnu_hash)
		s = by_gnu_hash(t, w);
	else if (t->sysv_hash)
		s = by_sysv_hash(t, w);
	if (!s)
		return NULL;
	at = s->st_shndx == SHN_ABS ? s->st_value : t->base + s->st_value;
	if (size)
		*size = s->st_size;
	if (ELF64_ST_TYPE(s->st_info) == STT_GNU_IFUNC)
		at = ((uintptr_t(*)(void))at)();
	return (void *)at;
}

/*
 * Before the first constructor (our object is initialised first) and before any dlopen, which comes
 * through this library: the list ends with the last object that came with the program.
 */
static void __attribute__((constructor)) note_objects(void)
{
	struct link_map *self = NULL, *libc = NULL, *last = NULL;

	if (load_acquire(&objects.last) || !&_r_debug)
		return;
	for (struct link_map *l = _r_debug.r_map; l; l = l->l_next) {
		struct tables t = tables_of(l);

		if (l->l_ld == _DYNAMIC)
			self = l;
		else if (is_called(&t, OWN_NAME))
			*(self ? &objects.behind : &objects.before) = l;
		else if (!libc && is_called(&t, "libc.so.6"))
			libc = l;
		last = l;
	}
	store_relaxed(&objects.self, self);
	store_relaxed(&objects.libc, libc);
	/* Release: the two above are seen with it. */
	store_release(&objects.last, last);
}

static void *search(struct link_map *l, const struct wanted *w, size_t *size)
{
	for (; l; l = l->l_next) {
		struct tables t = tables_of(l);
		void *p = worth_a_look(&t) ? look_in(&t, w, size) : NULL;

		if (p || l == objects.last)
			return p;
	}
	return NULL;
}

void *symbol_first(const char *name)
{
	struct wanted w = want(name, NULL);

	note_objects();
	return &_r_debug ? search(_r_debug.r_map, &w, NULL) : NULL;
}

void *symbol_next(const char *name, const char *version)
{
	struct wanted w = want(name, version);

	note_objects();
	return objects.self && objects.self != objects.last
		       ? search(objects.self->l_next, &w, NULL)
		       : NULL;
}

/* The tables of the first objects are read once for all names; of what stands behind those, for each. */
void symbol_next_all(unsigned n, struct symbol_name (*name)(unsigned), void *(*found)(unsigned, void *))
{
	enum { AT_ONCE = 16 };
	struct tables t[AT_ONCE];
	unsigned have = 0;
	struct link_map *l;

	note_objects();
	l = objects.self && objects.self != objects.last ? objects.self->l_next : NULL;
	while (l && have < AT_ONCE) {
		t[have] = tables_of(l);
		if (worth_a_look(&t[have]))
			have++;
		l = l == objects.last ? NULL : l->l_next;
	}
	for (unsigned i = 0; i < n; i++) {
		struct symbol_name s = name(i);
		struct wanted w = want(s.name, s.version);
		void *p = NULL;

		for (unsigned k = 0; k < have && !p; k++)
			p = look_in(&t[k], &w, NULL);
		found(i, p || !l ? p : search(l, &w, NULL));
	}
}

void *symbol_libc(const char *name, const char *version, size_t *size)
{
	struct wanted w = want(name, version);

	note_objects();
	return search(objects.libc, &w, size);
}

bool symbol_is_second(void)
{
	note_objects();
	return objects.before;
}

const char *symbol_second(void)
{
	note_objects();
	return objects.behind ? objects.behind->l_name : NULL;
}

const void *symbol_loader(void)
{
	return &_r_debug;
}
