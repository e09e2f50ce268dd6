/*
 * pthread_attr_setstack: the thread runs on exactly the memory the program gave, reports it back,
 * the memory is the program's again after join (it may be unmapped or reused), and many such
 * threads may follow each other on the same memory.
 */
#include "check.h"
#include <stdint.h>
#include <sys/mman.h>

enum { SIZE = 256 * 1024 };

static _Thread_local int life = 1;

static void *on_given_stack(void *arg)
{
	char here, *low, *high;

	CHECK((uintptr_t)&here >= (uintptr_t)arg && (uintptr_t)&here < (uintptr_t)arg + SIZE);
	stack_bounds(pthread_self(), &low, &high);
	CHECK(low == (char *)arg);
	CHECK_EQ(high - low, SIZE);
	CHECK_EQ(life++, 1);
	return arg;
}

static void run_on(void *mem)
{
	pthread_attr_t attr;
	pthread_t t;

	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstack(&attr, mem, SIZE));
	CHECK_OK(pthread_create(&t, &attr, on_given_stack, mem));
	CHECK(join(t) == mem);
	CHECK_OK(pthread_attr_destroy(&attr));
}

int main(void)
{
	void *mem[50];

	for (int i = 0; i < 50; i++) {
		mem[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		CHECK(mem[i] != MAP_FAILED);
	}
	for (int i = 0; i < 200; i++)
		run_on(mem[0]);
	passed("200 threads one after another on one stack");

	pthread_t t[50];

	for (int i = 0; i < 50; i++) {
		pthread_attr_t attr;

		CHECK_OK(pthread_attr_init(&attr));
		CHECK_OK(pthread_attr_setstack(&attr, mem[i], SIZE));
		CHECK_OK(pthread_create(&t[i], &attr, on_given_stack, mem[i]));
	}
	for (int i = 0; i < 50; i++)
		CHECK(join(t[i]) == mem[i]);
	passed("50 at once, each on its own");

	for (int i = 0; i < 50; i++)
		CHECK_SYS(munmap(mem[i], SIZE));
	for (int i = 0; i < 50; i++) {
		mem[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
		CHECK(mem[i] != MAP_FAILED);
		run_on(mem[i]);
	}
	passed("the memory was unmapped, and new memory in its place used");

	char *heap = malloc(SIZE + 64);
	char *aligned = (char *)(((uintptr_t)heap + 63) & ~(uintptr_t)63);

	run_on(aligned);
	free(heap);
	passed("memory from malloc, not page aligned");
	return 0;
}
