/*
 * Calls of libc that wait inside libc, each cancelled before it begins and while it waits, and left
 * to end by itself with cancellation disabled.  Afterwards the stream is free again, and the
 * process goes on.
 */
#include "check.h"

#include <aio.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <threads.h>
#include <wchar.h>

static FILE *in, *out; /* of pipes: one is empty, one is full */
static int in_fd[2], out_fd[2];
static const char fifo[] = "fifo"; /* of the row that runs, in the folder of this run */
static char line[100];
static wchar_t wide[100];

/* ---- the calls ---- */

static void do_getc(void)
{
	getc(in);
}

static void do_fgetc(void)
{
	fgetc(in);
}

static void do_getc_unlocked(void)
{
	getc_unlocked(in);
}

static void do_fgets(void)
{
	CHECK(fgets(line, sizeof line, in));
}

static void do_fgets_unlocked(void)
{
	CHECK(fgets_unlocked(line, sizeof line, in));
}

static void do_getline(void)
{
	char *p = NULL;
	size_t n = 0;

	CHECK(getline(&p, &n, in) > 0);
	free(p);
}

static void do_getdelim(void)
{
	char *p = NULL;
	size_t n = 0;

	CHECK(getdelim(&p, &n, 'x', in) > 0);
	free(p);
}

static void do_fread(void)
{
	CHECK_EQ(fread(line, 1, 1, in), 1);
}

static void do_fscanf(void)
{
	CHECK_EQ(fscanf(in, "%1s", line), 1);
}

static void do_getw(void)
{
	getw(in);
}

static void do_getwc(void)
{
	getwc(in);
}

static void do_fgetws(void)
{
	CHECK(fgetws(wide, 100, in));
}

static void do_fwscanf(void)
{
	CHECK_EQ(fwscanf(in, L"%1ls", wide), 1);
}

static void do_fflush(void)
{
	CHECK(putc_unlocked('y', out) == 'y');
	CHECK_EQ(fflush(out), 0);
}

static void do_fputs(void)
{
	CHECK(fputs("line\n", out) >= 0);
}

static void do_fputc(void)
{
	CHECK_EQ(fputc('\n', out), '\n');
}

static void do_putc(void)
{
	CHECK_EQ(putc('\n', out), '\n');
}

static void do_fwrite(void)
{
	CHECK_EQ(fwrite("line\n", 1, 5, out), 5);
}

static void do_fprintf(void)
{
	CHECK_EQ(fprintf(out, "%d\n", 1), 2);
}

static void do_dprintf(void)
{
	CHECK_EQ(dprintf(out_fd[1], "%d\n", 1), 2);
}

static void do_putwc(void)
{
	CHECK_EQ(putwc(L'\n', out), L'\n');
}

static void do_fputws(void)
{
	CHECK(fputws(L"line\n", out) >= 0);
}

static void do_fwprintf(void)
{
	CHECK_EQ(fwprintf(out, L"%d\n", 1), 2);
}

static void do_system(void)
{
	snprintf(line, sizeof line, "read x <&%d", in_fd[0]);
	CHECK_EQ(system(line), 0);
}

static void do_fopen(void)
{
	FILE *f = fopen(fifo, "r");

	CHECK(f);
	CHECK_EQ(fclose(f), 0);
}

static void do_read(void)
{
	CHECK_EQ(read(in_fd[0], line, 1), 1);
}

static void do_write(void)
{
	CHECK_EQ(write(out_fd[1], "x", 1), 1);
}

static void do_poll(void)
{
	struct pollfd p = {.fd = in_fd[0], .events = POLLIN};

	CHECK_EQ(poll(&p, 1, -1), 1);
}

static void do_open(void)
{
	int fd = open(fifo, O_RDONLY);

	CHECK_SYS(fd);
	CHECK_SYS(close(fd));
}

static void do_aio_suspend(void)
{
	static struct aiocb cb; /* goes on after its thread */
	static char byte;
	const struct aiocb *list[] = {&cb};

	cb = (struct aiocb){.aio_fildes = in_fd[0], .aio_buf = &byte, .aio_nbytes = 1};
	CHECK_SYS(aio_read(&cb));
	CHECK_EQ(aio_suspend(list, 1, NULL), 0);
}

enum stream { IN, OUT, NEITHER };

