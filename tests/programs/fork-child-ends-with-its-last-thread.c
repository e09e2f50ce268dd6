/*
 * A child that a thread forked has this thread as its first.  When that one ends by pthread_exit()
 * and another is the last, the process ends with status 0, as after a fork by main.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static void *last(void *arg)
{
	usleep(20000); /* the first has ended by now, or ends later: both are right */
	return arg;
}

static void *forks(void *how)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		pthread_t t;

		alarm(20); /* ends a child that would stay */
		CHECK_OK(pthread_create(&t, NULL, last, NULL));
		if (how)
			CHECK_OK(pthread_detach(t));
		pthread_exit(NULL);
	}
	CHECK(child > 0);
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	return NULL;
}

static sem_t over;

static void callback(union sigval value)
{
	forks((void *)(long)value.sival_int);
	sem_post(&over);
}

/* libc makes a thread for each expiration. */
static void in_a_timer(long how)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = callback};
	struct itimerspec soon = {.it_value.tv_nsec = 1000000};
	timer_t timer;

	ev.sigev_value.sival_int = (int)how;
	CHECK_OK(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_OK(timer_settime(timer, 0, &soon, NULL));
	while (sem_wait(&over))
		;
	CHECK_OK(timer_delete(timer));
}

int main(void)
{
	pthread_t t;

	CHECK_OK(sem_init(&over, 0, 0));

	for (long how = 0; how < 2; how++) {
		forks((void *)how);
		passed(how ? "forked by main, last thread detached" : "forked by main");
		CHECK_OK(pthread_create(&t, NULL, forks, (void *)how));
		CHECK_OK(pthread_join(t, NULL));
		in_a_timer(how);
		passed(how ? "forked by threads, last thread detached" : "forked by threads");
	}
	return 0;
}
