/*
 * calls: millions of system calls while threads that compute make the scheduler take the CPU away.
 *
 *	calls [MILLIONS [PAIRS [SPINNERS]]]
 *
 * No handler is installed and nobody sends a signal, so no call may end with EINTR, move less than
 * all of its bytes, change errno when it succeeds, or leave another signal mask, alternate stack or
 * pending signal behind.  Pairs send each other blocks of random length through pipes and sockets and
 * compare every byte.  Prints one line, the same whatever the dice said.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "stress.h"

enum { CANARY = 12345, BLOCK = 3000, MEET = 12, KINDS = 14 };

struct side {
	pthread_t thread;
	uint64_t seed, peer;     /* of what it sends, and of what it will get */
	int out, in, sock;       /* pipe ends and a stream socket to the other side */
	int event, file;         /* its own */
};

static atomic_long left;         /* calls to be made */
static atomic_bool done;
static struct side *sides;

/* A call that succeeds: its value, and errno as it was. */
#define KEEPS(call, want)                                                                          \
	do {                                                                                       \
		errno = CANARY;                                                                    \
		CHECK((long)(call) == (long)(want));                                               \
		CHECK(errno == CANARY);                                                            \
	} while (0)

static size_t fill(uint64_t *seed, unsigned char *b)
{
	size_t n = dice(seed) % BLOCK + 1;
	unsigned x = (unsigned)dice(seed);

	for (size_t i = 0; i < n; i++)
		b[i] = (unsigned char)(x + i * 7);
	return n;
}

/* One block each way.  Both sides write first: a block fits into a pipe and a socket. */
static void exchange(struct side *s, int to, int from, bool socket)
{
	unsigned char mine[BLOCK], got[BLOCK], want[BLOCK];
	size_t n = fill(&s->seed, mine), m = fill(&s->peer, want);

	if (socket) {
		KEEPS(send(to, mine, n, 0), n);
		KEEPS(recv(from, got, m, MSG_WAITALL), m);
	} else {
		KEEPS(write(to, mine, n), n);
		for (size_t k = 0; k < m;) {
			ssize_t r;

			errno = CANARY;
			r = read(from, got + k, m - k);
			CHECK(r > 0 && errno == CANARY);
			k += (size_t)r;
		}
	}
	CHECK(!memcmp(got, want, m));
}

