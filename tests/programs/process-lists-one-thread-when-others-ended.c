/*
 * A program that looks at /proc/self/task finds main alone when its threads have ended, joined or
 * not, asked again from the start or by a new look; a thread that has ended and was not joined can be
 * signalled and cancelled then.
 */
#include "check.h"

#include <signal.h>

enum { ROUNDS = 3, THREADS = 10, TRIES = 2000 };

static void *ends(void *arg)
{
	usleep(1000);
	return arg;
}

static int count(DIR *d)
{
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += e->d_name[0] != '.' && strcmp(e->d_name, "0");
	return n;
}

static void await_one_by_new_looks(const char *path)
{
	for (int i = 0; i < TRIES; i++) {
		DIR *d = opendir(path);
		int n;

		CHECK(d != NULL);
		n = count(d);
		CHECK_SYS(closedir(d));
		if (n == 1)
			return;
		usleep(1000);
	}
	CHECK(!"one thread");
}

static void await_one_from_the_start(const char *path)
{
	DIR *d = opendir(path);

	CHECK(d != NULL);
	for (int i = 0; i < TRIES; i++) {
		if (count(d) == 1) {
			CHECK_SYS(closedir(d));
			return;
		}
		usleep(1000);
		rewinddir(d);
	}
	CHECK(!"one thread");
}

int main(void)
{
	char mine[64];

	snprintf(mine, sizeof mine, "/proc/%d/task/", (int)getpid());
	for (int r = 0; r < ROUNDS; r++) {
		pthread_t t[THREADS];

		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(ends, NULL);
		if (r % 2)
			await_one_by_new_looks(r == 1 ? mine : "/proc/self/task");
		else
			await_one_from_the_start("/proc/self/task");
		for (int i = 0; i < THREADS; i++) {
			CHECK_OK(pthread_kill(t[i], SIGUSR1));
			CHECK_OK(pthread_cancel(t[i]));
			join(t[i]);
		}
		await_one_by_new_looks("/proc/self/task");
	}
	passed("main alone is listed when its threads have ended");
	return 0;
}
