/*
 * no_new_privs belongs to a thread until all threads have asked for it: those that have not are without, however often
 * they wait for each other; then all have it, and so have their new threads and the children of each.  What a thread
 * sets of its own after that is its alone.
 */
#include "check.h"
#include <sys/prctl.h>

enum { THREADS = 6, ROUNDS = 200, SLACK = 123456 };

static pthread_barrier_t step;

static int privs(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

/* As the kernel shows it of the thread itself. */
static int seen(void)
{
	FILE *f = fopen("/proc/thread-self/status", "r");
	char line[256];
	int is = -1;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "NoNewPrivs: %d", &is);
	CHECK_EQ(fclose(f), 0);
	return is;
}

static void stays(int want)
{
	for (int i = 0; i < ROUNDS; i++) {
		meet_at(&step);
		CHECK_EQ(privs(), want);
		if (i % 50 == 0)
			CHECK_EQ(seen(), want);
		if (i % 3 == 0)
			sched_yield();
	}
}

static void *has_it(void *arg)
{
	CHECK_EQ(privs(), 1);
	CHECK_EQ(seen(), 1);
	return arg;
}

static void child_has_it(void)
{
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0) {
		has_it(NULL);
		join(spawn(has_it, NULL));
		_exit(0);
	}
	child_ends(pid, 0);
}

/* Asks; one in two of those that ask does so twice. */
static void ask(long n)
{
	for (int i = 0; i < 1 + (n & 1); i++)
		CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void *thread(void *arg)
{
	long n = (long)arg;

	if (n % 2)
		ask(n);
	CHECK_EQ(privs(), n % 2);
	stays(n % 2);
	if (n % 2)
		join(spawn(has_it, NULL));
	meet_at(&step);
	if (n % 2 == 0)
		ask(n);
	stays(1);
	join(spawn(has_it, NULL));
	child_has_it();
	meet_at(&step);
	if (n == 1)
		CHECK_SYS(prctl(PR_SET_TIMERSLACK, SLACK, 0, 0, 0));
	for (int i = 0; i < ROUNDS; i++) {
		meet_at(&step);
		CHECK_EQ(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0) == SLACK, n == 1);
	}
	stays(1);
	return NULL;
}

int main(void)
{
	pthread_t t[THREADS];
	int was = privs();

	if (was == 1) { /* for all, by another program */
		passed("threads that asked have it, others do not, and then all have");
		passed("and what they make");
		return 0;
	}
	CHECK_OK(pthread_barrier_init(&step, NULL, THREADS + 1));
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(thread, (void *)i);
	stays(0);
	meet_at(&step);
	CHECK_EQ(privs(), 0);
	ask(1);
	stays(1);
	meet_at(&step);
	for (int i = 0; i < ROUNDS; i++)
		meet_at(&step);
	stays(1);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	passed("threads that asked have it, others do not, and then all have");
	join(spawn(has_it, NULL));
	child_has_it();
	passed("and what they make");
	return 0;
}
