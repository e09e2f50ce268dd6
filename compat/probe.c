/*
 * probe: fields of struct pthread that show only when their thread acts.
 *
 * A donor calls libc on itself and compares its block before and after.  A probe that changes
 * anything but the one thing it is about fails: then this libc keeps state that we do not
 * understand.
 *
 * Everything is undone: a donor leaves as it came.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "compat/donor.h"
#include "compat/mainarena.h"

#include <limits.h>
#include <resolv.h>
#include <string.h>

struct diff {
	int n;
	size_t at; /* of the last byte that differs */
	uint8_t was, is;
};

static bool inside(size_t i, size_t from, size_t n)
{
	return i - from < n;
}

/* Compares the calling thread's block with its copy, except for key storage and the kernel's rseq
 * words. */
static struct diff compare(const unsigned char *before, const unsigned char *now)
{
	struct diff d = {0};

	for (size_t i = 0; i < layout.size; i++) {
		if (before[i] == now[i] || inside(i, layout.first_block, layout.first_block_size) ||
		    inside(i, layout.specific, layout.specific_count * sizeof(void *)) ||
		    (libc_data.rseq_offset > 0 && inside(i, (size_t)libc_data.rseq_offset, 64)))
			continue;
		d.n++;
		d.at = i;
		d.was = before[i];
		d.is = now[i];
	}
	return d;
}

bool compat_some_key(pthread_key_t *key, bool *ours)
{
	*ours = libc.key_create(key, NULL) == 0;
	if (*ours)
		return true;
	for (*key = 0; *key < PTHREAD_KEYS_MAX; ++*key)
		if (libc.setspecific(*key, NULL) == 0)
			return true;
	return false;
}

static const char *probe_keys(unsigned char *before, const unsigned char *self)
{
	pthread_key_t key;
	struct diff d;
	bool ours;
	int e;

	if (!compat_some_key(&key, &ours))
		return "no usable thread key";
	memcpy(before, self, layout.size);
	e = libc.setspecific(key, &key);
	d = compare(before, self);
	if (libc.getspecific(key) != &key)
		e = -1;
	libc.setspecific(key, NULL);
	if (ours)
		libc.key_delete(key);
	if (e || d.n != 1 || d.was != 0 || d.is != 1)
		return "mark of used keys not found";
	if (d.at < layout.specific + layout.specific_count * sizeof(void *))
		return "mark of used keys is out of order";
	layout.specific_used = d.at;
	return NULL;
}

static const char *probe_flag(unsigned char *before, const unsigned char *self,
			      int (*set)(int, int *), int value, struct flag_bit *bit)
{
	struct diff d;
	int old, junk;

	memcpy(before, self, layout.size);
	if (set(value, &old))
		return "cancellation state cannot be set";
	d = compare(before, self);
	set(old, &junk);
	if (d.n != 1 || (d.was ^ d.is) != d.is || (d.is & (d.is - 1)))
		return "cancellation state is not one bit";
	bit->offset = (uint16_t)d.at;
	bit->mask = d.is;
	return NULL;
}

