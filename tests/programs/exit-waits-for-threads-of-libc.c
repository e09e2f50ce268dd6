/*
 * Main has called pthread_exit and no thread that it made is left: the process goes on while libc
 * has threads of its own, which serve a timer or a request and call the program.  Each row is a
 * child process; its status and what its callbacks wrote are the result.
 */
#include "check.h"

#include <aio.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

static int fd[2]; /* what row waits for comes from the parent */
static int ticks;
static pthread_t main_thread, last;
static char byte;

static void *thread(void *arg)
{
	return arg;
}

static void *slow_thread(void *arg)
{
	let_others_block();
	return arg;
}

static void at_end(void)
{
	printf("at the end\n");
	fflush(stdout);
}

static void fifth_tick_ends(union sigval v)
{
	(void)v;
	if (++ticks == 5) {
		printf("fifth tick\n");
		exit(7);
	}
}

static void ticks_with_threads(union sigval v)
{
	pthread_t t[3];

	(void)v;
	for (int i = 0; i < 3; i++)
		t[i] = spawn(thread, &t[i]);
	for (int i = 0; i < 3; i++)
		CHECK(join(t[i]) == &t[i]);
	if (++ticks == 3) {
		printf("third tick\n");
		exit(8);
	}
}

static void tick_joins(union sigval v)
{
	static atomic_int called;
	void *value;

	(void)v;
	if (called++)
		return; /* the next tick does not wait for this one */
	CHECK_OK(pthread_join(main_thread, &value));
	CHECK(value == &fd);
	CHECK(join(last) == &last);
	printf("joined\n");
	exit(9);
}

static void tick_leaves_a_thread(union sigval v)
{
	(void)v;
	if (++ticks == 1)
		CHECK_OK(pthread_detach(spawn(slow_thread, NULL)));
	if (ticks == 3)
		exit(10);
}

static void start_timer(void (*called)(union sigval))
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD};
	struct itimerspec its = {{0, 20000000}, {0, 20000000}};
	timer_t timer;

	ev.sigev_notify_function = called;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
}

static void request_done(union sigval v)
{
	struct aiocb *cb = v.sival_ptr;

	CHECK_EQ(aio_error(cb), 0);
	CHECK_EQ(aio_return(cb), 1);
	printf("read %c\n", byte);
	fflush(stdout);
}

static void start_request(void)
{
	static struct aiocb cb;

	cb = (struct aiocb){.aio_fildes = fd[0], .aio_buf = &byte, .aio_nbytes = 1};
	cb.aio_sigevent.sigev_notify = SIGEV_THREAD;
	cb.aio_sigevent.sigev_notify_function = request_done;
	cb.aio_sigevent.sigev_value.sival_ptr = &cb;
	CHECK_SYS(aio_read(&cb));
}

static const struct {
	const char *name;
	void (*called)(union sigval); /* by a timer; NULL: a request */
	int status;
} rows[] = {
	{"a timer whose fifth tick ends the process", fifth_tick_ends, 7},
	{"a timer that makes threads", ticks_with_threads, 8},
	{"a timer that joins main and the last thread", tick_joins, 9},
	{"a timer that leaves a thread behind", tick_leaves_a_thread, 10},
	{"a request, whose threads end", NULL, 0},
};

static void row(int i, int first)
{
	main_thread = pthread_self();
	alarm(30);
	CHECK_EQ(atexit(at_end), 0);
	if (first)
		join(spawn(thread, NULL));
	if (rows[i].called)
		start_timer(rows[i].called);
	else
		start_request();
	last = spawn(slow_thread, &last);
	if (rows[i].called != tick_joins)
		CHECK_OK(pthread_detach(last));
	pthread_exit(&fd);
}

int main(void)
{
	for (int first = 0; first < 2; first++)
		for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
			int status;
			pid_t pid;

			CHECK_SYS(pipe(fd));
			pid = fork();
			CHECK_SYS(pid);
			if (pid == 0)
				row((int)i, first);
			if (!rows[i].called) {
				let_others_block();
				let_others_block();
				let_others_block();
				CHECK_EQ(write(fd[1], "z", 1), 1);
			}
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			CHECK_EQ(status, rows[i].status << 8);
			CHECK_SYS(close(fd[0]));
			CHECK_SYS(close(fd[1]));
			passed("%s, %s", rows[i].name, first ? "after another thread" : "before");
		}
	return 0;
}
