/*
 * forks: threads that fork while others are in the middle of everything.
 *
 *	forks [FORKS [THREADS [SEED]]]
 *
 * THREADS threads (in four rounds: an eighth of them first) take turns at FORKS forks in all.
 * Meanwhile others hold mutexes and a rwlock, allocate, print, hand tokens over pipes and sleep, in
 * every other round load and unload libraries: a fork finds each of them anywhere.  A child has one
 * thread; it checks that it is who it was, starts threads that use everything that libc must have
 * put in order for it, and ends with a status that its number decides, by one of four ways.  One
 * child in sixteen forks again.  Prints one line a round, the same whatever the dice said.
 *
 * The locks of the program itself are lost in a child when another thread holds them: children use
 * their own. libc leaves two things as the fork found them: the loader's lists (so children load
 * nothing) and the lock of the exit handlers, which unloading takes (so in these rounds children do
 * not go by exit).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress.h"

enum { PIPES = 4, NOISE = 9, IN_CHILD = 4, TURNS = 5 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static int pipes[PIPES][2];
static FILE *null;
static atomic_int stop, loading;
static atomic_long ticket, last;
static __thread long mine;

/* ---- what goes on meanwhile ------------------------------------------------------------------ */

static void pass_token(long n)
{
	char c;

	CHECK(read(pipes[n % PIPES][0], &c, 1) == 1);
	CHECK(write(pipes[(n + 1) % PIPES][1], &c, 1) == 1);
}

static void load(void)
{
	void *h = dlopen("libresolv.so.2", RTLD_NOW), *m = dlopen("libm.so.6", RTLD_NOW);

	if (m)
		CHECK(dlsym(m, "cos"));
	if (h)
		dlclose(h);
	if (m)
		dlclose(m);
}

static void *noise(void *arg)
{
	long n = (long)arg;
	uint64_t seed = (uint64_t)n * 0x9e3779b97f4a7c15 + 1;

	while (!stop) {
		void *p[8];

		switch (n % NOISE) {
		case 0:
		case 1:
			pthread_mutex_lock(&mu);
			sched_yield();
			pthread_mutex_unlock(&mu);
			break;
		case 2:
			pthread_rwlock_rdlock(&rw);
			sched_yield();
			pthread_rwlock_unlock(&rw);
			break;
		case 3:
		case 4:
			for (int i = 0; i < 8; i++)
				memset(p[i] = malloc(dice(&seed) % 3000 + 1), 1, 1);
			for (int i = 0; i < 8; i++)
				free(p[i]);
			sched_yield();
			break;
		case 5:
			fprintf(null, "%ld turns %f\n", n, (double)seed);
			fflush(null);
			break;
		case 6:
			if (loading)
				load();
			sched_yield();
			break;
		case 7:
			pass_token(n);
			break;
		case 8:
			usleep((useconds_t)(dice(&seed) % 300));
			break;
		}
	}
	return arg;
}

/* ---- in a child ------------------------------------------------------------------------------ */

struct room {
	pthread_mutex_t mu;
	pthread_cond_t cv;
	int turn, sum;
	int fd[2];
};

static void *child_thread(void *arg)
{
	static atomic_int next;
	struct room *r = arg;
	int me = next++ % IN_CHILD;
	char *text;
	size_t n;
	FILE *f;

	CHECK(mine == 0);
	CHECK(f = open_memstream(&text, &n));
	for (int i = 0; i < TURNS; i++) {
		char c;

		pthread_mutex_lock(&r->mu);
		while (r->turn % IN_CHILD != me)
			pthread_cond_wait(&r->cv, &r->mu);
		r->turn++;
		r->sum += me;
		pthread_cond_broadcast(&r->cv);
		pthread_mutex_unlock(&r->mu);
		CHECK(read(r->fd[0], &c, 1) == 1);
		CHECK(write(r->fd[1], &c, 1) == 1);
		CHECK(fprintf(f, "%d", i) == 1);
		free(malloc(1000));
	}
	CHECK(!fclose(f) && n == TURNS);
	free(text);
	return NULL;
}

static int status_of(long n)
{
	return (int)(n % 50 + 1);
}

