/*
 * A destructor that does not return: it calls pthread_exit, or acts on a cancellation that came
 * after the thread's function.  Each way in which the function can end, each way in which the
 * destructor can, for a thread and for main.  A line shows the destructors that ran: what libc leaves
 * out then is left out.
 */
#include "check.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

enum function { RETURNS, EXITS, CANCELLED, FUNCTIONS };
enum destructor { COMES_BACK, ENDS, TESTS, READS, IS_ASYNC, SETS_AND_ENDS, MAKES_A_KEY, DESTRUCTORS };

static const char *const function_name[] = {"returns", "exits", "is cancelled"};
static const char *const destructor_name[] = {"comes back", "ends",	     "tests",	    "reads",
					      "is async",   "sets and ends", "makes a key"};

static pthread_key_t first, second, third, late;
static enum destructor how;
static int pipe_[2];

/* What an ended frame leaves on the stack must not be looked at. */
static __attribute__((noinline)) void burn(int n)
{
	volatile char room[2000];

	memset((void *)room, 0x5a, sizeof room);
	if (n)
		burn(n - 1);
	room[0] = room[1];
}

static void destroy_first(void *value)
{
	char c;

	CHECK(value == &first);
	CHECK_EQ(write(STDOUT_FILENO, "1", 1), 1);
	burn(5);
	switch (how) {
	case ENDS:
		pthread_exit((void *)7);
	case TESTS:
		CHECK_OK(pthread_cancel(pthread_self()));
		pthread_testcancel();
		break;
	case READS:
		CHECK_OK(pthread_cancel(pthread_self()));
		CHECK_EQ(read(pipe_[0], &c, 0), 0);
		break;
	case IS_ASYNC:
		CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
		CHECK_OK(pthread_cancel(pthread_self()));
		break;
	case SETS_AND_ENDS:
		CHECK_OK(pthread_setspecific(third, &third));
		pthread_exit((void *)8);
	case MAKES_A_KEY:
		CHECK_OK(pthread_key_create(&late, destroy_first));
		CHECK_OK(pthread_setspecific(late, &first));
		how = COMES_BACK;
		break;
	default:
		break;
	}
}

static void destroy_second(void *value)
{
	CHECK(value == &second);
	CHECK_EQ(write(STDOUT_FILENO, "2", 1), 1);
}

static void destroy_third(void *value)
{
	CHECK(value == &third);
	CHECK_EQ(write(STDOUT_FILENO, "3", 1), 1);
}

static void function(enum function f)
{
	CHECK_OK(pthread_setspecific(first, &first));
	CHECK_OK(pthread_setspecific(second, &second));
	switch (f) {
	case EXITS:
		pthread_exit((void *)5);
	case CANCELLED:
		CHECK_OK(pthread_cancel(pthread_self()));
		pthread_testcancel();
	default:
		return;
	}
}

static void *thread(void *arg)
{
	function((enum function)(long)arg);
	return (void *)3;
}

static void row(enum function f, enum destructor d)
{
	void *result = NULL;
	pthread_t t;

	how = d;
	t = spawn(thread, (void *)(long)f);
	result = join(t);
	passed("function %s, destructor %s: %ld", function_name[f], destructor_name[d], (long)result);
	if (d == MAKES_A_KEY)
		CHECK_OK(pthread_key_delete(late));
}

static void *ends_the_process(void *arg)
{
	let_others_block();
	CHECK_EQ(write(STDOUT_FILENO, ".\n", 2), 2);
	_exit((int)(long)arg);
}

static void main_row(enum function f, enum destructor d)
{
	int status;
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0) {
		how = d;
		spawn(ends_the_process, (void *)6);
		function(f);
		if (f == RETURNS)
			pthread_exit((void *)3);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 6 << 8);
	passed("main %s, destructor %s", function_name[f], destructor_name[d]);
}

/* ---- a handler that ends the thread, perhaps before its function begins ---- */

static void handler(int sig)
{
	(void)sig;
	pthread_exit((void *)9);
}

static void *waits(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void handlers(void)
{
	struct sigaction sa = {.sa_handler = handler};

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	for (int i = 0; i < 100; i++) {
		pthread_t t = spawn(waits, NULL);

		CHECK_OK(pthread_kill(t, SIGUSR1));
		CHECK(join(t) == (void *)9);
	}
	passed("handlers that end a thread that may not have begun");
}

/* ---- a handler of exit's that ends main ---- */

static void ends_main(void)
{
	pthread_exit(NULL);
}

static void in_exit(void)
{
	int status;
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0) {
		spawn(ends_the_process, (void *)4);
		CHECK_EQ(atexit(ends_main), 0);
		exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 4 << 8);
	passed("a handler of exit's that ends main");
}

int main(void)
{
	CHECK_SYS(pipe(pipe_));
	CHECK_OK(pthread_key_create(&third, destroy_third));
	CHECK_OK(pthread_key_create(&first, destroy_first));
	CHECK_OK(pthread_key_create(&second, destroy_second));
	for (int f = 0; f < FUNCTIONS; f++)
		for (int d = 0; d < DESTRUCTORS; d++) {
			/* Some libcs (2.41) act on it though the thread is exiting already. */
			if (d == IS_ASYNC && f != RETURNS)
				continue;
			row((enum function)f, (enum destructor)d);
			if (d != IS_ASYNC) /* main exits in each row */
				main_row((enum function)f, (enum destructor)d);
		}
	handlers();
	in_exit();
	return 0;
}
