/*
 * One thread locks the memory of the process again and again, while others make threads by hundreds: what is
 * made ready for threads to come is given up meanwhile, and nobody waits for one that cannot run.
 */
#include "check.h"
#include <sys/mman.h>

enum { MOST = 3000, MORE = 150, SECONDS = 3 };

static _Atomic int over;
static pthread_mutex_t gates[2] = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER };

static void *waits(void *arg)
{
	CHECK_OK(pthread_mutex_lock(arg));
	CHECK_OK(pthread_mutex_unlock(arg));
	return arg;
}

/* More each time, so that the thread blocks of those that are over do not do. */
static void *makes(void *arg)
{
	pthread_mutex_t *gate = arg;
	pthread_t *t = calloc(MOST, sizeof(*t));

	CHECK(t);
	for (int n = MORE; !over && n <= MOST; n += MORE) {
		CHECK_OK(pthread_mutex_lock(gate));
		for (int i = 0; i < n; i++)
			t[i] = spawn(waits, gate);
		CHECK_OK(pthread_mutex_unlock(gate));
		for (int i = 0; i < n; i++)
			join(t[i]);
	}
	free(t);
	return NULL;
}

/* Where that much may not be locked the call fails, and does the same before. */
static void *locks(void *arg)
{
	while (!over) {
		if (mlockall(MCL_CURRENT) == 0)
			CHECK_SYS(munlockall());
		usleep(1000);
	}
	return arg;
}

static void *computes(void *arg)
{
	volatile long n = 0;

	while (!over)
		n++;
	return arg;
}

int main(void)
{
	pthread_t t[4] = {
		spawn(makes, &gates[0]), spawn(makes, &gates[1]), spawn(locks, NULL), spawn(computes, NULL)
	};

	sleep(SECONDS);
	over = 1;
	for (int i = 0; i < 4; i++)
		join(t[i]);
	puts("ok");
	return 0;
}
