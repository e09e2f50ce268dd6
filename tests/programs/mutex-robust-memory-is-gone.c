/*
 * A thread ends and holds robust mutexes whose memory is no longer what it was: unmapped, made
 * read-only, cleared, or used for something else.  What is there no more is passed over, what does not
 * hold the thread's id stays as it is, and what the thread has locked after it is still seen to have
 * lost its owner.
 */
#include "check.h"
#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096

enum { UNMAPPED, READ_ONLY, CLEARED, FILLED, UNLOCKED, WAYS };
static const char *const ways[WAYS] = { "unmapped", "read-only", "cleared", "filled", "made anew" };

struct held {
	pthread_mutex_t *first, *gone, *last; /* locked in this order */
	int way;
	pthread_mutexattr_t attr;
};

static void take_away(const struct held *h)
{
	switch (h->way) {
	case UNMAPPED:
		CHECK_SYS(munmap(h->gone, PAGE));
		break;
	case READ_ONLY:
		CHECK_SYS(mprotect(h->gone, PAGE, PROT_READ));
		break;
	case CLEARED:
		memset(h->gone, 0, PAGE);
		break;
	case FILLED:
		memset(h->gone, 0x55, PAGE);
		break;
	case UNLOCKED:
		memset(h->gone, 0, PAGE);
		CHECK_OK(pthread_mutex_init(h->gone, &h->attr));
		break;
	}
}

static void *holder(void *arg)
{
	struct held *h = arg;

	CHECK_OK(pthread_mutex_lock(h->first));
	CHECK_OK(pthread_mutex_lock(h->gone));
	CHECK_OK(pthread_mutex_lock(h->last));
	take_away(h);
	return arg;
}

/* Is the memory as it was left? */
static const char *untouched(const struct held *h)
{
	const unsigned char *p = (const unsigned char *)h->gone;

	if (h->way == CLEARED || h->way == FILLED)
		for (int i = 0; i < PAGE; i++)
			if (p[i] != (h->way == CLEARED ? 0 : 0x55))
				return "written to";
	if (h->way == UNLOCKED)
		return pthread_mutex_trylock(h->gone) == 0 ? "free" : "not free";
	return "untouched";
}

static void a_thread_ends(int way, int shared, int protocol)
{
	char *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct held h = { .way = way };
	pthread_t t;

	CHECK(memory != MAP_FAILED);
	h.first = (pthread_mutex_t *)memory;
	h.gone = (pthread_mutex_t *)(memory + PAGE);
	h.last = (pthread_mutex_t *)(memory + 2 * PAGE);
	CHECK_OK(pthread_mutexattr_init(&h.attr));
	CHECK_OK(pthread_mutexattr_setrobust(&h.attr, PTHREAD_MUTEX_ROBUST));
	CHECK_OK(pthread_mutexattr_setpshared(&h.attr, shared));
	CHECK_OK(pthread_mutexattr_setprotocol(&h.attr, protocol));
	CHECK_OK(pthread_mutex_init(h.first, &h.attr));
	CHECK_OK(pthread_mutex_init(h.gone, &h.attr));
	CHECK_OK(pthread_mutex_init(h.last, &h.attr));
	CHECK_OK(pthread_create(&t, NULL, holder, &h));
	CHECK_OK(pthread_join(t, NULL));
	CHECK_EQ(pthread_mutex_lock(h.last), EOWNERDEAD);
	CHECK_OK(pthread_mutex_consistent(h.last));
	CHECK_OK(pthread_mutex_unlock(h.last));
	printf("%s, %s, %s: %s\n", shared ? "shared" : "private",
	       protocol == PTHREAD_PRIO_INHERIT ? "inheriting" : "plain", ways[way], untouched(&h));
}

int main(void)
{
	for (int shared = 0; shared < 2; shared++)
		for (int way = 0; way < WAYS; way++) {
			a_thread_ends(way, shared, PTHREAD_PRIO_NONE);
			a_thread_ends(way, shared, PTHREAD_PRIO_INHERIT);
		}
	return 0;
}
