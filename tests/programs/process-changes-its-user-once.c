/*
 * A change of ids is made once by each kernel thread.  With the saved id of root, setuid(0) changes the
 * effective id alone; made twice it would change all three.  Main calls it and other threads do, who
 * may run on any kernel thread.  And where a thread's ids have been changed past libc so that it cannot
 * follow, the process aborts, and its handler of SIGABRT runs first.  Needs root.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { NOBODY = 65534, THREADS = 6, ROUNDS = 12, CHILD_OK = 7 };

static atomic_int stop, caller;
static pthread_barrier_t ready, changed;

static void changes(void)
{
	CHECK_SYS(setuid(0));
}

static void look(void)
{
	uid_t r, e, s;

	CHECK_EQ(syscall(SYS_getresuid, &r, &e, &s), 0);
	CHECK_EQ(r, NOBODY);
	CHECK_EQ(e, 0);
	CHECK_EQ(s, 0);
}

static void *thread(void *arg)
{
	struct timespec ts = { .tv_nsec = 300000 };
	long i = (long)arg;

	if (i % 2)
		nanosleep(&ts, NULL); /* to go on wherever it is woken */
	pthread_barrier_wait(&ready);
	if (i == caller)
		changes();
	pthread_barrier_wait(&changed);
	for (int n = 0; n < 20; n++) {
		look();
		sched_yield();
		if (i % 2)
			nanosleep(&ts, NULL);
	}
	return NULL;
}

static void once(void)
{
	pthread_t t[THREADS];

	CHECK_SYS(setresuid(NOBODY, NOBODY, 0));
	CHECK_OK(pthread_barrier_init(&ready, NULL, THREADS + 1));
	CHECK_OK(pthread_barrier_init(&changed, NULL, THREADS + 1));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(thread, (void *)i);
	thread((void *)(long)THREADS);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	_exit(CHILD_OK);
}

static void on_abort(int sig)
{
	(void)sig;
	_exit(CHILD_OK);
}

static void *differs(void *arg)
{
	CHECK_EQ(syscall(SYS_setresuid, 2001, 2002, 2003), 0);
	pthread_barrier_wait(&ready);
	pause();
	return arg;
}

static void *tries(void *arg)
{
	setresuid(1001, 1002, 1003);
	return arg;
}

static void aborts(void)
{
	CHECK(signal(SIGABRT, on_abort) != SIG_ERR);
	CHECK_OK(pthread_barrier_init(&ready, NULL, 2));
	spawn(differs, NULL);
	pthread_barrier_wait(&ready);
	if (caller == THREADS)
		tries(NULL);
	else
		join(spawn(tries, NULL));
	_exit(1);
}

static void in_child(void (*fn)(void))
{
	int status;
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0)
		fn();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), CHILD_OK);
}

int main(void)
{
	if (getuid() == 0) {
		for (int i = 0; i < ROUNDS; i++) {
			caller = i % 2 ? THREADS : i / 2 % THREADS;
			in_child(once);
			in_child(aborts);
		}
	}
	passed("every thread has changed once, called by main and by others");
	passed("what cannot be changed by all aborts, after the program's handler");
	return 0;
}
