/*
 * A handler interrupts a thread that waits, and leaves in each of four ways: it returns, jumps out
 * (siglongjmp), ends the thread (pthread_exit) or the process (exit).  Whatever the thread waited for: no
 * trace of its wait stays behind.  One that jumped out overwrites its stack and waits again; another
 * thread that waits for the same is served; what was waited for can be used afterwards.
 *
 * A wait is a row of the table at the end, a way a column.  Each case is a process of its own.  (Without those
 * that libc cannot do: it counts on those that wait for a condition variable, and to end a thread it needs the loader.)
 */
#include "check.h"
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdbool.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum way { RETURN, JUMP, THREAD, PROCESS, NWAYS };
static const char *const way_names[NWAYS] = { "returns", "jumps out", "ends the thread", "ends the process" };
enum { LEFT = 42 };

static enum way way;
static sigjmp_buf out;
static sem_t entering, handled;
static pthread_t victim;
static int jumped;

static void handler(int sig)
{
	(void)sig;
	CHECK_SYS(sem_post(&handled));
	switch (way) {
	case JUMP:
		siglongjmp(out, 1);
	case THREAD:
		pthread_exit(NULL);
	case PROCESS:
		exit(LEFT);
	default:
		return;
	}
}

static void await(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

/* ---- what is waited for ---------------------------------------------------------------------- */

/* How many threads will come through once more: the victim, if it lives, and the other. */
static int comers(int each)
{
	return (way == THREAD ? 1 : 2) * each;
}

static pthread_mutex_t mutex;

static void mutex_of(int type, int robust, int protocol)
{
	pthread_mutexattr_t a;

	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_settype(&a, type));
	CHECK_OK(pthread_mutexattr_setrobust(&a, robust));
	CHECK_OK(pthread_mutexattr_setprotocol(&a, protocol));
	CHECK_OK(pthread_mutex_init(&mutex, &a));
	CHECK_OK(pthread_mutex_lock(&mutex));
}

static void normal_setup(void)
{
	mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}

