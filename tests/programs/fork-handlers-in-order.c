/*
 * pthread_atfork: prepare handlers in reverse order of registration, parent and child handlers in
 * order, on the thread that forks; they keep a mutex consistent that other threads use all the
 * time, and the child can use it at once.
 */
#include "check.h"
#include <stdatomic.h>
#include <sys/wait.h>

static char trace[16];
static int n;
static pthread_t forker;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long a, b;
static atomic_int stop;

static void note(char c)
{
	CHECK(pthread_equal(forker, pthread_self()));
	trace[n++] = c;
}

static void prepare1(void)
{
	note('1');
	CHECK_OK(pthread_mutex_lock(&mu));
}

static void parent1(void)
{
	CHECK_OK(pthread_mutex_unlock(&mu));
	note('a');
}

static void child1(void)
{
	CHECK_OK(pthread_mutex_unlock(&mu));
	note('A');
}

static void prepare2(void)
{
	note('2');
}

static void parent2(void)
{
	note('b');
}

static void child2(void)
{
	note('B');
}

static void *busy(void *arg)
{
	while (!stop) {
		CHECK_OK(pthread_mutex_lock(&mu));
		a++;
		sched_yield();
		b++;
		CHECK_OK(pthread_mutex_unlock(&mu));
		sched_yield();
	}
	return arg;
}

static void *forks(void *arg)
{
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid;

		n = 0;
		memset(trace, 0, sizeof trace);
		forker = pthread_self();
		CHECK_SYS(pid = fork());
		if (pid == 0) {
			CHECK_EQ(strcmp(trace, "21AB"), 0);
			CHECK_OK(pthread_mutex_lock(&mu));
			CHECK_EQ(a, b);
			CHECK_OK(pthread_mutex_unlock(&mu));
			_exit(0);
		}
		CHECK_EQ(strcmp(trace, "21ab"), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	return arg;
}

int main(void)
{
	pthread_t t[10];

	CHECK_OK(pthread_atfork(prepare1, parent1, child1));
	CHECK_OK(pthread_atfork(prepare2, parent2, child2));
	CHECK_OK(pthread_atfork(NULL, NULL, NULL));
	for (int i = 0; i < 10; i++)
		t[i] = spawn(busy, NULL);
	forks(NULL);
	join(spawn(forks, NULL));
	stop = 1;
	for (int i = 0; i < 10; i++)
		join(t[i]);
	CHECK_EQ(a, b);
	passed("40 forks, handlers in order, the mutex consistent in every child");
	return 0;
}
