/*
 * 2,000 threads blocked in read of one pipe each and 2,000 in poll with a time-out that never
 * comes: all fed by one thread in a scattered order, three times over.
 */
#include "check.h"
#include <poll.h>
#include <sys/resource.h>

enum { THREADS = 4000, ROUNDS = 3 };

static int in[THREADS], out[THREADS], done_pipe[2];

static void *reader(void *arg)
{
	long i = (long)arg;
	int got;

	for (int k = 0; k < ROUNDS; k++) {
		if (i % 2) {
			struct pollfd p = { .fd = in[i], .events = POLLIN };

			CHECK_EQ(poll(&p, 1, 1000000), 1);
			CHECK_EQ(p.revents, POLLIN);
		}
		CHECK_EQ(read(in[i], &got, sizeof got), sizeof got);
		CHECK_EQ(got, (int)(i * 10 + k));
		CHECK_EQ(write(done_pipe[1], "d", 1), 1);
	}
	return arg;
}

int main(void)
{
	static pthread_t t[THREADS];
	struct rlimit rl;
	pthread_attr_t attr;
	char done[THREADS];

	CHECK_SYS(getrlimit(RLIMIT_NOFILE, &rl));
	rl.rlim_cur = rl.rlim_max;
	if (rl.rlim_max < 2 * THREADS + 50 || setrlimit(RLIMIT_NOFILE, &rl) != 0) {
		printf("skipped: 8,050 descriptors are not allowed here\n");
		return 77;
	}
	CHECK_SYS(pipe(done_pipe));
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setstacksize(&attr, 64 * 1024));
	for (long i = 0; i < THREADS; i++) {
		int fd[2];

		CHECK_SYS(pipe(fd));
		in[i] = fd[0];
		out[i] = fd[1];
		CHECK_OK(pthread_create(&t[i], &attr, reader, (void *)i));
	}
	for (int k = 0; k < ROUNDS; k++) {
		for (long i = 0; i < THREADS; i++) {
			long n = (i * 1237 + 11) % THREADS; /* coprime: each once */
			int value = (int)(n * 10 + k);

			CHECK_EQ(write(out[n], &value, sizeof value), sizeof value);
		}
		for (long got = 0, n; got < THREADS; got += n)
			CHECK_SYS(n = read(done_pipe[0], done, (size_t)(THREADS - got)));
	}
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ((long)join(t[i]), i);
	passed("%d threads blocked and fed, %d times", THREADS, ROUNDS);
	return 0;
}
