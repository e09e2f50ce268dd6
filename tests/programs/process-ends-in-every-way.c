/*
 * A process ends while other threads run, wait and are being made: by return from main, exit,
 * quick_exit, _exit, abort and a fault, each called by main and by a thread; and after main's
 * pthread_exit by the last thread's. Status, handlers (their order, and that they may still use
 * threads) and flushed output are those of the way taken; two threads that call exit at once make
 * one end.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum way { RETURN, EXIT, QUICK, UNDERSCORE, ABORT, FAULT, TWO_EXITS, LAST, WAYS };

static const char *const names[] = {"return", "exit", "quick_exit", "_exit", "abort", "fault",
				    "two exits", "the last thread's end"};
static sem_t never;
static int silent[2];
static pthread_barrier_t both;

static void *waits(void *arg)
{
	char c;

	switch ((long)arg % 4) {
	case 0:
		for (;;)
			sem_wait(&never);
	case 1:
		for (;;)
			sleep(1000);
	case 2:
		for (;;) {
			sched_yield();
			free(malloc(100));
		}
	default:
		for (;;)
			if (read(silent[0], &c, 1) < 0)
				return arg;
	}
}

static void *nothing(void *arg)
{
	return arg;
}

static void *makes_threads(void *arg)
{
	for (;;) {
		pthread_t t;

		if (pthread_create(&t, NULL, nothing, NULL) == 0)
			pthread_join(t, NULL);
		sched_yield();
	}
	return arg;
}

static void say(const char *text)
{
	CHECK(write(STDOUT_FILENO, text, strlen(text)) > 0);
}

static void first(void)
{
	say("first ");
}

/* A thread that ends while the last thread's exit runs handlers calls exit as well; since 2.41 it waits there. */
static bool handlers_make_threads = true;

static void second(void)
{
	if (handlers_make_threads)
		join(spawn(nothing, NULL));
	say("second ");
}

static void quick(void)
{
	join(spawn(nothing, NULL));
	say("quick ");
}

static void *exits(void *arg)
{
	pthread_barrier_wait(&both);
	exit((int)(long)arg);
}

static void end(enum way way)
{
	switch (way) {
	case EXIT:
		exit(3);
	case QUICK:
		quick_exit(4);
	case UNDERSCORE:
		_exit(5);
	case ABORT:
		abort();
	case FAULT:
		*(volatile int *)8 = 1;
		break;
	case TWO_EXITS:
		spawn(exits, (void *)6L);
		exits((void *)6L);
	default:
		break;
	}
}

static void *ends(void *arg)
{
	end((enum way)(long)arg);
	return arg;
}

static void *ends_last(void *arg)
{
	for (int i = 0; i < 10; i++)
		sched_yield();
	say("last ");
	return arg;
}

static int in_child(enum way way, int thread)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	CHECK_OK(atexit(first));
	CHECK_OK(atexit(second));
	CHECK_OK(at_quick_exit(quick));
	CHECK_SYS(sem_init(&never, 0, 0));
	CHECK_SYS(pipe(silent));
	CHECK_OK(pthread_barrier_init(&both, NULL, 2));
	printf("buffered "); /* flushed by exit alone */
	if (way == LAST) {
		handlers_make_threads = libc_minor() < 41;
		for (int i = 0; i < 3; i++)
			CHECK_OK(pthread_detach(spawn(nothing, NULL)));
		if (thread)
			join(spawn(nothing, NULL));
		spawn(ends_last, NULL);
		pthread_exit(NULL);
	}
	for (long i = 0; i < 12; i++)
		spawn(waits, (void *)i);
	spawn(makes_threads, NULL);
	let_others_block();
	if (!thread) {
		end(way);
		return 2;
	}
	join(spawn(ends, (void *)(long)way));
	return 2; /* a thread that returns ends nothing */
}

int main(void)
{
	for (int way = 0; way < WAYS; way++) {
		for (int thread = 0; thread < 2; thread++) {
			char text[200] = "";
			size_t n = 0;
			ssize_t got;
			int fd[2], status;
			pid_t pid;

			CHECK_SYS(pipe(fd));
			fflush(stdout);
			CHECK_SYS(pid = fork());
			if (pid == 0) {
				CHECK_SYS(dup2(fd[1], STDOUT_FILENO));
				close(fd[0]);
				close(fd[1]);
				return in_child((enum way)way, thread);
			}
			close(fd[1]);
			while ((got = read(fd[0], text + n, sizeof text - 1 - n)) > 0)
				n += (size_t)got;
			close(fd[0]);
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			if (way == TWO_EXITS) /* libc lets both run handlers */
				text[0] = '\0';
			passed("%s by %s: %s%d, %s", names[way], thread ? "a thread" : "main",
			       WIFSIGNALED(status) ? "signal " : "",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status), text);
		}
	}
	return 0;
}
