/*
 * blocked.c: how soon another thread runs when one blocks in a call that the kernel makes it wait
 * in.
 *
 * In each round a thread makes another ready and then blocks; the figure is the time from there
 * until the other runs, which then ends the wait. A scheduler in user space that learns late that
 * its processor is blocked shows here, most of all with one processor.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

static char dir[] = "/tmp/weft-bench.XXXXXX", path[64];
static int fd[2]; /* two open files of the same thing */
static int id;	  /* a queue, a semaphore, a child */

/* ---- what is blocked in ---------------------------------------------------------------------- */

static void make_file(void)
{
	for (int i = 0; i < 2; i++) {
		fd[i] = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		must_sys(fd[i]);
	}
}

static void close_both(void)
{
	close(fd[0]);
	close(fd[1]);
	unlink(path);
}

static void flock_make(void)
{
	make_file();
	must_sys(flock(fd[1], LOCK_EX));
}

static void flock_block(void)
{
	must_sys(flock(fd[0], LOCK_EX));
}

static void flock_release(void)
{
	must_sys(flock(fd[1], LOCK_UN));
}

static void ofd_lock(int which, int cmd, short type)
{
	struct flock l = {.l_type = type, .l_whence = SEEK_SET};

	must_sys(fcntl(fd[which], cmd, &l));
}

static void ofd_make(void)
{
	make_file();
	ofd_lock(1, F_OFD_SETLK, F_WRLCK);
}

static void ofd_block(void)
{
	ofd_lock(0, F_OFD_SETLKW, F_WRLCK);
}

static void ofd_release(void)
{
	ofd_lock(1, F_OFD_SETLK, F_UNLCK);
}

static void wait_make(void)
{
	id = fork();
	must_sys(id);
	if (id == 0)
		for (;;)
			pause();
}

static void wait_block(void)
{
	int status;

	if (waitpid(id, &status, 0) != id || !WIFSIGNALED(status))
		die("waitpid", 0);
}

static void wait_release(void)
{
	must_sys(kill(id, SIGKILL));
}

static void nothing(void)
{
}

static void msg_make(void)
{
	id = msgget(IPC_PRIVATE, 0600);
	must_sys(id);
}

struct message {
	long type;
	char text[8];
};

static void msg_block(void)
{
	struct message m;

	if (msgrcv(id, &m, sizeof(m.text), 0, 0) != (ssize_t)sizeof(m.text))
		die("msgrcv", errno);
}

static void msg_release(void)
{
	struct message m = {1, "message"};

	must_sys(msgsnd(id, &m, sizeof(m.text), 0));
}

static void msg_end(void)
{
	must_sys(msgctl(id, IPC_RMID, NULL));
}

static void sem_make(void)
{
	id = semget(IPC_PRIVATE, 1, 0600);
	must_sys(id);
}

static void sem_add(short n)
{
	must_sys(semop(id, &(struct sembuf){.sem_op = n}, 1));
}

static void sem_block(void)
{
	sem_add(-1);
}

static void sem_release(void)
{
	sem_add(1);
}

static void sem_end(void)
{
	must_sys(semctl(id, 0, IPC_RMID));
}

static void fifo_make(void)
{
	must_sys(mkfifo(path, 0600));
}

static void fifo_block(void)
{
	fd[0] = open(path, O_RDONLY | O_CLOEXEC);
	must_sys(fd[0]);
}

static void fifo_release(void)
{
	fd[1] = open(path, O_WRONLY | O_CLOEXEC);
	must_sys(fd[1]);
}

static void tty_make(void)
{
	struct termios t;

	fd[1] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	must_sys(fd[1]);
	must_sys(grantpt(fd[1]));
	must_sys(unlockpt(fd[1]));
	fd[0] = open(ptsname(fd[1]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	must_sys(fd[0]);
	must_sys(tcgetattr(fd[0], &t));
	cfmakeraw(&t);
	must_sys(tcsetattr(fd[0], TCSANOW, &t));
}

static void tty_block(void)
{
	char c;

	if (read(fd[0], &c, 1) != 1)
		die("read from a terminal", errno);
}

static void tty_release(void)
{
	if (write(fd[1], "x", 1) != 1)
		die("write to a terminal", errno);
}

static void sync_block(void)
{
	static const char page[4096];

	if (pwrite(fd[0], page, sizeof(page), 0) != (ssize_t)sizeof(page))
		die("pwrite", errno);
	must_sys(fsync(fd[0]));
}

/* ---- the rounds ------------------------------------------------------------------------------ */

static const struct call {
	const char *name;
	void (*make)(void), (*block)(void), (*release)(void), (*end)(void);
} calls[] = {
	{"-flock", flock_make, flock_block, flock_release, close_both},
	{"-setlkw", ofd_make, ofd_block, ofd_release, close_both},
	{"-waitpid", wait_make, wait_block, wait_release, nothing},
	{"-msgrcv", msg_make, msg_block, msg_release, msg_end},
	{"-semop", sem_make, sem_block, sem_release, sem_end},
	{"-fifo", fifo_make, fifo_block, fifo_release, close_both},
	{"-tty", tty_make, tty_block, tty_release, close_both},
	{"-fsync", make_file, sync_block, nothing, close_both},
};

struct other {
	sem_t go, done;
	const struct call *call;
	uint64_t ran; /* when it ran; between go and done */
};

static void *other_main(void *arg)
{
	struct other *o = arg;

	for (;;) {
		must_sys(sem_wait(&o->go));
		o->ran = now_ns();
		if (!o->call)
			return NULL;
		o->call->release();
		must_sys(sem_post(&o->done));
	}
}

void bench_blocked(const struct bench *b)
{
	struct other o = {0};
	uint64_t *late = calloc((size_t)b->a, sizeof(*late));
	pthread_t id_other;

	if (!late || !mkdtemp(dir))
		die("no room", errno);
	snprintf(path, sizeof(path), "%s/it", dir);
	must_sys(sem_init(&o.go, 0, 0));
	must_sys(sem_init(&o.done, 0, 0));
	must(pthread_create(&id_other, NULL, other_main, &o));
	for (size_t c = 0; c < sizeof(calls) / sizeof(calls[0]); c++) {
		char name[32];

		o.call = &calls[c];
		for (long i = 0; i < b->a; i++) {
			o.call->make();
			uint64_t start = now_ns();

			must_sys(sem_post(&o.go));
			o.call->block();
			must_sys(sem_wait(&o.done));
			o.call->end();
			late[i] = o.ran - start;
		}
		snprintf(name, sizeof(name), "%s%s", b->name, o.call->name);
		print_quantiles(&(struct bench){.name = name}, late, b->a);
	}
	o.call = NULL;
	must_sys(sem_post(&o.go));
	must(pthread_join(id_other, NULL));
	must_sys(rmdir(dir));
	free(late);
}
