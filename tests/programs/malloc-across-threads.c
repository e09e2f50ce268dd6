/*
 * Memory allocated by one thread, checked and freed by another, through a queue, in all sizes;
 * threads that end leave their caches behind; calloc is zero, realloc keeps, aligned is aligned.
 */
#include "check.h"
#include <stdint.h>

enum { PRODUCERS = 10, CONSUMERS = 10, BLOCKS = 1000, ROOM = 64 };

struct block {
	unsigned char *p;
	size_t size;
	unsigned char fill;
};

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static struct block ring[ROOM];
static int head, count;

static size_t size_of(long n)
{
	static const size_t sizes[] = { 1, 16, 24, 100, 512, 1032, 4000, 70000, 200000 };

	return sizes[n % 9] + (size_t)(n % 13);
}

static void *produce(void *arg)
{
	for (long i = 0; i < BLOCKS; i++) {
		struct block b = {.size = size_of(i + (long)arg),
				  .fill = (unsigned char)(i * 3 + 1)};

		switch (i % 4) {
		case 0:
			b.p = malloc(b.size);
			break;
		case 1:
			b.p = calloc(1, b.size);
			for (size_t k = 0; k < b.size; k += 97)
				CHECK_EQ(b.p[k], 0);
			break;
		case 2:
			b.p = malloc(8);
			memset(b.p, 0x77, 8);
			b.p = realloc(b.p, b.size + 8);
			for (int k = 0; k < 8; k++)
				CHECK_EQ(b.p[k], 0x77);
			break;
		case 3:
			CHECK_OK(posix_memalign((void **)&b.p, 256, b.size));
			CHECK_EQ((uintptr_t)b.p % 256, 0);
			break;
		}
		CHECK(b.p != NULL);
		memset(b.p, b.fill, b.size);
		CHECK_OK(pthread_mutex_lock(&mu));
		while (count == ROOM)
			CHECK_OK(pthread_cond_wait(&not_full, &mu));
		ring[(head + count++) % ROOM] = b;
		CHECK_OK(pthread_cond_signal(&not_empty));
		CHECK_OK(pthread_mutex_unlock(&mu));
	}
	return NULL;
}

static void *consume(void *arg)
{
	for (long i = 0; i < BLOCKS * PRODUCERS / CONSUMERS; i++) {
		struct block b;

		CHECK_OK(pthread_mutex_lock(&mu));
		while (count == 0)
			CHECK_OK(pthread_cond_wait(&not_empty, &mu));
		b = ring[head];
		head = (head + 1) % ROOM;
		count--;
		CHECK_OK(pthread_cond_signal(&not_full));
		CHECK_OK(pthread_mutex_unlock(&mu));
		for (size_t k = 0; k < b.size; k++)
			if (b.p[k] != b.fill)
				CHECK_EQ(b.p[k], b.fill);
		free(b.p);
	}
	return arg;
}

static void *short_life(void *arg)
{
	void *p[50];

	for (int i = 0; i < 50; i++)
		CHECK((p[i] = malloc(size_of(i))) != NULL);
	sched_yield();
	for (int i = 0; i < 49; i++)
		free(p[i]);
	(void)arg;
	return p[49];
}

int main(void)
{
	pthread_t p[PRODUCERS], c[CONSUMERS];

	for (long i = 0; i < PRODUCERS; i++) {
		p[i] = spawn(produce, (void *)i);
		c[i] = spawn(consume, NULL);
	}
	for (int i = 0; i < PRODUCERS; i++) {
		join(p[i]);
		join(c[i]);
	}
	passed("%d blocks crossed threads", PRODUCERS * BLOCKS);
	for (int i = 0; i < 1000; i++)
		free(join(spawn(short_life, NULL)));
	passed("1000 threads came and went");
	return 0;
}
