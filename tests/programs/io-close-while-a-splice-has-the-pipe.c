/*
 * Another process's splice() sleeps with the lock of a pipe that a thread here is about to read, and another
 * thread closes the reader's number.  The closer must not keep the processor for itself meanwhile: main has what
 * splice() waits for.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int pair[2], ends[2];

static void *reads(void *arg)
{
	char b[16];

	CHECK(read(ends[0], b, sizeof(b)) >= 1);
	return arg;
}

static void *closes(void *arg)
{
	CHECK_OK(close(ends[0]));
	return arg;
}

/* A byte for the reader, and then the lock, before the reader has it. */
static void child(void)
{
	close(ends[0]);
	usleep(200000);
	if (write(ends[1], "y", 1) != 1)
		_exit(1);
	_exit(splice(pair[0], NULL, ends[1], NULL, 100, 0) != 5);
}

int main(void)
{
	pthread_t reader, closer;
	int status;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	CHECK_OK(pipe(ends));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		child();
	reader = spawn(reads, NULL);
	usleep(300000);
	closer = spawn(closes, NULL);
	usleep(50000);
	CHECK(write(pair[1], "hello", 5) == 5);
	join(closer);
	join(reader);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0);
	return 0;
}
