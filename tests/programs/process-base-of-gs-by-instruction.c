/*
 * Who has asked whether the kernel lets it (HWCAP2_FSGSBASE) may set the base of GS by an instruction.
 * It stays with the thread that set it, however threads wait, yield and take turns, and goes to the
 * threads that it makes.
 */
#include "check.h"

#include <stdint.h>
#include <sys/auxv.h>

enum { THREADS = 6, TURNS = 400 };

#ifdef __x86_64__
static int can;

static uintptr_t base(void)
{
	uintptr_t b = 0;

	if (can)
		__asm__ volatile("rdgsbase %0" : "=r"(b));
	return b;
}

static void set_base(uintptr_t b)
{
	if (can)
		__asm__ volatile("wrgsbase %0" : : "r"(b));
}
#else
static int can;
static uintptr_t base(void) { return 0; }
static void set_base(uintptr_t b) { (void)b; }
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *child(void *arg)
{
	CHECK(base() == (can ? (uintptr_t)arg : 0));
	return NULL;
}

static void *changes(void *arg)
{
	uintptr_t mine = (uintptr_t)arg;
	struct timespec some = { 0, 50000 };
	volatile unsigned n = 0;
	pthread_t t;

	for (int i = 0; i < TURNS; i++) {
		uintptr_t now = mine + (uintptr_t)i * 4096;

		set_base(now);
		if (i % 4 == 0)
			sched_yield();
		else if (i % 4 == 1)
			nanosleep(&some, NULL);
		else if (i % 4 == 2)
			for (int k = 0; k < 50000; k++)
				n += (unsigned)k;
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		CHECK(base() == (can ? now : 0));
		if (i % 100 == 0) {
			CHECK(pthread_create(&t, NULL, child, (void *)now) == 0);
			CHECK(pthread_join(t, NULL) == 0);
			CHECK(base() == (can ? now : 0));
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];

	can = (getauxval(AT_HWCAP2) & 2) != 0;
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&t[i], NULL, changes, (void *)((uintptr_t)(i + 1) << 32)) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	puts("each thread has its own");
	return 0;
}