/* The one word in the block that holds p, or 0. */
static size_t find_word(const void *self, const void *p)
{
	size_t found = 0;

	for (size_t i = 0; i < layout.size; i += 8) {
		if (*word_at(self, (ptrdiff_t)i) != (uintptr_t)p)
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

static void nothing(void *arg)
{
	(void)arg;
}

static const char *probe_cleanup(const void *self)
{
	/* Both are libc's structures; larger than any it has, and zero as it expects. */
	void *buf[32] = {NULL}, *old[8] = {NULL};

	libc.register_cancel(buf);
	layout.jmpbuf = find_word(self, buf);
	libc.unregister_cancel(buf);
	if (!layout.jmpbuf)
		return "cancellation buffer not found";
	if (!libc.cleanup_push || !libc.cleanup_pop)
		return NULL;
	libc.cleanup_push(old, nothing, NULL);
	layout.cleanup = find_word(self, old);
	libc.cleanup_pop(old, 0);
	return layout.cleanup ? NULL : "cleanup list not found";
}

/*
 * The allocator's words in libc's thread-local block: what the first malloc and free of a thread
 * set.  None, where even this block is a mapping of its own (a mmap_threshold of a few bytes): a thread
 * then keeps nothing (since 2.43; before, it has an empty cache).
 */
static const char *probe_malloc(const char *self)
{
	enum { MAPPED = 2 };
	static uintptr_t before[512];
	size_t n = layout.libc_tls.size / sizeof(uintptr_t);
	const char *tls = self - layout.libc_tls.offset;
	ptrdiff_t arena;
	bool mapped;
	size_t *p;

	if (n > 512)
		return "libc's thread-local storage is too large";
	/* Which arena the thread has is set already (mainarena.c). */
	if (mainarena_word(&arena))
		layout.malloc_word[layout.malloc_words++] = arena;
	memcpy(before, tls, n * sizeof(uintptr_t));
	p = libc.malloc(24);
	mapped = p && p[-1] & MAPPED; /* the word before a block is its size */
	libc.free(p);
	for (size_t i = 0; i < n; i++) {
		if (*word_at(tls, (ptrdiff_t)i * 8) == before[i])
			continue;
		if (layout.malloc_words == MALLOC_WORDS_MAX)
			return "too many allocator words";
		layout.malloc_fresh[layout.malloc_words] = before[i];
		layout.malloc_word[layout.malloc_words++] =
			(ptrdiff_t)i * 8 - layout.libc_tls.offset;
	}
	return mapped || layout.malloc_words > mainarena_word(&arena) ? NULL : "allocator words not found";
}

bool compat_random;

/*
 * getrandom's state, memory of the kernel's making to which the thread block points from the first call on.  Before
 * 2.41 there is none, and the call would be one of the kernel's that a filter may forbid.
 */
static const char *probe_random(unsigned char *before, const unsigned char *self)
{
	enum { NONBLOCK = 1 };
	struct diff d, in_word = {0};
	char some;

	if (libc_data.version < 41)
		return NULL;
	memcpy(before, self, layout.size);
	libc.getrandom(&some, 1, NONBLOCK);
	d = compare(before, self);
	if (!d.n) /* a kernel that has none, or gives none */
		return NULL;
	for (size_t i = d.at & -sizeof(uintptr_t); i < (d.at | 7) + 1; i++) {
		in_word.n += before[i] != self[i];
		in_word.was |= before[i];
	}
	if (in_word.n != d.n || in_word.was || layout.malloc_words == MALLOC_WORDS_MAX)
		return "state of random numbers not found";
	layout.malloc_word[layout.malloc_words++] = (ptrdiff_t)(d.at & -sizeof(uintptr_t));
	compat_random = true;
	return NULL;
}

/* libc's thread-local pointer to the resolver state, and the state itself inside the block. */
static const char *probe_resolver(const char *self)
{
	uintptr_t state = (uintptr_t)libc.resolver_state();
	int found = 0;

	if (!inside(state, (uintptr_t)self, layout.size - sizeof(struct __res_state)))
		return "resolver state is not in the thread block";
	layout.res = state - (uintptr_t)self;
	for (ptrdiff_t i = 0; i + 8 <= (ptrdiff_t)layout.libc_tls.size; i += 8) {
		if (*word_at(self, i - layout.libc_tls.offset) != state)
			continue;
		layout.resp = i - layout.libc_tls.offset;
		found++;
	}
	return found == 1 ? NULL : "resolver pointer not found";
}

/*
 * strerror and strsignal keep the string for an unknown number in the block, and a thread's end
 * frees it. A libc that keeps it elsewhere has nothing to free here.
 */
static const char *probe_strings(const void *self)
{
	layout.owned[0] = find_word(self, strerror(100000));
	layout.owned[1] = find_word(self, strsignal(100000));
	return NULL;
}

const char *probe_run(void)
{
	static unsigned char before[PTHREAD_WORDS_MAX * 8];
	const void *self = arch_getfs();
	const char *e;

	/*
	 * The allocator first: the value of a thirty-third key makes libc allocate for this thread,
	 * and then its first words would be set already.
	 */
	if ((e = probe_resolver(self)) || (e = probe_malloc(self)) ||
	    (e = probe_keys(before, self)) ||
	    (e = probe_flag(before, self, libc.setcancelstate, PTHREAD_CANCEL_DISABLE,
			    &layout.cancel_disabled)) ||
	    (e = probe_flag(before, self, libc.setcanceltype, PTHREAD_CANCEL_ASYNCHRONOUS,
			    &layout.cancel_async)) ||
	    (e = probe_cleanup(self)) || (e = probe_strings(self)) || (e = probe_random(before, self)))
		return e;
	return NULL;
}