static const struct {
	const char *name;
	void (*call)(void);
	enum stream stream; /* that it has locked while it waits */
	int out;	    /* it waits for room, else for data */
} rows[] = {
	{"getc", do_getc, IN, 0},
	{"fgetc", do_fgetc, IN, 0},
	{"getc_unlocked", do_getc_unlocked, NEITHER, 0},
	{"fgets", do_fgets, IN, 0},
	{"fgets_unlocked", do_fgets_unlocked, NEITHER, 0},
	{"getline", do_getline, IN, 0},
	{"getdelim", do_getdelim, IN, 0},
	{"fread", do_fread, IN, 0},
	{"fscanf", do_fscanf, IN, 0},
	{"getw", do_getw, IN, 0},
	{"getwc", do_getwc, IN, 0},
	{"fgetws", do_fgetws, IN, 0},
	{"fwscanf", do_fwscanf, IN, 0},
	{"fflush", do_fflush, OUT, 1},
	{"fputs", do_fputs, OUT, 1},
	{"fputc", do_fputc, OUT, 1},
	{"putc", do_putc, OUT, 1},
	{"fwrite", do_fwrite, OUT, 1},
	{"fprintf", do_fprintf, OUT, 1},
	{"dprintf", do_dprintf, NEITHER, 1},
	{"putwc", do_putwc, OUT, 1},
	{"fputws", do_fputws, OUT, 1},
	{"fwprintf", do_fwprintf, OUT, 1},
	{"system", do_system, NEITHER, 0},
	{"fopen", do_fopen, NEITHER, 0},
	{"read", do_read, NEITHER, 0},
	{"write", do_write, NEITHER, 1},
	{"poll", do_poll, NEITHER, 0},
	{"open", do_open, NEITHER, 0},
	{"aio_suspend", do_aio_suspend, NEITHER, 0},
};

/* ---- one run of a row ---- */

enum when { BEFORE, WHILE, NEVER };
static const char *const when_name[] = {"before", "while it waits", "disabled"};

static atomic_int about, cleaned;

struct job {
	void (*call)(void);
	enum when when;
};

static void clean(void *arg)
{
	(void)arg;
	cleaned++;
}

static void *thread(void *arg)
{
	struct job *job = arg;

	pthread_cleanup_push(clean, NULL);
	if (job->when == NEVER)
		CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	if (job->when == BEFORE)
		CHECK_OK(pthread_cancel(pthread_self()));
	about = 1;
	job->call();
	pthread_cleanup_pop(0);
	return arg;
}

static void fill(int fd)
{
	char page[4096] = {0};

	CHECK_SYS(fcntl(fd, F_SETFL, O_NONBLOCK));
	while (write(fd, page, sizeof page) > 0)
		;
	CHECK_EQ(errno, EAGAIN);
	CHECK_SYS(fcntl(fd, F_SETFL, 0));
}

static void set_up(void)
{
	CHECK_SYS(pipe(in_fd));
	CHECK_SYS(pipe(out_fd));
	in = fdopen(in_fd[0], "r");
	out = fdopen(out_fd[1], "w");
	CHECK(in && out);
	setvbuf(out, NULL, _IOLBF, 1000);
	fill(out_fd[1]);
	unlink(fifo); /* a row that failed has left it */
	CHECK_SYS(mkfifo(fifo, 0600));
}

/* What was waited for comes: enough for each of them. */
static void let_go(int r)
{
	char page[4096];

	if (rows[r].call == do_fopen || rows[r].call == do_open) {
		int fd = open(fifo, O_WRONLY);

		CHECK_SYS(fd);
		CHECK_SYS(close(fd));
	} else if (rows[r].out) {
		CHECK(read(out_fd[0], page, sizeof page) > 0);
	} else {
		CHECK_EQ(write(in_fd[1], "aaax\n", 5), 5);
	}
}

static const char *locked(FILE *f)
{
	if (ftrylockfile(f))
		return "locked";
	funlockfile(f);
	return "free";
}

/* A process of its own: what a cancelled call leaves behind (a buffer, a child) is gone with it. */
static int run(int r, enum when when)
{
	struct job job = {rows[r].call, when};
	enum stream s = rows[r].stream;
	pthread_t t;
	void *value;

	alarm(20);
	signal(SIGPIPE, SIG_IGN);
	set_up();
	t = spawn(thread, &job);
	while (!about)
		sched_yield();
	let_others_block();
	if (when == NEVER && s != NEITHER)
		printf("%s, %s: %s meanwhile\n", rows[r].name, when_name[when], locked(s == IN ? in : out));
	if (when != BEFORE)
		CHECK_OK(pthread_cancel(t));
	if (when == NEVER) {
		let_others_block();
		let_go(r);
	}
	value = join(t);
	printf("%s, %s: %s, cleaned up %d, streams %s %s\n", rows[r].name, when_name[when],
	       value == PTHREAD_CANCELED ? "cancelled" : "ended", cleaned, locked(in), locked(out));
	fflush(stdout);
	unlink(fifo);
	_exit(0);
}

int main(void)
{
	enum { ROWS = sizeof rows / sizeof rows[0] };

	for (int r = 0; r < ROWS; r++)
		for (enum when when = BEFORE; when <= NEVER; when++) {
			pid_t pid = fork();
			int status;

			CHECK_SYS(pid);
			if (pid == 0)
				run(r, when);
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			if (status)
				printf("%s, %s: status %x\n", rows[r].name, when_name[when], status);
			fflush(stdout);
		}
	return 0;
}
