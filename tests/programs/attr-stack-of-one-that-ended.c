/*
 * Threads that have ended and are not joined, while others begin and end: a stack that the program was told of is no
 * other thread's until the join, nor is one told after the end a living thread's; and a result that lies deep in the
 * stack of the thread that gave it is read after the join.
 */
#include "check.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { THREADS = 200, RESULT = 4096 };

static struct life {
	pthread_t t;
	char *low, *high;     /* as the thread found them */
	bool asks, gives;
	_Atomic bool over;
} lives[THREADS];

static void *live(void *arg)
{
	struct life *l = arg;
	char text[RESULT] = { 0 };

	if (l->asks)
		stack_bounds(pthread_self(), &l->low, &l->high);
	snprintf(text, sizeof(text), "thread %d", (int)(l - lives));
	atomic_store(&l->over, true);
	if (l->gives)
		pthread_exit(text);
	return NULL;
}

static void make_all(bool ask, bool give)
{
	for (int i = 0; i < THREADS; i++) {
		struct life *l = &lives[i];

		*l = (struct life){ .asks = ask, .gives = give };
		CHECK_OK(pthread_create(&l->t, NULL, live, l));
	}
}

static void await(void)
{
	for (int i = 0; i < THREADS; i++)
		while (!atomic_load(&lives[i].over))
			sched_yield();
}

static void join_all(void)
{
	for (int i = 0; i < THREADS; i++) {
		char text[64];
		void *result;

		CHECK_OK(pthread_join(lives[i].t, &result));
		snprintf(text, sizeof(text), "thread %d", i);
		if (lives[i].gives)
			CHECK(strcmp(result, text) == 0);
		else
			CHECK(!result);
	}
}

static void no_two_overlap(void)
{
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < i; k++)
			CHECK(lives[i].high <= lives[k].low || lives[k].high <= lives[i].low);
}

int main(void)
{
	char *low, *high;

	make_all(true, false);
	await();
	no_two_overlap();
	for (int i = 0; i < THREADS; i++) {
		stack_bounds(lives[i].t, &low, &high);
		CHECK(low == lives[i].low && high == lives[i].high);
	}
	join_all();

	make_all(false, false);
	await();
	for (int i = 0; i < THREADS; i++)
		stack_bounds(lives[i].t, &lives[i].low, &lives[i].high);
	no_two_overlap();
	join_all();

	make_all(false, true);
	join_all();
	passed("the stack of one that ended is its own until the join");
	return 0;
}
