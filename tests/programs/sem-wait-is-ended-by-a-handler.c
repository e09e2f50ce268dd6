/*
 * sem_wait and aio_suspend: a handler without SA_RESTART ends the wait with EINTR, one with it does
 * not.  A semaphore that processes share is no different.
 */
#include "check.h"
#include <aio.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

static sem_t sem;
static struct aiocb request;
static atomic_int handled, ended, done;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *waits(void *arg)
{
	const struct aiocb *list[1] = { &request };
	int r = arg ? aio_suspend(list, 1, NULL) : sem_wait(&sem);

	ended = r == 0 ? 0 : errno;
	done = 1;
	return NULL;
}

/* Signals until the wait has ended; or, if it is to go on, until a few have been handled. */
static void poke(pthread_t t, bool goes_on)
{
	handled = 0;
	for (int i = 0; !done && (!goes_on || handled < 5); i++) {
		let_others_block();
		CHECK_OK(pthread_kill(t, SIGUSR1));
	}
}

static void begin(bool restarts)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = restarts ? SA_RESTART : 0 };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	done = 0;
}

static void semaphore(bool shared, bool restarts)
{
	pthread_t t;

	begin(restarts);
	CHECK_SYS(sem_init(&sem, shared, 0));
	t = spawn(waits, NULL);
	poke(t, restarts);
	CHECK_EQ(done, !restarts);
	if (restarts)
		CHECK_SYS(sem_post(&sem));
	join(t);
	CHECK_EQ(ended, restarts ? 0 : EINTR);
	passed("sem_wait, %s, %s", shared ? "shared" : "private", restarts ? "goes on" : "ends");
}

static void request_of_a_pipe(void)
{
	int p[2];
	char byte;
	pthread_t t;

	begin(false);
	CHECK_SYS(pipe(p));
	request = (struct aiocb){ .aio_fildes = p[0], .aio_buf = &byte, .aio_nbytes = 1 };
	CHECK_SYS(aio_read(&request));
	t = spawn(waits, &request);
	poke(t, false);
	join(t);
	CHECK_EQ(ended, EINTR);
	CHECK_EQ(write(p[1], "x", 1), 1);
	passed("aio_suspend ends");
}

int main(void)
{
	for (int i = 0; i < 4; i++)
		semaphore(i / 2, i % 2);
	request_of_a_pipe();
	return 0;
}
