/*
 * A program with a malloc of its own, which is also libc's and the loader's: one list under a
 * pthread mutex, and counts in thread-locals.  Threads allocate, hand memory to each other, are
 * made and joined, print and fork meanwhile: so the lock is waited for in the middle of everything
 * that libc does.
 */
#include "check.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 12, ROUNDS = 150, CLASSES = 40, MAGIC = 0x5ca1ab1e };

/* ---- the allocator: a free list for each power of two ---- */

struct chunk {
	struct chunk *next;
	uint32_t class, magic;
};

static pthread_mutex_t heap = PTHREAD_MUTEX_INITIALIZER;
static struct chunk *lists[CLASSES];
static atomic_long lent;
static _Thread_local long here; /* static thread-local storage: no allocation */

static struct chunk *from_kernel(unsigned class)
{
	size_t n = (size_t)1 << class;
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* By another name: a compiler knows what malloc and memset are together. */
static __attribute__((noinline)) void *get(size_t n)
{
	unsigned class = 5;
	struct chunk *c;

	while (((size_t)1 << class) < n + sizeof *c)
		if (++class >= CLASSES) {
			errno = ENOMEM;
			return NULL;
		}
	pthread_mutex_lock(&heap);
	c = lists[class];
	if (c) {
		lists[class] = c->next;
	} else if (class >= 14) {
		c = from_kernel(class);
	} else {
		char *big = (char *)from_kernel(16);

		for (size_t at = (size_t)1 << class; big && at < 65536; at += (size_t)1 << class) {
			c = (struct chunk *)(big + at);
			c->next = lists[class];
			lists[class] = c;
		}
		c = (struct chunk *)big;
	}
	pthread_mutex_unlock(&heap);
	if (!c) {
		errno = ENOMEM;
		return NULL;
	}
	c->class = class;
	c->magic = MAGIC;
	lent++;
	here++;
	return c + 1;
}

void *malloc(size_t n)
{
	return get(n);
}

void free(void *p)
{
	struct chunk *c = (struct chunk *)p - 1;

	if (!p)
		return;
	if (c->magic != MAGIC)
		abort();
	c->magic = 0;
	pthread_mutex_lock(&heap);
	c->next = lists[c->class];
	lists[c->class] = c;
	pthread_mutex_unlock(&heap);
	lent--;
	here--;
}

void *calloc(size_t n, size_t size)
{
	size_t all;
	void *p;

	if (__builtin_mul_overflow(n, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	p = get(all);
	return p ? memset(p, 0, all) : NULL;
}

void *realloc(void *p, size_t n)
{
	struct chunk *c = (struct chunk *)p - 1;
	size_t old = p ? ((size_t)1 << c->class) - sizeof *c : 0;
	void *q;

	if (p && n <= old)
		return p;
	q = get(n);
	if (q && p) {
		memcpy(q, p, old);
		free(p);
	}
	return q;
}

/* Aligned memory is cut by hand and never given back. */
void *memalign(size_t align, size_t n)
{
	char *p = get(n + align + 2 * sizeof(struct chunk));
	struct chunk *c;
	uintptr_t at;

	if (!p || (uintptr_t)p % align == 0)
		return p;
	at = ((uintptr_t)p + sizeof *c + align - 1) & ~(uintptr_t)(align - 1);
	c = (struct chunk *)at - 1;
	*c = (struct chunk){NULL, 5, MAGIC}; /* its free makes it one of the smallest */
	return (void *)at;
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	*out = memalign(align, n);
	return *out ? 0 : ENOMEM;
}

size_t malloc_usable_size(void *p)
{
	return p ? ((size_t)1 << ((struct chunk *)p - 1)->class) - sizeof(struct chunk) : 0;
}

/* ---- what uses it ---- */

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static char *passed_on[64];
static atomic_int stop;

static void *short_lived(void *arg)
{
	long had = here;
	char *p = malloc(3000);

	CHECK(p);
	CHECK_EQ(here - had, 1); /* the allocator's own thread-local is this thread's */
	memset(p, 1, 3000);
	return p ? memcpy(p, &arg, sizeof arg) : NULL;
}

static void *uses(void *arg)
{
	long n = (long)arg;
	unsigned x = (unsigned)n + 1;

	for (int i = 0; i < ROUNDS; i++) {
		char *p, *text = NULL;

		x = x * 1103515245 + 12345;
		CHECK(p = malloc(x / 65536 % 5000 + 8));
		snprintf(p, 8, "%d", i);
		CHECK_OK(pthread_mutex_lock(&mu));
		free(passed_on[x / 65536 % 64]);
		passed_on[x / 65536 % 64] = p;
		CHECK_OK(pthread_mutex_unlock(&mu));
		switch (n % 4) {
		case 0:
			p = join(spawn(short_lived, arg));
			CHECK(!memcmp(p, &arg, sizeof arg));
			free(p);
			break;
		case 1:
			CHECK(asprintf(&text, "%d %s", i, "text") > 5);
			CHECK_EQ(atoi(text), i);
			free(text);
			sched_yield();
			break;
		case 2:
			usleep(10);
			break;
		case 3:
			sched_yield();
			break;
		}
	}
	return arg;
}

/* The program's handlers keep the allocator whole for its children, as such programs do. */
static void before(void)
{
	pthread_mutex_lock(&heap);
}

static void after(void)
{
	pthread_mutex_unlock(&heap);
}

static void *forks(void *arg)
{
	while (!stop) {
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (!pid) {
			for (long i = 0; i < 4; i++)
				free(join(spawn(short_lived, (void *)i)));
			_exit(3);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 3 << 8);
		usleep(2000);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS], f;

	CHECK_OK(pthread_atfork(before, after, after));
	for (int round = 0; round < 3; round++) {
		stop = 0;
		f = spawn(forks, NULL);
		for (long i = 0; i < THREADS; i++)
			t[i] = spawn(uses, (void *)i);
		for (int i = 0; i < THREADS; i++)
			CHECK_EQ((long)join(t[i]), i);
		stop = 1;
		join(f);
	}
	CHECK(lent > 0);
	passed("an allocator of the program's under threads and forks");
	return 0;
}
