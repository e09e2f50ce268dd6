/*
 * fork where nobody expects it, while others run: on a thread that libc made for a timer, on one
 * made by clone(2), in a signal handler (sent, and interrupting what computes), on the stack of a
 * coroutine, twice in a row without a wait in between, and by daemon() and forkpty().  Each child
 * makes threads that use locks, pipes and sleeps.
 */
#include "child.h"
#include <linux/futex.h>
#include <pty.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);

enum { STACK = 256 * 1024, AGAIN = 10 };

static void something_short(void)
{
	free(malloc(500));
}

static void reap(pid_t pid, int want)
{
	CHECK_EQ(status_of(pid), want);
}

static void fork_and_reap(int want)
{
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (!pid) {
		run_threads();
		_exit(want);
	}
	reap(pid, want);
}

/* ---- from threads of others ---- */

static sem_t came;

static void on_timer(union sigval v)
{
	fork_and_reap(v.sival_int);
	sem_post(&came);
}

/* One at a time: those of a timer that repeats would pile up where forks take longer. */
static void from_a_timer(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 33};
	struct itimerspec its = {{0, 0}, {0, 1000000}};
	timer_t timer;

	ev.sigev_notify_function = on_timer;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	for (int i = 0; i < AGAIN; i++) {
		CHECK_SYS(timer_settime(timer, 0, &its, NULL));
		while (sem_wait(&came) == -1)
			CHECK_EQ(errno, EINTR);
	}
	CHECK_SYS(timer_delete(timer));
}

static pid_t made;
static sem_t made_one;

/* The callback's child goes back to libc, which ends the only thread, and so the process. */
static void returns_in_the_child(union sigval v)
{
	static atomic_int again;

	if (again++)
		return;
	made = fork();
	if (!made) {
		run_threads();
		CHECK_EQ(write(v.sival_int, "r", 1), 1);
		return;
	}
	sem_post(&made_one);
}

static void from_a_timer_and_back(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD};
	struct itimerspec its = {{0, 0}, {0, 1000000}};
	timer_t timer;
	int fd[2];
	char c;

	CHECK_SYS(pipe(fd));
	ev.sigev_value.sival_int = fd[1];
	ev.sigev_notify_function = returns_in_the_child;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
	while (sem_wait(&made_one) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(read(fd[0], &c, 1), 1);
	reap(made, 0);
	CHECK_SYS(timer_delete(timer));
	close(fd[0]);
	close(fd[1]);
}

static int on_clone(void *arg)
{
	pid_t pid = fork();

	if (!pid) {
		run_threads();
		_exit(34);
	}
	*(pid_t *)arg = pid;
	return 0;
}

static void from_a_clone(void)
{
	char *stack = malloc(STACK);
	_Atomic uint32_t tid = 1;
	pid_t pid = 0, t;

	CHECK(stack);
	for (int i = 0; i < AGAIN; i++) {
		CHECK_SYS(t = clone(on_clone, stack + STACK - 64,
				    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
					    CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
				    &pid, NULL, NULL, &tid));
		while (tid != 0)
			syscall(SYS_futex, &tid, FUTEX_WAIT, (uint32_t)t, NULL, NULL, 0);
		reap(pid, 34);
		tid = 1;
	}
	free(stack);
}

/* ---- in a handler ---- */

static atomic_int handled;

static void handler(int sig)
{
	int saved = errno;

	(void)sig;
	fork_and_reap(35);
	handled++;
	errno = saved;
}

static void *hits_itself(void *arg)
{
	for (int i = 0; i < AGAIN; i++) {
		int before = handled;

		CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
		CHECK(handled > before);
	}
	return arg;
}

static atomic_int done;

static void *computes(void *arg)
{
	volatile unsigned long x = 1;

	while (!done) {
		for (int i = 0; i < 1000; i++)
			x = x * 6364136223846793005 + 1;
		sched_yield();
	}
	return arg;
}

static void *sleeps(void *arg)
{
	while (!done)
		usleep(1000000);
	return arg;
}

