/*
 * Main that is detached, by itself or by another thread, and leaves by pthread_exit() is never another thread: no
 * thread that is made later has its id, and all of them run and can be joined.
 */
#include "check.h"
#include <stdatomic.h>
#include <stdbool.h>

enum { AT_ONCE = 4, ROUNDS = 500 };
static pthread_t main_thread;
static atomic_bool detached;

static void *leaf(void *arg)
{
	CHECK(!pthread_equal(pthread_self(), main_thread));
	CHECK(gettid() != getpid());
	return arg;
}

static void *makes_others(void *arg)
{
	pthread_t t[AT_ONCE];

	if (arg) {
		CHECK_OK(pthread_detach(main_thread));
		detached = true;
	}
	usleep(100000);
	for (int i = 0; i < ROUNDS; i++) {
		for (long k = 0; k < AT_ONCE; k++)
			t[k] = spawn(leaf, (void *)k);
		for (long k = 0; k < AT_ONCE; k++)
			CHECK(join(t[k]) == (void *)k);
	}
	exit(0);
}

static void run(bool by_another)
{
	pid_t pid = fork();
	int status;

	CHECK_SYS(pid);
	if (pid == 0) {
		main_thread = pthread_self();
		CHECK_OK(pthread_detach(spawn(makes_others, by_another ? &detached : NULL)));
		if (!by_another)
			CHECK_OK(pthread_detach(main_thread));
		while (by_another && !detached)
			usleep(1000);
		pthread_exit(NULL);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(void)
{
	run(false);
	run(true);
	CHECK_OK(pthread_detach(spawn(makes_others, NULL)));
	main_thread = pthread_self();
	CHECK_OK(pthread_detach(main_thread));
	pthread_exit(NULL);
}
