/*
 * Calls that the kernel makes wait (locks of files, queues, semaphores, children): each ends by
 * what it waits for, by a handler, and with the error that only waiting finds.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/wait.h>

static int file[2], queue, sems;
static pid_t child;
static char path[] = "/tmp/calls-that-wait.XXXXXX";
static _Atomic int handled, ended;

static void on_signal(int sig)
{
	(void)sig;
	handled++;
}

static int range(int fd, int cmd, short type, int at)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1 };

	return fcntl(fd, cmd, &l);
}

static int by_flock(void)
{
	return flock(file[0], LOCK_EX);
}

static int by_range(void)
{
	return range(file[0], F_OFD_SETLKW, F_WRLCK, 0);
}

static int by_receiving(void)
{
	struct { long type; char text[4]; } m;

	return msgrcv(queue, &m, sizeof m.text, 7, 0) < 0 ? -1 : 0;
}

static int by_semaphore(void)
{
	struct sembuf down = { 0, -1, 0 };

	return semop(sems, &down, 1);
}

static int by_waitid(void)
{
	return waitid(P_PID, (id_t)child, NULL, WEXITED | WNOWAIT);
}

static int by_waitpid(void)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? 0 : -1;
}

static void *waiter(void *arg)
{
	int (*call)(void) = *(int (**)(void))arg;

	CHECK_ERR(call(), EINTR);
	ended = 1;
	while (call()) /* one more signal may have been on its way */
		CHECK_EQ(errno, EINTR);
	ended = 2;
	return NULL;
}

static void start_child(void)
{
	child = fork();
	CHECK_SYS(child);
	if (child == 0)
		for (;;)
			pause();
}

static void end_child(void)
{
	CHECK_SYS(kill(child, SIGKILL));
}

static void lock_file(void)
{
	CHECK_SYS(flock(file[1], LOCK_EX));
}

static void unlock_file(void)
{
	CHECK_SYS(flock(file[1], LOCK_UN));
}

static void lock_range(void)
{
	CHECK_SYS(range(file[1], F_OFD_SETLK, F_WRLCK, 0));
}

static void unlock_range(void)
{
	CHECK_SYS(range(file[1], F_OFD_SETLK, F_UNLCK, 0));
}

static void nothing(void)
{
}

static void send_message(void)
{
	struct { long type; char text[4]; } m = { 7, "abc" };

	CHECK_SYS(msgsnd(queue, &m, sizeof m.text, 0));
}

static void raise_semaphore(void)
{
	struct sembuf up = { 0, 1, 0 };

	CHECK_SYS(semop(sems, &up, 1));
}

static void each(const char *name, void (*prepare)(void), int (*call)(void), void (*release)(void))
{
	pthread_t t;

	prepare();
	ended = 0;
	t = spawn(waiter, &call);
	/* It may not wait yet: once more until it was ended. */
	while (!ended) {
		CHECK_OK(pthread_kill(t, SIGUSR1));
		usleep(1000);
	}
	CHECK_EQ(ended, 1);
	release();
	join(t);
	CHECK_EQ(ended, 2);
	passed("%s", name);
}

/* Each of two processes waits for what the other has: one is told. */
static void deadlock(void)
{
	int to[2], status;
	char c;

	CHECK_SYS(pipe(to));
	CHECK_SYS(range(file[0], F_SETLK, F_WRLCK, 1));
	child = fork();
	CHECK_SYS(child);
	if (child == 0) {
		int fd = open(path, O_RDWR);

		if (range(fd, F_SETLK, F_WRLCK, 2) || write(to[1], "x", 1) != 1)
			_exit(1);
		_exit(range(fd, F_SETLKW, F_WRLCK, 1) ? 2 : 0);
	}
	CHECK_EQ(read(to[0], &c, 1), 1);
	if (range(file[0], F_SETLKW, F_WRLCK, 2)) {
		CHECK_EQ(errno, EDEADLK);
		CHECK_SYS(range(file[0], F_SETLK, F_UNLCK, 1));
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	} else {
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 2);
	}
	passed("deadlock is found");
}

static void mixed(void)
{
	struct sembuf ops[2] = { { 0, 1, 0 }, { 1, -1, IPC_NOWAIT } };
	struct sembuf zero = { 0, 0, IPC_NOWAIT };
	struct timespec bad = { 0, -1 }, none = { 0, 0 };
	struct sembuf down = { 0, -1, 0 };

	CHECK_ERR(semop(sems, ops, 2), EAGAIN);
	CHECK_SYS(semop(sems, &zero, 1)); /* nothing of it was done */
	CHECK_ERR(semtimedop(sems, &down, 1, &bad), EINVAL);
	CHECK_ERR(semtimedop(sems, &down, 1, &none), EAGAIN);
	CHECK_ERR(semop(-1, &down, 1), EINVAL);
	passed("semaphores that do not wait");
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(file[0] = mkstemp(path));
	CHECK_SYS(file[1] = open(path, O_RDWR));
	CHECK_SYS(queue = msgget(IPC_PRIVATE, 0600));
	CHECK_SYS(sems = semget(IPC_PRIVATE, 2, 0600));
	each("flock", lock_file, by_flock, unlock_file);
	each("lock of a range", lock_range, by_range, unlock_range);
	each("msgrcv", nothing, by_receiving, send_message);
	each("semop", nothing, by_semaphore, raise_semaphore);
	each("waitid without an answer", start_child, by_waitid, end_child);
	CHECK_EQ(waitpid(child, NULL, 0), child);
	each("waitpid", start_child, by_waitpid, end_child);
	CHECK_ERR(waitpid(child, NULL, 0), ECHILD);
	deadlock();
	mixed();
	CHECK(handled >= 6);
	CHECK_SYS(semctl(sems, 0, IPC_RMID));
	CHECK_SYS(msgctl(queue, IPC_RMID, NULL));
	unlink(path);
	return 0;
}
