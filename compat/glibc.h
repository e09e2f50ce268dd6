/*
 * glibc: the libc functions and data that compat/ needs, and the layout it discovered.
 *
 * The library that this is linked into exports pthread_create and its like, so a plain call would
 * come back to the shim.  Every function that could be interposed is reached through the one struct
 * below, filled with the definitions of libc itself.
 *
 * The layout is a set of offsets measured in this process (discover.c, donor.c); no offset of any
 * glibc version is written down anywhere in this directory.
 *
 * Must never: be read before compat_init() succeeded, except by the code that fills it.
 */
#ifndef WEFT_COMPAT_GLIBC_H
#define WEFT_COMPAT_GLIBC_H

#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "compat/sys.h"

struct __res_state; /* resolv.h defines macros over ELF field names: include it only where needed */

struct list_node {
	struct list_node *next;
	struct list_node *prev;
};

/* A descriptor that libc publishes for debuggers: size in bits, number of elements, offset. */
struct db_field {
	uint32_t bits;
	uint32_t count;
	uint32_t offset;
};

struct libc_calls {
	/* threads */
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	int (*join)(pthread_t, void **);
	int (*attr_init)(pthread_attr_t *);
	int (*attr_destroy)(pthread_attr_t *);
	int (*attr_setstack)(pthread_attr_t *, void *, size_t);
	int (*attr_setstacksize)(pthread_attr_t *, size_t);
	int (*attr_setguardsize)(pthread_attr_t *, size_t);
	int (*key_create)(pthread_key_t *, void (*)(void *));
	int (*key_delete)(pthread_key_t);
	int (*setspecific)(pthread_key_t, const void *);
	void *(*getspecific)(pthread_key_t);
	int (*setcancelstate)(int, int *);
	int (*setcanceltype)(int, int *);
	int (*pause)(void);
	void (*register_cancel)(void *);
	void (*unregister_cancel)(void *);
	void (*cleanup_push)(void *, void (*)(void *), void *); /* may be NULL */
	void (*cleanup_pop)(void *, int);			/* may be NULL */
	/* objects, for the smoke test and the condition variable's layout */
	int (*mutexattr_init)(pthread_mutexattr_t *);
	int (*mutexattr_settype)(pthread_mutexattr_t *, int);
	int (*mutexattr_setrobust)(pthread_mutexattr_t *, int);
	int (*mutex_init)(pthread_mutex_t *, const pthread_mutexattr_t *);
	int (*mutex_lock)(pthread_mutex_t *);
	int (*mutex_unlock)(pthread_mutex_t *);
	int (*condattr_init)(pthread_condattr_t *);
	int (*condattr_setpshared)(pthread_condattr_t *, int);
	int (*condattr_setclock)(pthread_condattr_t *, clockid_t);
	int (*cond_init)(pthread_cond_t *, const pthread_condattr_t *);
	int (*cond_destroy)(pthread_cond_t *);
	void (*flockfile)(FILE *);
	void (*funlockfile)(FILE *);
	/* loader and thread-local storage */
	void *(*allocate_tls)(void *);
	void *(*init_tls)(void *, bool); /* may be NULL; the flag: tcb.c */
	void (*deallocate_tls)(void *, bool);
	void (*static_info)(size_t *, size_t *);
	int (*iterate_phdr)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	/* what a thread's end gives back */
	void (*call_tls_dtors)(void);
	char *(*dlerror)(void);
	void (*resolver_close)(struct __res_state *);
	struct __res_state *(*resolver_state)(void);
	locale_t (*uselocale)(locale_t);
	ssize_t (*getrandom)(void *, size_t, unsigned);
	void *(*malloc)(size_t); /* libc's own, even when the program brings another allocator */
	void (*free)(void *);
};

struct libc_data {
	int version; /* minor of 2.minor */
	const char *version_text;
	struct db_field *tid, *list, *cancelhandling, *specific, *stack_used, *stack_user;
	uint32_t *sizeof_pthread, *sizeof_key_data, *sizeof_level2;
	char *rtld_global;
	size_t rtld_global_size;
	ptrdiff_t rseq_offset; /* from the thread pointer; 0: this libc registers none */
	unsigned rseq_size;
};

extern struct libc_calls libc hidden;
extern struct libc_data libc_data hidden;

/* Binds everything above; NULL, or what is missing. */
const char *glibc_bind(void) hidden;

/*
 * The environment; before libc has set environ (.preinit_array), as the loader got it.  May be
 * called before anything is bound.
 */
char **glibc_environ(void) hidden;

/* One module with thread-local storage, as the calling thread sees it. */
struct tls_module {
	size_t modid;
	size_t size;
	size_t align;
	ptrdiff_t
		offset; /* thread pointer minus block start: the same in every thread when static */
};
#define TLS_MODULES_MAX 128

/* A bit of one byte of struct pthread. */
struct flag_bit {
	uint16_t offset;
	uint8_t mask;
};

#define PTHREAD_WORDS_MAX 1024
#define SELF_WORDS_MAX 32
#define MALLOC_WORDS_MAX 5

/* Offsets count from the thread pointer, which is also the address of struct pthread. */
struct layout {
	size_t size; /* of struct pthread */
	size_t list, tid, robust, cancelhandling;
	size_t first_block, first_block_size, specific, specific_count, specific_used;
	size_t cleanup;	 /* 0: this libc exports no old-style cleanup to find it with */
	size_t jmpbuf;	 /* innermost cancellation buffer */
	size_t stack;	 /* block address, size, guard, reported guard: four words in a row */
	size_t res;	 /* the thread's own resolver state */
	size_t owned[2]; /* strings of strerror and strsignal that the block owns; 0: none */
	struct flag_bit cancel_disabled, cancel_async;
	uintptr_t bridge, bridge_end; /* libc's function for calls that are cancellation points, or 0 */
	/* in libc's thread-local block, below the thread pointer: negative */
	ptrdiff_t resp;				 /* pointer to the resolver state in use */
	ptrdiff_t malloc_word[MALLOC_WORDS_MAX]; /* the allocator's cache and arena; getrandom's state */
	uintptr_t malloc_fresh[MALLOC_WORDS_MAX]; /* what a thread has there that has used neither */
	unsigned malloc_words;
	struct tls_module libc_tls;
	bool other_spaces; /* static storage may belong to objects of other namespaces; never false again */
	/* geometry of an area */
	size_t below; /* static TLS under the thread pointer, a multiple of align */
	size_t align;
	/* in ld.so's data */
	struct list_node *used, *user, *cache;
	size_t *cache_size;
	uintptr_t *in_flight;
	int *lock;
	/* what every new block starts as: constant words, and words that point into the block
	 * itself */
	uint64_t words[PTHREAD_WORDS_MAX];
	uint16_t self_at[SELF_WORDS_MAX];
	uint16_t self_to[SELF_WORDS_MAX];
	unsigned nself;
};

extern struct layout layout hidden;

/*
 * Lists the modules whose storage is static, as seen from the calling thread; -1: more than max.  Notes whether
 * other namespaces have any (layout.other_spaces).
 */
int tls_static_modules(struct tls_module *m, int max) hidden;

/* True when every module's entry in the block's dtv is the block's own static storage. */
bool tls_dtv_matches(const char *tp, const struct tls_module *m, int n) hidden;

static inline void *at(const void *tp, ptrdiff_t off)
{
	return (char *)(uintptr_t)tp + off;
}

static inline uintptr_t *word_at(const void *tp, ptrdiff_t off)
{
	return at(tp, off);
}

#endif
