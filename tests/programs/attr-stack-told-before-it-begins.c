/*
 * Many threads that end at once, some of which others asked for their stack before they began: each runs on the
 * stack that was told, and each finds by itself the stack that it is on.  Of threads that live at one time none
 * has another's stack, and a thread rounds as its creator did when it made it.
 */
#include "check.h"

#include <dlfcn.h>
#include <fenv.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS = 2000, ROUNDS = 3 };

static struct life {
	pthread_t t;
	char *_Atomic low, *_Atomic high; /* told, low last; NULL: not asked for, or not yet */
	int rounding;
	bool waits;
	char *_Atomic here;   /* on its stack, while it waits */
} lives[THREADS];
static pthread_barrier_t all;
static int (*rounds)(void), (*round_as)(int); /* of libm, which this is not linked with */

static void *live(void *arg)
{
	struct life *l = arg;
	char here = 1, *low, *high;

	CHECK_EQ(rounds(), l->rounding);
	stack_bounds(pthread_self(), &low, &high);
	CHECK(&here >= low && &here < high);
	if (atomic_load(&l->low))
		CHECK(low == l->low && high == l->high);
	if (l->waits) {
		atomic_store(&l->here, &here);
		pthread_barrier_wait(&all);
		CHECK_EQ(here, 1);
	}
	return NULL;
}

static void round_of(int every)
{
	char *low, *high;
	int waiting = 0;

	for (int i = 0; i < THREADS; i++)
		waiting += i % every == 0;
	CHECK_OK(pthread_barrier_init(&all, NULL, (unsigned)waiting));
	for (int i = 0; i < THREADS; i++) {
		struct life *l = &lives[i];

		*l = (struct life){ .waits = i % every == 0, .rounding = i % 2 ? FE_UPWARD : FE_TONEAREST };
		CHECK_OK(round_as(l->rounding));
		CHECK_OK(pthread_create(&l->t, NULL, live, l));
		if (i % 3 == 0) {
			stack_bounds(l->t, &low, &high);
			l->high = high;
			atomic_store(&l->low, low);
		}
	}
	CHECK_OK(round_as(FE_TONEAREST));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(lives[i].t, NULL));
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; lives[i].waits && k < i; k++)
			CHECK(!lives[k].waits || lives[i].here != lives[k].here);
	CHECK_OK(pthread_barrier_destroy(&all));
}

int main(void)
{
	void *libm = dlopen("libm.so.6", RTLD_NOW);

	CHECK(libm);
	*(void **)&rounds = dlsym(libm, "fegetround");
	*(void **)&round_as = dlsym(libm, "fesetround");
	CHECK(rounds && round_as);
	for (int i = 0; i < ROUNDS; i++)
		round_of(5 + 20 * i);
	passed("each thread runs on the stack that was told");
	return 0;
}
