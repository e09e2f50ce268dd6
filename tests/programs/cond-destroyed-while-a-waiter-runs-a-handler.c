/*
 * A waiter is in a signal handler when everybody is woken and the condition variable destroyed, its memory
 * used for something else.  The waiter was woken too, and does not look at that memory when its handler
 * returns; signalled, timed, and where it waits for the mutex already.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>

static union {
	pthread_cond_t cond;
	unsigned char bytes[sizeof(pthread_cond_t)];
} memory;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sem_t waits, in_handler, go;
static int woken, timed;

static void await(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

static void handler(int sig)
{
	(void)sig;
	CHECK_SYS(sem_post(&in_handler));
	await(&go);
}

static void *waiter(void *arg)
{
	struct timespec at = after_ms(CLOCK_REALTIME, 60000);

	CHECK_OK(pthread_mutex_lock(&mutex));
	CHECK_SYS(sem_post(&waits));
	/* Once only: the condition variable is gone afterwards. */
	if (timed)
		CHECK_OK(pthread_cond_timedwait(&memory.cond, &mutex, &at));
	else
		CHECK_OK(pthread_cond_wait(&memory.cond, &mutex));
	CHECK(woken);
	CHECK_OK(pthread_mutex_unlock(&mutex));
	return arg;
}

static void *destroyer(void *arg)
{
	CHECK_OK(pthread_cond_destroy(&memory.cond));
	/* As a condition variable that nobody has used, which is what the waiter began with. */
	memset(memory.bytes, 0, sizeof memory.bytes);
	return arg;
}

static void wake(int all)
{
	woken = 1;
	CHECK_OK(all ? pthread_cond_broadcast(&memory.cond) : pthread_cond_signal(&memory.cond));
}

static void one(int all, int held)
{
	pthread_t t, d;

	woken = 0;
	CHECK_OK(pthread_cond_init(&memory.cond, NULL));
	t = spawn(waiter, NULL);
	await(&waits);
	let_others_block();
	CHECK_OK(pthread_mutex_lock(&mutex));
	if (held)
		wake(all);
	if (held)
		let_others_block();
	CHECK_OK(pthread_kill(t, SIGUSR1));
	await(&in_handler);
	if (!held)
		wake(all);
	if (!held)
		CHECK_OK(pthread_mutex_unlock(&mutex));
	d = spawn(destroyer, NULL);
	let_others_block();
	CHECK_SYS(sem_post(&go));
	if (held)
		let_others_block();
	if (held)
		CHECK_OK(pthread_mutex_unlock(&mutex));
	join(t);
	join(d);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = SA_RESTART };

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_SYS(sem_init(&waits, 0, 0));
	CHECK_SYS(sem_init(&in_handler, 0, 0));
	CHECK_SYS(sem_init(&go, 0, 0));
	for (timed = 0; timed < 2; timed++)
		for (int all = 0; all < 2; all++)
			one(all, 0);
	passed("woken in a handler, the condition variable is not looked at again");
	for (timed = 0; timed < 2; timed++)
		one(1, 1);
	passed("woken to wait for the mutex, and in a handler then: the same");
	return 0;
}
