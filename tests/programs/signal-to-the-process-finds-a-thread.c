/*
 * A signal sent to the process runs its handler on some thread that does not block it, also when
 * every thread is asleep: in a condition wait, a read, a sleep; alarm and a child's SIGCHLD too;
 * with the program blocked in all threads but one it is that one; blocked in all, it waits.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>

static atomic_int handled;
static atomic_ulong by;
static sem_t ready;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static int done;

static void handler(int sig)
{
	(void)sig;
	by = (unsigned long)pthread_self();
	handled++;
}

static void await(int n)
{
	/* The waiter may itself be the one that takes the signal. */
	while (handled < n) {
		struct timespec ts = { 0, 1000000 };

		nanosleep(&ts, NULL);
	}
}

static void *parked(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(arg ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL));
	CHECK_SYS(sem_post(&ready));
	CHECK_OK(pthread_mutex_lock(&mu));
	while (!done)
		CHECK_OK(pthread_cond_wait(&cv, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	struct itimerval it = { .it_value = { 0, 20000 } };
	pthread_t t[6];
	sigset_t set, pending;
	pid_t pid;
	int status;

	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sigaction(SIGALRM, &sa, NULL));
	CHECK_SYS(sigaction(SIGCHLD, &sa, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < 5; i++)
		t[i] = spawn(parked, NULL);
	for (int i = 0; i < 5; i++)
		CHECK_SYS(sem_wait(&ready));
	CHECK_SYS(kill(getpid(), SIGUSR1));
	let_others_block();
	CHECK_EQ(handled, 0);
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, SIGUSR1), 1);
	passed("blocked everywhere it stays pending");

	t[5] = spawn(parked, "open");
	CHECK_SYS(sem_wait(&ready));
	await(1);
	CHECK_EQ(by, (unsigned long)t[5]);
	passed("the thread that opens takes it");
	for (int i = 2; i <= 20; i++) {
		CHECK_SYS(kill(getpid(), SIGUSR1));
		await(i);
		CHECK_EQ(by, (unsigned long)t[5]);
	}
	passed("and the next 19, though it is parked");

	CHECK_SYS(setitimer(ITIMER_REAL, &it, NULL));
	await(21);
	passed("a timer's SIGALRM while all were waiting");
	CHECK_SYS(pid = fork());
	if (pid == 0)
		_exit(9);
	await(22);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 9);
	passed("a child's SIGCHLD");

	CHECK_OK(pthread_mutex_lock(&mu));
	done = 1;
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
	for (int i = 0; i < 6; i++)
		join(t[i]);
	return 0;
}