static void recursive_setup(void)
{
	mutex_of(PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
}

static void robust_setup(void)
{
	mutex_of(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
}

static void inherit_setup(void)
{
	mutex_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
}

static void mutex_enter(void)
{
	CHECK_OK(pthread_mutex_lock(&mutex));
	CHECK_OK(pthread_mutex_unlock(&mutex));
}

static void mutex_timed_enter(void)
{
	struct timespec at = after_ms(CLOCK_REALTIME, 60000);

	CHECK_OK(pthread_mutex_timedlock(&mutex, &at));
	CHECK_OK(pthread_mutex_unlock(&mutex));
}

static void mutex_release(void)
{
	CHECK_OK(pthread_mutex_unlock(&mutex));
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void rwlock_setup(void)
{
	CHECK_OK(pthread_rwlock_wrlock(&rwlock));
}

static void read_enter(void)
{
	CHECK_OK(pthread_rwlock_rdlock(&rwlock));
	CHECK_OK(pthread_rwlock_unlock(&rwlock));
}

static void write_enter(void)
{
	CHECK_OK(pthread_rwlock_wrlock(&rwlock));
	CHECK_OK(pthread_rwlock_unlock(&rwlock));
}

static void rwlock_release(void)
{
	CHECK_OK(pthread_rwlock_unlock(&rwlock));
}

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int go;

static void cond_setup(void)
{
	normal_setup();
	mutex_release();
}

static void cond_robust_setup(void)
{
	robust_setup();
	mutex_release();
}

/* pthread_exit leaves with the mutex. */
static void unlock(void *mu)
{
	CHECK_OK(pthread_mutex_unlock(mu));
}

static void cond_enter(void)
{
	CHECK_OK(pthread_mutex_lock(&mutex));
	pthread_cleanup_push(unlock, &mutex);
	while (!go)
		CHECK_OK(pthread_cond_wait(&cond, &mutex));
	pthread_cleanup_pop(1);
}

static void cond_timed_enter(void)
{
	struct timespec at = after_ms(CLOCK_REALTIME, 60000);

	CHECK_OK(pthread_mutex_lock(&mutex));
	pthread_cleanup_push(unlock, &mutex);
	while (!go)
		CHECK_OK(pthread_cond_timedwait(&cond, &mutex, &at));
	pthread_cleanup_pop(1);
}

static void cond_release(void)
{
	CHECK_OK(pthread_mutex_lock(&mutex));
	go = 1;
	CHECK_OK(pthread_cond_broadcast(&cond));
	CHECK_OK(pthread_mutex_unlock(&mutex));
}

static sem_t sem;

static void sem_setup(void)
{
	CHECK_SYS(sem_init(&sem, 0, 0));
}

static void sem_enter(void)
{
	await(&sem);
}

static void sem_release(void)
{
	for (int i = 0; i < comers(1); i++)
		CHECK_SYS(sem_post(&sem));
}

static pthread_barrier_t barrier;

static void barrier_setup(void)
{
	CHECK_OK(pthread_barrier_init(&barrier, NULL, 3));
}

static void barrier_enter(void)
{
	meet_at(&barrier);
}

/* Who left by a jump has arrived, and arrives once more. */
static void barrier_release(void)
{
	if (way != JUMP)
		barrier_enter();
}

static pthread_t joined;
static sem_t joined_goes;

static void *waits_to_be_joined(void *arg)
{
	await(&joined_goes);
	return arg;
}

static void join_setup(void)
{
	CHECK_SYS(sem_init(&joined_goes, 0, 0));
	joined = spawn(waits_to_be_joined, NULL);
}

static void join_enter(void)
{
	join(joined);
}

static void join_release(void)
{
	CHECK_SYS(sem_post(&joined_goes));
	if (way == THREAD)
		join(joined);
}

static void nothing(void)
{
}

static void sleep_enter(void)
{
	struct timespec ts = { .tv_sec = jumped ? 0 : 60, .tv_nsec = 1000000 };

	CHECK(nanosleep(&ts, &ts) == 0 || errno == EINTR);
}

static _Atomic uint32_t word;

static void futex_enter(void)
{
	while (!atomic_load(&word))
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void futex_release(void)
{
	atomic_store(&word, 1);
	CHECK_SYS(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t holds, lets_go;
static pthread_t holder;

static void holds_on(void)
{
	CHECK_SYS(sem_post(&holds));
	await(&lets_go);
}

static void *once_holder(void *arg)
{
	CHECK_OK(pthread_once(&once, holds_on));
	return arg;
}

static void hold(void *(*fn)(void *))
{
	CHECK_SYS(sem_init(&holds, 0, 0));
	CHECK_SYS(sem_init(&lets_go, 0, 0));
	holder = spawn(fn, NULL);
	await(&holds);
}

static void holder_release(void)
{
	CHECK_SYS(sem_post(&lets_go));
	join(holder);
}

static void once_setup(void)
{
	hold(once_holder);
}

static void once_enter(void)
{
	CHECK_OK(pthread_once(&once, holds_on));
}

static int first_object(struct dl_phdr_info *info, size_t n, void *arg)
{
	(void)info;
	(void)n;
	if (arg)
		holds_on();
	return 1;
}

static void *loader_holder(void *arg)
{
	dl_iterate_phdr(first_object, &holds);
	return arg;
}

static void loader_setup(void)
{
	hold(loader_holder);
}

static void loader_enter(void)
{
	CHECK_EQ(dl_iterate_phdr(first_object, NULL), 1);
}

static FILE *file;

static void file_setup(void)
{
	file = fopen("/dev/null", "w");
	CHECK(file);
	flockfile(file);
}

static void file_enter(void)
{
	CHECK(fputc('x', file) == 'x');
}

static void file_flock_enter(void)
{
	flockfile(file);
	funlockfile(file);
}

static void file_release(void)
{
	funlockfile(file);
}

static int ends[2];

static void pipe_setup(void)
{
	CHECK_SYS(pipe(ends));
}

static void pipe_enter(void)
{
	char c;
	ssize_t n;

	while ((n = read(ends[0], &c, 1)) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(n, 1);
}

static void poll_enter(void)
{
	struct pollfd p = { .fd = ends[0], .events = POLLIN };
	int n;

	while ((n = poll(&p, 1, -1)) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(n, 1);
}

static void pipe_release(void)
{
	CHECK_EQ(write(ends[1], "xx", comers(1)), comers(1));
}

static pid_t child;

static void wait_setup(void)
{
	CHECK_SYS(pipe(ends));
	child = fork();
	CHECK_SYS(child);
	if (!child) {
		char c;

		close(ends[1]);
		_exit(read(ends[0], &c, 1) == 1 ? 0 : 1);
	}
}

static void wait_enter(void)
{
	int status;
	pid_t p;

	while ((p = waitpid(child, &status, 0)) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(p, child);
}

static void wait_release(void)
{
	CHECK_EQ(write(ends[1], "x", 1), 1);
	if (way == THREAD)
		wait_enter();
}

static void sigset_of_usr2(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGUSR2);
}

static void sigwait_setup(void)
{
	sigset_t set;

	sigset_of_usr2(&set);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
}

static void sigwait_enter(void)
{
	siginfo_t si;
	sigset_t set;

	sigset_of_usr2(&set);
	while (sigwaitinfo(&set, &si) == -1)
		CHECK_EQ(errno, EINTR);
}

static void sigwait_release(void)
{
	if (way != THREAD)
		CHECK_OK(pthread_kill(victim, SIGUSR2));
}

/* ---- a case ---------------------------------------------------------------------------------- */

struct wait {
	const char *name;
	void (*setup)(void), (*enter)(void), (*release)(void);
	int alone; /* only one thread may wait */
	unsigned without; /* ways, by bit */
};

static __attribute__((noinline)) void overwrite_the_stack(void)
{
	volatile char room[16384];

	memset((char *)room, 0x5a, sizeof room);
}

static void *enters(void *arg)
{
	const struct wait *w = arg;

	if (sigsetjmp(out, 1) == 0) {
		CHECK_SYS(sem_post(&entering));
		w->enter();
		return NULL;
	}
	jumped = 1;
	overwrite_the_stack();
	CHECK_SYS(sem_post(&entering));
	w->enter();
	return NULL;
}

static void *also_enters(void *arg)
{
	const struct wait *w = arg;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK_SYS(sem_post(&entering));
	w->enter();
	return NULL;
}

static void run_case(const struct wait *w)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t other = 0;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sem_init(&entering, 0, 0));
	CHECK_SYS(sem_init(&handled, 0, 0));
	w->setup();
	victim = spawn(enters, (void *)w);
	await(&entering);
	let_others_block();
	if (!w->alone) {
		other = spawn(also_enters, (void *)w);
		await(&entering);
		let_others_block();
	}
	CHECK_OK(pthread_kill(victim, SIGUSR1));
	await(&handled);
	if (way == PROCESS)
		for (;;)
			pause();
	if (way == THREAD)
		join(victim);
	if (way == JUMP)
		await(&entering);
	let_others_block();
	w->release();
	if (way != THREAD)
		join(victim);
	if (!w->alone)
		join(other);
}

static pid_t in_a_process(const struct wait *w)
{
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (!pid) {
		alarm(50);
		run_case(w);
		_exit(0);
	}
	return pid;
}

static void await_process(const struct wait *w, pid_t pid)
{
	int status = -1;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (way == PROCESS ? LEFT : 0)) {
		printf("FAILED %s, handler %s: status %#x\n", w->name, way_names[way], status);
		fflush(stdout);
		_exit(1);
	}
}

static const struct wait waits[] = {
	{ "mutex", normal_setup, mutex_enter, mutex_release, 0, 0 },
	{ "mutex, timed", normal_setup, mutex_timed_enter, mutex_release, 0, 0 },
	{ "recursive mutex", recursive_setup, mutex_enter, mutex_release, 0, 0 },
	{ "robust mutex", robust_setup, mutex_enter, mutex_release, 0, 0 },
	{ "inheriting mutex", inherit_setup, mutex_enter, mutex_release, 0, 0 },
	{ "rwlock, reading", rwlock_setup, read_enter, rwlock_release, 0, 0 },
	{ "rwlock, writing", rwlock_setup, write_enter, rwlock_release, 0, 0 },
	{ "condition variable", cond_setup, cond_enter, cond_release, 0, 1u << JUMP },
	{ "condition variable, timed", cond_setup, cond_timed_enter, cond_release, 0, 1u << JUMP },
	{ "condition variable with a robust mutex", cond_robust_setup, cond_enter, cond_release, 0, 1u << JUMP },
	{ "semaphore", sem_setup, sem_enter, sem_release, 0, 0 },
	{ "barrier", barrier_setup, barrier_enter, barrier_release, 0, 0 },
	{ "join", join_setup, join_enter, join_release, 1, 0 },
	{ "sleep", nothing, sleep_enter, nothing, 1, 0 },
	{ "futex", nothing, futex_enter, futex_release, 0, 0 },
	{ "once", once_setup, once_enter, holder_release, 0, 0 },
	{ "loader", loader_setup, loader_enter, holder_release, 0, 1u << THREAD },
	{ "FILE, in a call", file_setup, file_enter, file_release, 0, 0 },
	{ "FILE, flockfile", file_setup, file_flock_enter, file_release, 0, 0 },
	{ "pipe", pipe_setup, pipe_enter, pipe_release, 0, 0 },
	{ "poll", pipe_setup, poll_enter, pipe_release, 0, 0 },
	{ "child", wait_setup, wait_enter, wait_release, 1, 0 },
	{ "sigwait", sigwait_setup, sigwait_enter, sigwait_release, 1, 0 },
};

/* Since 2.38 exit waits for a FILE that another thread has locked, and here that one waits for the caller. */
static bool tried(const struct wait *w)
{
	if (way == PROCESS && w->setup == file_setup && libc_minor() >= 38)
		return false;
	return !(w->without & 1u << way);
}

int main(void)
{
	for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
		pid_t pids[NWAYS];

		for (way = 0; way < NWAYS; way++)
			if (tried(&waits[i]))
				pids[way] = in_a_process(&waits[i]);
		for (way = 0; way < NWAYS; way++)
			if (tried(&waits[i]))
				await_process(&waits[i], pids[way]);
		passed("%s: left in every way", waits[i].name);
	}
	return 0;
}
