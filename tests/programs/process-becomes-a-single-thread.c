/*
 * What the kernel grants to a process of one thread, it grants to one whose threads have ended: by
 * unshare, by number, in a child of a fork, after many threads that waited in every way, and again
 * after more threads.  While a thread lives it is refused.  Signals come all the time, to a handler.
 */
#include "child.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>

enum { THREADS = 24, ROUNDS = 3, TRIES = 3000 };

static atomic_int alarms, meant;
static int pipefd[2];
static sem_t go;

static void something_short(void)
{
}

static void alarmed(int sig)
{
	atomic_fetch_add(sig == SIGALRM ? &alarms : &meant, 1);
}

/* A thread that was joined may be known to the kernel for a moment yet. */
static int refused(int flags, int by_number)
{
	for (int i = 0; i < TRIES; i++) {
		if (!(by_number ? (int)syscall(SYS_unshare, flags) : unshare(flags)))
			return 0;
		if (errno != EINVAL)
			return errno;
		usleep(1000);
	}
	return EINVAL;
}

static void *waits(void *arg)
{
	long n = (long)arg;
	char c;

	switch (n % 4) {
	case 0:
		CHECK_EQ(read(pipefd[0], &c, 1), 1);
		break;
	case 1:
		usleep(2000);
		break;
	case 2:
		while (sem_wait(&go))
			;
		break;
	case 3:
		for (int i = 0; i < 50; i++)
			sched_yield();
		break;
	}
	return arg;
}

static void use_threads(void)
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(waits, (void *)i);
	for (int i = 0; i < THREADS / 4; i++) {
		CHECK_EQ(write(pipefd[1], "x", 1), 1);
		CHECK_SYS(sem_post(&go));
	}
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
}

static void *lives(void *arg)
{
	while (sem_wait(&go))
		;
	return arg;
}

/* The process's signals, main's, and main's sleep. */
static void signals_come(void)
{
	int before = atomic_load(&meant), first = atomic_load(&alarms);

	CHECK_SYS(kill(getpid(), SIGUSR1));
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	for (int i = 0; i < TRIES && (atomic_load(&meant) == before || atomic_load(&alarms) == first); i++)
		usleep(1000);
	CHECK(atomic_load(&meant) > before && atomic_load(&alarms) > first);
}

static void in_turn(int userns)
{
	struct itimerval often = { { 0, 5000 }, { 0, 5000 } };

	CHECK_SYS(setitimer(ITIMER_REAL, &often, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t;

		use_threads();
		CHECK_EQ(refused(CLONE_THREAD, i % 2), 0);
		CHECK_EQ(refused(CLONE_VM, 0), 0);
		signals_come();
		t = spawn(lives, NULL);
		CHECK_ERR(unshare(CLONE_THREAD), EINVAL);
		CHECK_SYS(sem_post(&go));
		join(t);
	}
	CHECK_EQ(refused(CLONE_NEWUSER, 0), userns);
}

static int userns_alone(void)
{
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0)
		_exit(unshare(CLONE_NEWUSER) ? errno : 0);
	return status_of(pid);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = alarmed, .sa_flags = SA_RESTART };
	int userns = userns_alone();
	pid_t pid;

	CHECK_SYS(pipe(pipefd));
	CHECK_SYS(sem_init(&go, 0, 0));
	CHECK_SYS(sigaction(SIGALRM, &sa, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	use_threads();
	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0) {
		in_turn(userns);
		_exit(7);
	}
	CHECK_EQ(status_of(pid), 7);
	passed("a child of a fork is one thread again");
	in_turn(userns);
	passed("a process is one thread again when its threads have ended");
	return 0;
}
