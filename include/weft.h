/*
 * weft.h: what a program may ask of weft when it happens to run under it.
 *
 * Optional: weft runs unmodified programs, and a program that uses this header runs without weft as
 * well.  Nothing needs to be linked; `pkg-config --cflags weft` is all.
 *
 *	const char *version = weft_version();
 *	if (version)
 *		printf("running under weft %s\n", version);
 *
 * Each function looks for its namesake in the process and says so when there is none.  Weak
 * references were rejected: the linker settles them to "none" in executables that are not position
 * independent.
 */
#ifndef WEFT_H
#define WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

#include <stddef.h>

/* What weft_counters() tells.  Later versions have more at the end. */
struct weft_counters {
	unsigned long threads;         /* that live */
	unsigned long procs;           /* Ps: so many threads run at one time */
	unsigned long idle_procs;      /* of them have nothing to run */
	unsigned long kernel_threads;  /* that run threads, or may */
	unsigned long idle_kernel_threads;
	unsigned long queued;          /* threads that wait for a P in the queue of all; each P has one of its own */
	unsigned long runs;            /* how often a P began to run a thread, since the start; wraps */
	unsigned long syscalls;        /* system calls that may wait, since the start; wraps */
};

#ifdef WEFT_IMPLEMENTATION /* weft itself; never defined by a program */

#define WEFT_API __attribute__((visibility("default")))

WEFT_API const char *weft_version(void);
WEFT_API int weft_threads(void);
WEFT_API int weft_procs(int n);
WEFT_API int weft_lock_thread(void);
WEFT_API void weft_unlock_thread(void);
WEFT_API void weft_yield(void);
WEFT_API size_t weft_counters(struct weft_counters *to, size_t size);
WEFT_API int weft_dump(int fd);
WEFT_API void weft_label(const char *text);

#else

#include <dlfcn.h>

/* Looked for once in each place that calls. */
#define weft_find_(name)                                                                           \
	static void *at_;                                                                          \
	void *found_ = __atomic_load_n(&at_, __ATOMIC_RELAXED);                                    \
	if (!found_) {                                                                             \
		found_ = dlsym((void *)0, name); /* 0: RTLD_DEFAULT, which needs _GNU_SOURCE */    \
		if (!found_)                                                                       \
			found_ = (void *)&at_; /* there is none */                                 \
		__atomic_store_n(&at_, found_, __ATOMIC_RELAXED);                                  \
	}                                                                                          \
	if (found_ != (void *)&at_)                                                                \
	*(void **)&fn = found_

/* "0.1.0", a static string; NULL without weft. */
static inline const char *weft_version(void)
{
	const char *(*fn)(void) = NULL;

	weft_find_("weft_version");
	return fn ? fn() : NULL;
}

/* Threads that live; 0 without weft, or before the first pthread_create(). */
static inline int weft_threads(void)
{
	int (*fn)(void) = NULL;

	weft_find_("weft_threads");
	return fn ? fn() : 0;
}

/*
 * As Go's GOMAXPROCS: sets how many threads may run at one time, and returns how many it was; n below 1 only asks.
 * Threads that run on a P that goes give way within a slice.  0 without weft, or before the first pthread_create(),
 * where n holds from then on; -1: not changed, as no memory is left or the program has locked all its threads to kernel
 * threads (seccomp, setns and their like).
 */
static inline int weft_procs(int n)
{
	int (*fn)(int) = NULL;

	weft_find_("weft_procs");
	return fn ? fn(n) : 0;
}

/*
 * As Go's LockOSThread: until weft_unlock_thread() the calling thread runs on the kernel thread that it is on now, and
 * nothing else does: for what the kernel or a library keeps for each kernel thread.  Nests.  0; -1: it is no thread
 * of weft's, and so is on its own kernel thread anyway, as without weft.
 */
static inline int weft_lock_thread(void)
{
	int (*fn)(void) = NULL;

	weft_find_("weft_lock_thread");
	return fn ? fn() : -1;
}

static inline void weft_unlock_thread(void)
{
	void (*fn)(void) = NULL;

	weft_find_("weft_unlock_thread");
	if (fn)
		fn();
}

/* As Go's Gosched: others run first.  Nothing without weft, where sched_yield() does much the same under weft. */
static inline void weft_yield(void)
{
	void (*fn)(void) = NULL;

	weft_find_("weft_yield");
	if (fn)
		fn();
}

/*
 * Fills in what fits in size, sizeof(*to), and returns how many bytes that were; 0 without weft, or before the first
 * pthread_create().  What is counted while it changes is true to within what changes meanwhile.
 */
static inline size_t weft_counters(struct weft_counters *to, size_t size)
{
	size_t (*fn)(struct weft_counters *, size_t) = NULL;

	weft_find_("weft_counters");
	return fn ? fn(to, size) : 0;
}

/*
 * Writes every thread and what it waits for to a descriptor, as text for people (option dumpsig).  A descriptor that
 * takes no more ends it.  0; -1 without weft, before the first pthread_create(), or for no descriptor.
 */
static inline int weft_dump(int fd)
{
	int (*fn)(int) = NULL;

	weft_find_("weft_dump");
	return fn ? fn(fd) : -1;
}

/*
 * What the calling thread works on, for dumps and profiles.  The text is not copied: it must stay until the label
 * is another or NULL, or the thread has ended.  Of what is longer than 63 bytes the rest is not shown.
 */
static inline void weft_label(const char *text)
{
	void (*fn)(const char *) = NULL;

	weft_find_("weft_label");
	if (fn)
		fn(text);
}

#undef weft_find_
#endif

#ifdef __cplusplus
}
#endif
#endif