static void reap(pid_t pid, int want)
{
	int status;
	pid_t r;

	while ((r = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	CHECK(r == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != want) {
		dprintf(1, "FAILED child %d: status 0x%x, not %d\n", (int)pid, status, want);
		_exit(1);
	}
}

static void run_threads(void)
{
	struct room r = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, {0, 0}};
	pthread_t t[IN_CHILD];

	CHECK(!pipe(r.fd));
	CHECK(write(r.fd[1], "x", 1) == 1);
	for (int i = 0; i < IN_CHILD; i++)
		CHECK(!pthread_create(&t[i], NULL, child_thread, &r));
	for (int i = 0; i < IN_CHILD; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(r.turn == IN_CHILD * TURNS && r.sum == TURNS * IN_CHILD * (IN_CHILD - 1) / 2);
	close(r.fd[0]);
	close(r.fd[1]);
}

static void *ends_by_return(void *arg)
{
	return arg;
}

static void in_child(long n, pthread_t self)
{
	char number[16];

	CHECK(mine == n);
	CHECK(pthread_equal(self, pthread_self()));
	run_threads();
	if (n % 16 == 0) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			run_threads();
			_exit(status_of(n) + 1);
		}
		reap(pid, status_of(n) + 1);
	}
	switch (n / 16 % (loading ? 2 : 4)) {
	case 0:
		_exit(status_of(n));
	case 1:
		snprintf(number, sizeof number, "exit %d", status_of(n));
		execl("/bin/sh", "sh", "-c", number, (char *)NULL);
		_exit(126);
	case 2:
		exit(status_of(n));
	case 3: {
		pthread_t t;

		CHECK(!pthread_create(&t, NULL, ends_by_return, NULL));
		quick_exit(status_of(n));
	}
	}
}

static void *forker(void *arg)
{
	long n;

	while ((n = ticket++) < last) {
		pthread_t self = pthread_self();
		pid_t pid;

		mine = n;
		pid = n % 5 == 4 ? _Fork() : fork();
		if (pid < 0 && errno == EAGAIN) {
			sched_yield();
			continue;
		}
		CHECK(pid >= 0);
		if (!pid) {
			/* _Fork promises no more than what is safe in a signal handler. */
			if (n % 5 == 4)
				_exit(status_of(n));
			in_child(n, self);
		}
		reap(pid, status_of(n));
		CHECK(mine == n);
	}
	return arg;
}

static void round_of(int nforkers, long forks, int loads)
{
	int nnoise = NOISE * 2;
	pthread_t t[nforkers], u[nnoise];

	stop = 0;
	loading = loads;
	ticket = 0;
	last = forks;
	for (int i = 0; i < PIPES; i++)
		CHECK(!pipe(pipes[i]));
	/* More tokens than readers of one pipe: nobody waits for ever once the others have left. */
	for (int i = 0; i < PIPES * 8; i++)
		CHECK(write(pipes[i % PIPES][1], "t", 1) == 1);
	for (long i = 0; i < nnoise; i++)
		CHECK(!pthread_create(&u[i], NULL, noise, (void *)i));
	for (int i = 0; i < nforkers; i++)
		CHECK(!pthread_create(&t[i], NULL, forker, NULL));
	for (int i = 0; i < nforkers; i++)
		CHECK(!pthread_join(t[i], NULL));
	stop = 1;
	for (int i = 0; i < PIPES; i++)
		CHECK(write(pipes[i][1], "eeeeeeee", 8) == 8);
	for (int i = 0; i < nnoise; i++)
		CHECK(!pthread_join(u[i], NULL));
	for (int i = 0; i < PIPES; i++)
		close(pipes[i][0]), close(pipes[i][1]);
	printf("ok %ld forks from %d threads%s\n", forks, nforkers, loads ? ", libraries come and go" : "");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long forks = argc > 1 ? atol(argv[1]) : 200;
	int threads = argc > 2 ? atoi(argv[2]) : 64;

	CHECK(null = fopen("/dev/null", "w"));
	for (int i = 0; i < 4; i++)
		round_of(i / 2 || threads < 8 ? threads : threads / 8, forks / 4, i % 2);
	return 0;
}
