/*
 * File locks between threads: flock and open-file-description locks (each thread has its own open
 * file) exclude threads of one process and give the CPU away while they wait; lockf and fcntl locks
 * of another process are waited for.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { THREADS = 10, STEPS = 30 };

static char path[] = "/tmp/io-file-locks.XXXXXX";
static long count;
static int inside;

static void take(int fd, int how)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (how)
		CHECK_SYS(fcntl(fd, F_OFD_SETLKW, &fl));
	else
		CHECK_SYS(flock(fd, LOCK_EX));
}

static void drop(int fd, int how)
{
	struct flock fl = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	if (how)
		CHECK_SYS(fcntl(fd, F_OFD_SETLK, &fl));
	else
		CHECK_SYS(flock(fd, LOCK_UN));
}

static void *work(void *arg)
{
	int fd, how = (int)(long)arg;

	CHECK_SYS(fd = open(path, O_RDWR));
	for (int i = 0; i < STEPS; i++) {
		take(fd, how);
		CHECK_EQ(inside++, 0);
		long seen = count;

		sched_yield();
		count = seen + 1;
		CHECK_EQ(--inside, 0);
		drop(fd, how);
	}
	CHECK_SYS(close(fd));
	return NULL;
}

static void *wait_for_process(void *arg)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 1 };
	int fd;

	CHECK_SYS(fd = open(path, O_RDWR));
	if (arg) {
		CHECK_SYS(lseek(fd, 100, SEEK_SET));
		CHECK_SYS(lockf(fd, F_LOCK, 1));
	} else {
		CHECK_SYS(fcntl(fd, F_SETLKW, &fl));
	}
	CHECK_SYS(close(fd));
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	int fd, to[2], from[2];
	char c;
	pid_t pid;

	CHECK_SYS(fd = mkstemp(path));
	for (int how = 0; how < 2; how++) {
		count = 0;
		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(work, (void *)(long)how);
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
		CHECK_EQ(count, THREADS * STEPS);
		passed("%s: %ld steps", how ? "open file description locks" : "flock", count);
	}
	CHECK_SYS(pipe(to));
	CHECK_SYS(pipe(from));
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 200 };

		CHECK_SYS(fcntl(fd, F_SETLK, &fl));
		CHECK_EQ(write(from[1], "l", 1), 1);
		CHECK_EQ(read(to[0], &c, 1), 1);
		_exit(0);
	}
	CHECK_EQ(read(from[0], &c, 1), 1);
	for (int i = 0; i < 6; i++)
		t[i] = spawn(wait_for_process, i % 2 ? "lockf" : NULL);
	let_others_block();
	for (int i = 0; i < 6; i++)
		CHECK_EQ(pthread_tryjoin_np(t[i], NULL), EBUSY);
	CHECK_EQ(write(to[1], "x", 1), 1);
	for (int i = 0; i < 6; i++)
		join(t[i]);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_SYS(unlink(path));
	passed("locks of another process were waited for");
	return 0;
}