static void hit(void *(*fn)(void *))
{
	pthread_t t;

	done = 0;
	t = spawn(fn, NULL);
	for (int i = 0; i < AGAIN; i++) {
		int before = handled;

		CHECK_OK(pthread_kill(t, SIGUSR1));
		while (handled == before)
			usleep(1000);
	}
	done = 1;
	pthread_kill(t, SIGUSR1);
	join(t);
}

/* ---- on a coroutine ---- */

static _Thread_local ucontext_t home, co;
static _Thread_local int steps, child;

static void coroutine(void)
{
	for (;;) {
		pid_t pid = fork();

		CHECK_SYS(pid);
		if (!pid) {
			child = 1;
			run_threads();
		}
		steps++;
		CHECK_SYS(swapcontext(&co, &home)); /* a child goes on there */
		if (child)
			_exit(36 + steps);
		reap(pid, 37 + steps);
	}
}

static void *has_coroutines(void *arg)
{
	char *stack = malloc(STACK);

	CHECK(stack);
	steps = 0;
	CHECK_SYS(getcontext(&co));
	co.uc_stack.ss_sp = stack;
	co.uc_stack.ss_size = STACK;
	co.uc_link = NULL;
	makecontext(&co, coroutine, 0);
	for (int i = 0; i < AGAIN; i++) {
		CHECK_SYS(swapcontext(&home, &co));
		CHECK_EQ(steps, i + 1);
		if (child) {
			run_threads();
			steps++;
			CHECK_SYS(swapcontext(&home, &co));
		}
	}
	/* The last one's child. */
	while (wait(NULL) > 0)
		;
	free(stack);
	return arg;
}

/* ---- daemons ---- */

/* A grandchild that outlives its parent tells its number over a pipe. */
static void daemons(int how)
{
	int fd[2];
	char c = 0;
	pid_t pid;

	CHECK_SYS(pipe(fd));
	CHECK_SYS(pid = fork());
	if (!pid) {
		close(fd[0]);
		if (how) {
			CHECK_SYS(daemon(0, 0));
		} else {
			CHECK_SYS(setsid());
			CHECK_SYS(pid = fork());
			if (pid)
				_exit(0);
		}
		run_threads();
		c = (char)('0' + how);
		CHECK_EQ(write(fd[1], &c, 1), 1);
		fork_and_reap(38);
		CHECK_EQ(write(fd[1], &c, 1), 1);
		_exit(0);
	}
	reap(pid, 0);
	close(fd[1]);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(read(fd[0], &c, 1), 1);
		CHECK_EQ(c, '0' + how);
	}
	CHECK_EQ(read(fd[0], &c, 1), 0);
	close(fd[0]);
}

static void on_a_terminal(void)
{
	int master;
	pid_t pid;
	char c = 0;

	CHECK_SYS(pid = forkpty(&master, NULL, NULL, NULL));
	if (!pid) {
		run_threads();
		CHECK(isatty(0));
		CHECK_EQ(write(1, "t", 1), 1);
		CHECK_EQ(read(0, &c, 1), 1);
		_exit(39);
	}
	CHECK_EQ(read(master, &c, 1), 1);
	CHECK_EQ(c, 't');
	CHECK_EQ(write(master, "\n", 1), 1);
	reap(pid, 39);
	close(master);
}

static void *all(void *arg)
{
	for (int i = 0; i < 3; i++) {
		daemons(0);
		daemons(1);
		on_a_terminal();
	}
	return arg;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
	pthread_t t[OTHERS];

	CHECK_SYS(sem_init(&came, 0, 0));
	CHECK_SYS(sem_init(&made_one, 0, 0));
	CHECK_OK(pthread_key_create(&child_key, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	start_others(t);
	from_a_timer();
	from_a_timer_and_back();
	passed("on a thread of libc's");
	from_a_clone();
	passed("on a thread that libc does not know");
	hits_itself(NULL);
	join(spawn(hits_itself, NULL));
	hit(sleeps);
	passed("in a signal handler");
	stop_others(t);
	hit(computes);
	passed("in a handler that interrupts what computes");
	start_others(t);
	has_coroutines(NULL);
	join(spawn(has_coroutines, NULL));
	passed("on the stack of a coroutine");
	all(NULL);
	join(spawn(all, NULL));
	passed("daemons and terminals");
	stop_others(t);
	return 0;
}
