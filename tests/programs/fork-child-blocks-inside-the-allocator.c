/*
 * A forked child that makes no thread waited for a descriptor once.  Later a signal interrupts it in malloc(), and
 * its handler makes a call that blocks in the kernel: it goes on when that is over, as in any process.
 */
#include "check.h"
#include <poll.h>
#include <signal.h>
#include <sys/msg.h>
#include <sys/wait.h>

struct message {
	long type;
	char c;
};

static int queue, ack[2], empty[2];

static void on_signal(int sig)
{
	int saved = errno;
	struct message m;

	(void)sig;
	CHECK(msgrcv(queue, &m, 1, 0, 0) == 1);
	CHECK(write(ack[1], "s", 1) == 1);
	errno = saved;
}

static void *other(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void child(void)
{
	struct pollfd p = {empty[0], POLLIN, 0};

	CHECK(poll(&p, 1, 1) == 0);
	CHECK(write(ack[1], "p", 1) == 1);
	for (;;)
		allocate();
}

static void check_child(void)
{
	struct message m = {1, 'm'};
	pid_t pid = fork();
	int status;
	char c;

	CHECK(pid >= 0);
	if (pid == 0)
		child();
	CHECK(read(ack[0], &c, 1) == 1 && c == 'p');
	for (int i = 0; i < 20; i++) {
		CHECK(kill(pid, SIGUSR1) == 0);
		usleep(300);
		CHECK(msgsnd(queue, &m, 1, 0) == 0);
		CHECK(read(ack[0], &c, 1) == 1 && c == 's');
	}
	CHECK(kill(pid, SIGKILL) == 0);
	CHECK(waitpid(pid, &status, 0) == pid);
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	pthread_t t;

	CHECK((queue = msgget(IPC_PRIVATE, 0600)) >= 0);
	CHECK(pipe(ack) == 0 && pipe(empty) == 0);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_create(&t, NULL, other, NULL) == 0);
	for (int i = 0; i < 20; i++)
		check_child();
	CHECK(msgctl(queue, IPC_RMID, NULL) == 0);
	passed("20 children, 20 signals each");
	fflush(stdout);
	_exit(0);
}
