/*
 * A process forks while its other threads wait for one thing of each kind.  The child makes the same
 * threads anew, each waits for a thing of its own, and each is woken: nothing of the parent's waits has
 * stayed behind.  The child's own child does it again.  Timers are not inherited, and do not use up
 * the child's.
 */
#include "check.h"
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What the threads of one process wait for; the next process has another. */
struct things {
	pthread_mutex_t mutex, robust, cond_mutex;
	pthread_cond_t cond;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	sem_t sem, timed;
	uint32_t word, words[2];
	bool told;
	int pipe[2];
	FILE *file;
	pthread_t joined;
	sem_t end;
};

static void *in_mutex(void *arg)
{
	struct things *x = arg;

	CHECK_OK(pthread_mutex_lock(&x->mutex));
	CHECK_OK(pthread_mutex_unlock(&x->mutex));
	return NULL;
}

static void *in_robust(void *arg)
{
	struct things *x = arg;

	CHECK_OK(pthread_mutex_lock(&x->robust));
	CHECK_OK(pthread_mutex_unlock(&x->robust));
	return NULL;
}

static void *in_cond(void *arg)
{
	struct things *x = arg;
	struct timespec late = after_ms(CLOCK_REALTIME, 3600 * 1000);

	CHECK_OK(pthread_mutex_lock(&x->cond_mutex));
	while (!x->told)
		CHECK_OK(pthread_cond_timedwait(&x->cond, &x->cond_mutex, &late));
	CHECK_OK(pthread_mutex_unlock(&x->cond_mutex));
	return NULL;
}

static void *in_rwlock(void *arg)
{
	struct things *x = arg;

	CHECK_OK(pthread_rwlock_wrlock(&x->rwlock));
	CHECK_OK(pthread_rwlock_unlock(&x->rwlock));
	return NULL;
}

static void *in_barrier(void *arg)
{
	struct things *x = arg;

	pthread_barrier_wait(&x->barrier);
	return NULL;
}

static void *in_sem(void *arg)
{
	struct things *x = arg;

	CHECK_SYS(sem_wait(&x->sem));
	return NULL;
}

static void *in_timed(void *arg)
{
	struct things *x = arg;
	struct timespec late = after_ms(CLOCK_REALTIME, 3600 * 1000);

	CHECK_SYS(sem_timedwait(&x->timed, &late));
	return NULL;
}

static void *in_futex(void *arg)
{
	struct things *x = arg;

	while (!__atomic_load_n(&x->word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &x->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return NULL;
}

static void *in_futexes(void *arg)
{
	struct things *x = arg;
	struct {
		uint64_t val, uaddr;
		uint32_t flags, reserved;
	} w[2] = { { 0, (uintptr_t)&x->words[0], 2 | FUTEX_PRIVATE_FLAG, 0 },
		   { 0, (uintptr_t)&x->words[1], 2 | FUTEX_PRIVATE_FLAG, 0 } };

	while (!__atomic_load_n(&x->words[1], __ATOMIC_SEQ_CST))
		if (syscall(449, w, 2, 0, NULL, 0) == -1 && errno == ENOSYS)
			return NULL;
	return NULL;
}

static void *in_read(void *arg)
{
	struct things *x = arg;
	char c;

	CHECK_EQ(read(x->pipe[0], &c, 1), 1);
	return NULL;
}

static void *in_poll(void *arg)
{
	struct things *x = arg;
	struct pollfd p = { x->pipe[0], POLLIN, 0 };
	char c;

	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(read(x->pipe[0], &c, 1), 1);
	return NULL;
}

static void *in_epoll(void *arg)
{
	struct things *x = arg;
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);
	char c;

	CHECK_SYS(ep);
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, x->pipe[0], &ev));
	CHECK_EQ(epoll_wait(ep, &ev, 1, -1), 1);
	CHECK_EQ(read(x->pipe[0], &c, 1), 1);
	CHECK_SYS(close(ep));
	return NULL;
}

static void *in_file(void *arg)
{
	struct things *x = arg;

	flockfile(x->file);
	funlockfile(x->file);
	return NULL;
}

static void *is_joined(void *arg)
{
	struct things *x = arg;

	CHECK_SYS(sem_wait(&x->end));
	return NULL;
}

static void *in_join(void *arg)
{
	struct things *x = arg;

	join(x->joined);
	return NULL;
}

