/*
 * Random bytes that are asked for by many at once come whole beside threads that compute and sleep: no signal of the
 * scheduler's cuts the call.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 1 << 20, ROUNDS = 60, SLEEPERS = 3 };

static atomic_int over;

static void *sleeps(void *arg)
{
	while (!over)
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	return arg;
}

static void *asks(void *arg)
{
	char *buf = malloc(BYTES);
	long cut = 0;

	for (int i = 0; i < ROUNDS; i++) {
		cut += getrandom(buf, BYTES, 0) != BYTES;
		cut += syscall(SYS_getrandom, buf, BYTES, 0) != BYTES;
		cut += getrandom(buf, 256, 0) != 256;
	}
	free(buf);
	(void)arg;
	return (void *)cut;
}

int main(void)
{
	pthread_t s[SLEEPERS], a[2];
	long cut = 0;
	void *r;

	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&s[i], NULL, sleeps, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&a[i], NULL, asks, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_join(a[i], &r);
		cut += (long)r;
	}
	over = 1;
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(s[i], NULL);
	printf("cut: %s\n", cut ? "some" : "none");
	return 0;
}