static void unchanged(void)
{
	sigset_t set, pending;
	stack_t alt;

	KEEPS(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	KEEPS(sigpending(&pending), 0);
	KEEPS(sigaltstack(NULL, &alt), 0);
	CHECK(alt.ss_flags == SS_DISABLE);
	for (int sig = 1; sig < SIGRTMAX; sig++)
		if (sig < 32 || sig >= SIGRTMIN) {
			CHECK(sigismember(&set, sig) == (sig == SIGUSR1));
			CHECK(!sigismember(&pending, sig));
		}
}

static void sleeps(long ns)
{
	struct timespec t = { 0, ns }, rest = { 7, 7 };

	KEEPS(nanosleep(&t, &rest), 0);
	CHECK(rest.tv_sec == 7 && rest.tv_nsec == 7);
}

/* How many calls it made. */
static long step(struct side *s, uint32_t kind)
{
	struct timespec zero = { 0, 0 }, abs;
	struct pollfd p = { .fd = s->event, .events = POLLIN };
	struct epoll_event ev;
	uint64_t one = 1, count = 0;
	struct stat st;
	fd_set set;
	sem_t sem;
	int fd;

	switch (kind) {
	case 0: case 1: case 2:
		exchange(s, s->out, s->in, false);
		return 2;
	case 3: case 4:
		exchange(s, s->sock, s->sock, true);
		return 2;
	case 5:
		KEEPS(write(s->event, &one, 8), 8);
		KEEPS(poll(&p, 1, -1), 1);
		KEEPS(read(s->event, &count, 8), 8);
		CHECK(count == 1);
		return 3;
	case 6:
		KEEPS(poll(&p, 1, 0), 0);
		KEEPS(ppoll(&p, 1, &zero, NULL), 0);
		return 2;
	case 7:
		FD_ZERO(&set);
		FD_SET(s->event, &set);
		KEEPS(pselect(s->event + 1, &set, NULL, NULL, &zero, NULL), 0);
		return 1;
	case 8:
		CHECK((fd = epoll_create1(0)) >= 0);
		ev.events = EPOLLIN;
		KEEPS(epoll_ctl(fd, EPOLL_CTL_ADD, s->event, &ev), 0);
		KEEPS(epoll_wait(fd, &ev, 1, 0), 0);
		KEEPS(close(fd), 0);
		return 4;
	case 9:
		KEEPS(fstat(s->file, &st), 0);
		KEEPS(pread(s->file, &count, 8, 0), 8);
		KEEPS(lseek(s->file, 0, SEEK_SET), 0);
		return 3;
	case 10:
		CHECK((fd = dup(s->file)) >= 0);
		KEEPS(fcntl(fd, F_GETFD), 0);
		KEEPS(close(fd), 0);
		return 3;
	case 11:
		KEEPS(sched_yield(), 0);
		return 1;
	default:
		CHECK(!sem_init(&sem, 0, 0));
		CHECK(!clock_gettime(CLOCK_REALTIME, &abs));
		CHECK(sem_timedwait(&sem, &abs) == -1 && errno == ETIMEDOUT);
		unchanged();
		return 5;
	}
}

/* Both sides come to the same answer. */
static bool goes_on(struct side *s)
{
	unsigned char go = atomic_load(&left) > 0, other;

	KEEPS(write(s->out, &go, 1), 1);
	KEEPS(read(s->in, &other, 1), 1);
	atomic_fetch_sub(&left, 2);
	return go && other;
}

static void *runs(void *arg)
{
	struct side *s = arg;
	uint64_t common = 88172645463325252ULL, own = s->seed * 3;

	/* The kinds are the same on both sides, for they must meet; the naps are not. */
	for (;;) {
		unsigned kind = (unsigned)(dice(&common) % KINDS);

		if (kind != MEET) {
			atomic_fetch_sub(&left, step(s, kind));
			continue;
		}
		if (dice(&own) % 16 == 0)
			sleeps((long)(dice(&own) % 50000));
		if (dice(&common) % 8 == 0 && !goes_on(s))
			return NULL;
	}
}

static void *spins(void *arg)
{
	volatile unsigned long n = 0;

	(void)arg;
	while (!atomic_load_explicit(&done, memory_order_relaxed))
		n++;
	return NULL;
}

static void connect_sides(struct side *a, struct side *b)
{
	int there[2], back[2], socks[2];

	CHECK(!pipe(there) && !pipe(back) && !socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	a->out = there[1];
	b->in = there[0];
	b->out = back[1];
	a->in = back[0];
	a->sock = socks[0];
	b->sock = socks[1];
	a->peer = b->seed;
	b->peer = a->seed;
}

int main(int argc, char **argv)
{
	double millions = argc > 1 ? atof(argv[1]) : 1;
	long pairs = argc > 2 ? atol(argv[2]) : 4, spinners = argc > 3 ? atol(argv[3]) : 3;
	pthread_t *spin = calloc((size_t)spinners + 1, sizeof(*spin));
	sigset_t set;

	atomic_store(&left, (long)(millions * 1e6));
	sides = calloc(2 * (size_t)pairs, sizeof(*sides));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (long i = 0; i < 2 * pairs; i++) {
		struct side *s = &sides[i];

		s->seed = 0x9e3779b97f4a7c15ULL * (uint64_t)(i + 1);
		CHECK((s->event = eventfd(0, 0)) >= 0);
		CHECK((s->file = open(argv[0], O_RDONLY)) >= 0);
	}
	for (long i = 0; i < pairs; i++)
		connect_sides(&sides[2 * i], &sides[2 * i + 1]);
	for (long i = 0; i < spinners; i++)
		CHECK(!pthread_create(&spin[i], NULL, spins, NULL));
	for (long i = 0; i < 2 * pairs; i++)
		CHECK(!pthread_create(&sides[i].thread, NULL, runs, &sides[i]));
	for (long i = 0; i < 2 * pairs; i++)
		CHECK(!pthread_join(sides[i].thread, NULL));
	atomic_store(&done, true);
	for (long i = 0; i < spinners; i++)
		CHECK(!pthread_join(spin[i], NULL));
	printf("every call did what it says, and nothing else\n");
	return 0;
}