static void *in_sigwait(void *arg)
{
	sigset_t set;
	int sig;

	CHECK_SYS(sigemptyset(&set));
	CHECK_SYS(sigaddset(&set, SIGUSR1));
	CHECK_OK(sigwait(&set, &sig));
	CHECK_EQ(sig, SIGUSR1);
	return arg;
}

static void *in_sleep(void *arg)
{
	struct timespec until = after_ms(CLOCK_REALTIME, 60);

	CHECK_OK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL));
	return arg;
}

static void *(*const waits[])(void *) = { in_mutex, in_robust, in_cond,	 in_rwlock, in_barrier, in_sem,
					  in_timed, in_futex,  in_futexes, in_read,   in_poll,	  in_epoll,
					  in_file,  in_join,   in_sigwait, in_sleep };
enum { NWAITS = sizeof waits / sizeof waits[0] };

static void make(struct things *x)
{
	pthread_mutexattr_t a;

	*x = (struct things){ 0 };
	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK_OK(pthread_mutex_init(&x->mutex, NULL));
	CHECK_OK(pthread_mutex_init(&x->robust, &a));
	CHECK_OK(pthread_mutex_init(&x->cond_mutex, NULL));
	CHECK_OK(pthread_cond_init(&x->cond, NULL));
	CHECK_OK(pthread_rwlock_init(&x->rwlock, NULL));
	CHECK_OK(pthread_barrier_init(&x->barrier, NULL, 2));
	CHECK_SYS(sem_init(&x->sem, 0, 0));
	CHECK_SYS(sem_init(&x->timed, 0, 0));
	CHECK_SYS(sem_init(&x->end, 0, 0));
	CHECK_SYS(pipe(x->pipe));
	x->file = tmpfile();
	CHECK(x->file);
	CHECK_OK(pthread_mutex_lock(&x->mutex));
	CHECK_OK(pthread_mutex_lock(&x->robust));
	CHECK_OK(pthread_rwlock_rdlock(&x->rwlock));
	flockfile(x->file);
	x->joined = spawn(is_joined, x);
}

static void wake(struct things *x, pthread_t sigwaits)
{
	CHECK_OK(pthread_mutex_unlock(&x->mutex));
	CHECK_OK(pthread_mutex_unlock(&x->robust));
	CHECK_OK(pthread_mutex_lock(&x->cond_mutex));
	x->told = true;
	CHECK_OK(pthread_cond_broadcast(&x->cond));
	CHECK_OK(pthread_mutex_unlock(&x->cond_mutex));
	CHECK_OK(pthread_rwlock_unlock(&x->rwlock));
	pthread_barrier_wait(&x->barrier);
	CHECK_SYS(sem_post(&x->sem));
	CHECK_SYS(sem_post(&x->timed));
	__atomic_store_n(&x->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &x->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	__atomic_store_n(&x->words[1], 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &x->words[1], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	CHECK_EQ(write(x->pipe[1], "abc", 3), 3);
	funlockfile(x->file);
	CHECK_SYS(sem_post(&x->end));
	CHECK_OK(pthread_kill(sigwaits, SIGUSR1));
}

/* All threads wait; a child does the same; then they are woken. */
static int generation(int more)
{
	struct things x;
	pthread_t t[NWAITS];
	pid_t pid = 0;

	make(&x);
	for (int i = 0; i < NWAITS; i++)
		t[i] = spawn(waits[i], &x);
	let_others_block();
	if (more) {
		CHECK_SYS(pid = fork());
		if (!pid)
			_exit(generation(more - 1));
	}
	wake(&x, t[NWAITS - 2]);
	for (int i = 0; i < NWAITS; i++)
		join(t[i]);
	if (pid) {
		int status;

		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	return 0;
}

/* ---- timers ------------------------------------------------------------------------------------ */

static void make_timers(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	timer_t t;

	ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	for (int i = 0; i < 600; i++)
		CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
}

static void *makes_timers(void *arg)
{
	pid_t pid;
	int status;

	make_timers();
	CHECK_SYS(pid = fork());
	if (!pid) {
		make_timers();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return arg;
}

int main(void)
{
	sigset_t set;

	CHECK_SYS(sigemptyset(&set));
	CHECK_SYS(sigaddset(&set, SIGUSR1));
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK_EQ(generation(2), 0);
	passed("%d waits in each of three generations", NWAITS);
	join(spawn(makes_timers, NULL));
	passed("timers of a process and of its child");
	return 0;
}
