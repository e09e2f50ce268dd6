/*
 * Threads compute, sleep and wait in all kinds of calls by turns, for times that are drawn.  Each
 * result is what POSIX says, no wait ends early, and none with EINTR: nothing sends a signal here.
 */
#include "check.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { THREADS = 8, ROUNDS = 250 };

struct self {
	unsigned seed;
	int pipe[2], silent[2], ep, msg, file;
	sem_t sem;
	pthread_mutex_t mu;
	pthread_cond_t cond;
};

static _Atomic unsigned wrong;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counted;
static char lockfile[] = "/tmp/mixedwaitsXXXXXX";

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct timespec spec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static void check(int ok, const char *what, long is, int err)
{
	if (!ok && atomic_fetch_add(&wrong, 1) < 10)
		printf("%s: %ld, %s\n", what, is, strerror(err));
}

static void compute(struct self *s)
{
	uint64_t until = now(CLOCK_MONOTONIC) + (uint64_t)rand_r(&s->seed) % 1000000;

	while (now(CLOCK_MONOTONIC) < until)
		for (volatile int i = 0; i < 200; i++)
			;
}

static uint64_t some(struct self *s)
{
	return (uint64_t)rand_r(&s->seed) % 300000;
}

static void not_early(const char *what, uint64_t began, uint64_t ns)
{
	uint64_t took = now(CLOCK_MONOTONIC) - began;

	check(took >= ns, what, (long)took - (long)ns, 0);
}

static void sleeps(struct self *s)
{
	uint64_t ns = some(s), began = now(CLOCK_MONOTONIC);
	struct timespec t = spec(ns), left = { 7, 7 };
	int r = nanosleep(&t, &left);

	check(r == 0 && left.tv_sec == 7, "nanosleep", r, errno);
	not_early("nanosleep ended early by", began, ns);
	t = spec(began + ns + 100000);
	r = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	check(r == 0, "clock_nanosleep", r, r);
	not_early("clock_nanosleep ended early by", began, ns + 100000);
}

static void polls(struct self *s)
{
	struct pollfd p = { s->silent[0], POLLIN, 0 };
	uint64_t began = now(CLOCK_MONOTONIC), ns = some(s);
	struct timespec t = spec(ns);
	struct timeval tv = { 0, (suseconds_t)(ns / 1000) };
	fd_set set;
	int r = poll(&p, 1, 1);

	check(r == 0, "poll", r, errno);
	not_early("poll ended early by", began, 1000000);
	began = now(CLOCK_MONOTONIC);
	r = ppoll(&p, 1, &t, NULL);
	check(r == 0, "ppoll", r, errno);
	not_early("ppoll ended early by", began, ns);
	FD_ZERO(&set);
	FD_SET(s->silent[0], &set);
	r = select(s->silent[0] + 1, &set, NULL, NULL, &tv);
	check(r == 0, "select", r, errno);
}

static void epolls(struct self *s)
{
	uint64_t began = now(CLOCK_MONOTONIC);
	struct epoll_event ev;
	int r = epoll_wait(s->ep, &ev, 1, 1);

	check(r == 0, "epoll_wait", r, errno);
	not_early("epoll_wait ended early by", began, 1000000);
}

static void pipes(struct self *s)
{
	char out[64], in[64];
	ssize_t r;

	memset(out, rand_r(&s->seed), sizeof(out));
	r = write(s->pipe[1], out, sizeof(out));
	check(r == sizeof(out), "write", r, errno);
	r = read(s->pipe[0], in, sizeof(in));
	check(r == sizeof(in) && !memcmp(in, out, sizeof(in)), "read", r, errno);
}

static void receives(struct self *s)
{
	uint64_t began = now(CLOCK_MONOTONIC);
	char c;
	ssize_t r = recv(s->silent[0], &c, 1, 0);

	check(r == -1 && errno == EAGAIN, "recv", r, errno);
	not_early("recv ended early by", began, 1000000);
}

