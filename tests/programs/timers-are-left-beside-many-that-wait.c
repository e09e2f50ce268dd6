/*
 * Many threads compute and wait in the kernel by turns, so that many kernel threads have computed.  Of the signals
 * that the process may queue nearly all are left: timers that the program has not made are a hundredth at most.
 */
#include "check.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT = 1000, THREADS = 150, PART = 100, ROUNDS = 6 };

static void *waits(void *arg)
{
	unsigned r = (unsigned)(long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct timespec t = { 0, 20000000 };
		int fd;

		r = r * 1664525u + 1013904223u;
		t.tv_nsec += r % 20000000;
		nanosleep(&t, NULL);
		for (volatile unsigned k = 0; k < 2000000; k++)
			;
		CHECK_SYS(fd = open("/dev/null", O_WRONLY));
		CHECK_SYS(close(fd));
		t.tv_nsec = 30000000;
		CHECK_SYS(syscall(SYS_ppoll, NULL, 0, &t, NULL, 8));
	}
	return NULL;
}

/* Timers of this process; 0 where the kernel does not tell. */
static int timers(void)
{
	static char text[1 << 16];
	int fd = open("/proc/self/timers", O_RDONLY), found = 0;
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	while (have < sizeof(text) - 1 && (n = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	close(fd);
	for (const char *p = text; (p = strstr(p, "notify:")); p++)
		found++;
	return found;
}

/* The kernel counts for all processes of a user: another one's thousands of timers are waited for. */
static void others_are_quiet(void)
{
	enum { FEW = LIMIT / 10, TRIES = 300 };
	char line[256];
	int used = 0;

	for (int i = 0; i < TRIES; i++) {
		FILE *f = fopen("/proc/self/status", "r");

		while (f && fgets(line, sizeof(line), f))
			sscanf(line, "SigQ: %d", &used);
		if (f)
			fclose(f);
		if (used <= FEW)
			return;
		usleep(100000);
	}
}

int main(void)
{
	struct rlimit limit = { LIMIT, LIMIT };
	pthread_t ids[THREADS];

	others_are_quiet();
	CHECK_SYS(setrlimit(RLIMIT_SIGPENDING, &limit));
	for (long i = 0; i < THREADS; i++)
		CHECK_OK(pthread_create(&ids[i], NULL, waits, (void *)i));
	for (int i = 0; i < THREADS; i++)
		CHECK_OK(pthread_join(ids[i], NULL));
	CHECK_EQ(timers() <= LIMIT / PART, 1);
	return 0;
}
