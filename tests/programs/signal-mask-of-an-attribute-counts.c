/*
 * A thread that was made with a signal mask of its own takes what it lets in, though all others keep it
 * out and did so before it was there.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

static sem_t waits;
static pthread_t by;

static void handler(int sig)
{
	(void)sig;
	by = pthread_self();
	CHECK_SYS(sem_post(&waits));
}

static void *parked(void *arg)
{
	while (sem_wait(&waits) == -1)
		CHECK_EQ(errno, EINTR);
	return arg;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	sigset_t all, none;
	pthread_attr_t attr;
	pthread_t t;
	pid_t pid;

	CHECK_SYS(sem_init(&waits, 0, 0));
	CHECK(signal(SIGUSR1, handler) != SIG_ERR);
	sigfillset(&all);
	sigemptyset(&none);
	CHECK_OK(pthread_sigmask(SIG_SETMASK, &all, NULL));
	join(spawn(nothing, NULL));
	let_others_block();
	CHECK_OK(pthread_attr_init(&attr));
	CHECK_OK(pthread_attr_setsigmask_np(&attr, &none));
	CHECK_OK(pthread_create(&t, &attr, parked, NULL));
	let_others_block();
	pid = fork();
	CHECK_SYS(pid);
	if (pid == 0) {
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	join(t);
	CHECK(pthread_equal(by, t));
	passed("the thread with the attribute has it");
	return 0;
}
