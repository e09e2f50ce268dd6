/*
 * beside.c: three threads count beside one that waits in fgets() on an empty pipe, one in
 * getaddrinfo() for a resolver that does not answer, and one in an OpenMP barrier.
 *
 * The waits are of three kinds: a libc function that is interposed as a whole, system calls inside
 * libc, and libgomp's own futex in assembly, before which it spins.  None may keep the counters
 * from moving.  Main is one more thread that wants to run: it waits until every counter has moved,
 * LAPS times, and prints how long that took and how long a counter stood still.  Then it ends the
 * three waits, and each must end well.
 *
 * Build: cc -O2 -fopenmp -pthread beside.c.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <resolv.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { COUNTERS = 3, LAPS = 100, QUESTION = 12 };

static struct counter {
	atomic_long steps, longest; /* ns without a step, of this counter alone */
} counters[COUNTERS];
static atomic_int stop, go_on, ended;
static int empty[2], silent, port;

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000L + ts.tv_nsec;
}

static void *count(void *arg)
{
	struct counter *c = arg;
	long last = now();

	while (!atomic_load(&stop)) {
		long t = now();

		if (t - last > atomic_load(&c->longest))
			atomic_store(&c->longest, t - last);
		last = t;
		atomic_fetch_add(&c->steps, 1);
	}
	return NULL;
}

static void *read_line(void *unused)
{
	FILE *f = fdopen(empty[0], "r");
	char line[16];

	(void)unused;
	if (!f || !fgets(line, sizeof(line), f) || strcmp(line, "a line\n"))
		die("fgets");
	atomic_fetch_add(&ended, 1);
	fclose(f);
	return NULL;
}

static void *look_up(void *unused)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
	int r;

	(void)unused;
	if (res_init())
		die("res_init");
	/* _res is the calling thread's, and getaddrinfo takes what was set by hand. */
	_res.nscount = 1;
	_res.nsaddr_list[0].sin_family = AF_INET;
	_res.nsaddr_list[0].sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	_res.nsaddr_list[0].sin_port = htons((uint16_t)port);
	_res.retrans = 30;
	r = getaddrinfo("nowhere.example.", "80", &hints, &found);
	if (r == 0)
		die("getaddrinfo found what nobody told");
	atomic_fetch_add(&ended, 1);
	return NULL;
}

static void *meet(void *unused)
{
	(void)unused;
#pragma omp parallel num_threads(2)
	{
#pragma omp master
		while (!atomic_load(&go_on))
			usleep(1000);
#pragma omp barrier
	}
	atomic_fetch_add(&ended, 1);
	return NULL;
}

/* A resolver that does not answer, before it is asked to. */
static void make_resolver(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);

	silent = socket(AF_INET, SOCK_DGRAM, 0);
	if (silent < 0 || bind(silent, (struct sockaddr *)&at, sizeof(at)) ||
	    getsockname(silent, (struct sockaddr *)&at, &len))
		die("a socket of the resolver's");
	port = ntohs(at.sin_port);
}

/* Says to the one question that came that there is no such name. */
static void answer(void)
{
	unsigned char m[512];
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(silent, m, sizeof(m), 0, (struct sockaddr *)&from, &len);

	if (n < QUESTION)
		die("the question");
	m[2] |= 0x80;		       /* a response */
	m[3] = (m[3] & 0xf0) | 3;      /* no such name */
	if (sendto(silent, m, (size_t)n, 0, (struct sockaddr *)&from, len) != n)
		die("the answer");
}

/* Until every counter has moved. */
static void lap(void)
{
	long before[COUNTERS];

	for (int i = 0; i < COUNTERS; i++)
		before[i] = atomic_load(&counters[i].steps);
	for (int i = 0; i < COUNTERS; i++)
		while (atomic_load(&counters[i].steps) == before[i])
			usleep(1000);
}

static int by_value(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	void *(*const waits[])(void *) = { read_line, look_up, meet };
	pthread_t counting[COUNTERS], waiting[3];
	long took[LAPS], longest = 0;

	make_resolver();
	if (pipe(empty))
		die("pipe");
	for (int i = 0; i < COUNTERS; i++)
		if (pthread_create(&counting[i], NULL, count, &counters[i]))
			die("pthread_create");
	for (int i = 0; i < 3; i++)
		if (pthread_create(&waiting[i], NULL, waits[i], NULL))
			die("pthread_create");
	for (int i = 0; i < LAPS; i++) {
		long start = now();

		lap();
		took[i] = now() - start;
	}
	if (atomic_load(&ended))
		die("a wait that ended by itself");
	atomic_store(&go_on, 1);
	if (write(empty[1], "a line\n", 7) != 7)
		die("write");
	answer();
	for (int i = 0; i < 3; i++)
		pthread_join(waiting[i], NULL);
	atomic_store(&stop, 1);
	for (int i = 0; i < COUNTERS; i++) {
		pthread_join(counting[i], NULL);
		if (atomic_load(&counters[i].longest) > longest)
			longest = atomic_load(&counters[i].longest);
	}
	qsort(took, LAPS, sizeof(*took), by_value);
	printf("ok %d waits ended; all counters moved %d times\n", atomic_load(&ended), LAPS);
	/* Not on standard output: that is the same in every run. */
	fprintf(stderr, "p50 %ld us, worst %ld us; one stood still for %ld us\n",
		took[LAPS / 2] / 1000, took[LAPS - 1] / 1000, longest / 1000);
	return 0;
}
