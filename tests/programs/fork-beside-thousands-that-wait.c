/*
 * Thousands of threads wait, each for a semaphore of its own, while two others pass a turn to and fro without a pause.
 * A child of fork(2) has none of them: it makes thousands again.  Each thread is woken once, in the parent as well.
 */
#include "check.h"
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS = 4500, TURNS = 20000, GENERATIONS = 2 };

static sem_t sems[THREADS], ready;
static sem_t ping, pong;
static _Atomic int woken;

static void *waits(void *arg)
{
	sem_t *s = arg;

	CHECK_SYS(sem_post(&ready));
	CHECK_SYS(sem_wait(s));
	woken++;
	return NULL;
}

static void *passes(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_SYS(sem_wait(&ping));
		CHECK_SYS(sem_post(&pong));
	}
	return arg;
}

static void *passes_back(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_SYS(sem_post(&ping));
		CHECK_SYS(sem_wait(&pong));
	}
	return arg;
}

static void generation(int n)
{
	static pthread_t t[THREADS];
	pthread_t a, b;
	int status;
	pid_t pid = -1;

	woken = 0;
	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sem_init(&ping, 0, 0));
	CHECK_SYS(sem_init(&pong, 0, 0));
	a = spawn(passes, NULL);
	b = spawn(passes_back, NULL);
	for (int i = 0; i < THREADS; i++) {
		CHECK_SYS(sem_init(&sems[i], 0, 0));
		t[i] = spawn(waits, &sems[i]);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_SYS(sem_wait(&ready));
	if (n + 1 < GENERATIONS) {
		CHECK_SYS(pid = fork());
		if (!pid) {
			generation(n + 1);
			_exit(0);
		}
	}
	for (int i = THREADS; i-- > 0;)
		CHECK_SYS(sem_post(&sems[i]));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	join(a);
	join(b);
	CHECK_EQ(woken, THREADS);
	if (pid > 0) {
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
}

int main(void)
{
	generation(0);
	passed("each of thousands was woken once, in the process and in its child");
	return 0;
}