static void semaphores(struct self *s)
{
	uint64_t at = now(CLOCK_REALTIME) + some(s);
	struct timespec t = spec(at);
	int r = sem_timedwait(&s->sem, &t);

	check(r == -1 && errno == ETIMEDOUT, "sem_timedwait", r, errno);
	sem_post(&s->sem);
	r = sem_timedwait(&s->sem, &t);
	check(r == 0, "sem_timedwait of one that is up", r, errno);
}

static void conds(struct self *s)
{
	uint64_t at = now(CLOCK_REALTIME) + some(s);
	struct timespec t = spec(at);
	int r;

	pthread_mutex_lock(&s->mu);
	do
		r = pthread_cond_timedwait(&s->cond, &s->mu, &t);
	while (r == 0);
	check(r == ETIMEDOUT, "pthread_cond_timedwait", r, r);
	pthread_mutex_unlock(&s->mu);
	pthread_mutex_lock(&shared);
	counted++;
	pthread_mutex_unlock(&shared);
}

static void messages(struct self *s)
{
	struct {
		long type;
		char text[16];
	} m = { 1, "message" }, got = { 0 };
	int r = msgsnd(s->msg, &m, sizeof(m.text), 0);
	ssize_t n;

	check(r == 0, "msgsnd", r, errno);
	n = msgrcv(s->msg, &got, sizeof(got.text), 1, 0);
	check(n == sizeof(got.text) && !strcmp(got.text, m.text), "msgrcv", n, errno);
}

/* All threads lock one file. */
static void locks(struct self *s)
{
	int r = flock(s->file, LOCK_EX);
	uint64_t until = now(CLOCK_MONOTONIC) + some(s) / 3;

	check(r == 0, "flock", r, errno);
	while (now(CLOCK_MONOTONIC) < until)
		;
	r = flock(s->file, LOCK_UN);
	check(r == 0, "flock(LOCK_UN)", r, errno);
}

static void *run(void *arg)
{
	static void (*const waits[])(struct self *) = { sleeps,     polls, epolls,   pipes, receives,
							semaphores, conds, messages, locks };
	struct self *s = arg;

	for (int i = 0; i < ROUNDS && atomic_load(&wrong) < 10; i++) {
		if (rand_r(&s->seed) % 4)
			compute(s);
		waits[(unsigned)rand_r(&s->seed) % (sizeof(waits) / sizeof(waits[0]))](s);
	}
	return NULL;
}

static void begin(struct self *s, unsigned i)
{
	struct timeval tv = { 0, 1000 };
	struct epoll_event ev = { .events = EPOLLIN };

	s->seed = i + 1 + (unsigned)getpid();
	if (pipe(s->pipe) || socketpair(AF_UNIX, SOCK_STREAM, 0, s->silent) ||
	    (s->ep = epoll_create1(0)) < 0 || (s->msg = msgget(IPC_PRIVATE, 0600)) < 0 ||
	    (s->file = open(lockfile, O_RDWR)) < 0 ||
	    setsockopt(s->silent[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) ||
	    epoll_ctl(s->ep, EPOLL_CTL_ADD, s->silent[0], &ev)) {
		perror("begin");
		_exit(1);
	}
	sem_init(&s->sem, 0, 0);
	pthread_mutex_init(&s->mu, NULL);
	pthread_cond_init(&s->cond, NULL);
}

int main(void)
{
	static struct self selfs[THREADS];
	pthread_t th[THREADS];
	int fd = mkstemp(lockfile);

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (unsigned i = 0; i < THREADS; i++)
		begin(&selfs[i], i);
	for (int i = 0; i < THREADS; i++)
		th[i] = spawn(run, &selfs[i]);
	for (int i = 0; i < THREADS; i++)
		join(th[i]);
	for (int i = 0; i < THREADS; i++)
		msgctl(selfs[i].msg, IPC_RMID, NULL);
	unlink(lockfile);
	close(fd);
	CHECK_EQ(wrong, 0);
	passed("each wait ended when and as it should");
	return 0;
}
