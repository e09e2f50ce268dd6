/*
 * pthread_kill runs the handler on the thread it names: on oneself before it returns, on a thread
 * that is blocked (each blocking call then gives EINTR, or goes on after SA_RESTART where POSIX
 * says so), and on one that runs; signal 0 only asks; a bad number is EINVAL.
 */
#include "check.h"
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>

static _Thread_local volatile sig_atomic_t here;
static atomic_int handled;
static atomic_ulong handler_thread;
static sem_t ready, never;
static int fds[2];

static void handler(int sig)
{
	here = sig;
	handler_thread = (unsigned long)pthread_self();
	handled++;
}

static int in_nanosleep(void)
{
	struct timespec ts = { 1000, 0 }, rest = { 0, 0 };
	int r = nanosleep(&ts, &rest);

	CHECK(rest.tv_sec > 900 && rest.tv_sec < 1000);
	return r;
}

static int in_sleep(void)
{
	CHECK(sleep(1000) > 900);
	errno = EINTR;
	return -1;
}

static int in_poll(void)
{
	return poll(NULL, 0, 1000000);
}

static int in_read(void)
{
	char c;

	return (int)read(fds[0], &c, 1);
}

static int in_sem_wait(void)
{
	return sem_wait(&never);
}

static int in_sem_timedwait(void)
{
	struct timespec ts = after_ms(CLOCK_REALTIME, 1000000);

	return sem_timedwait(&never, &ts);
}

static int in_pause(void)
{
	return pause();
}

static int in_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{ "nanosleep", in_nanosleep },
	{ "sleep", in_sleep },
	{ "poll", in_poll },
	{ "read", in_read },
	{ "sem_wait", in_sem_wait },
	{ "sem_timedwait", in_sem_timedwait },
	{ "pause", in_pause },
	{ "sigsuspend", in_sigsuspend },
};

static void *blocks(void *arg)
{
	int i = (int)(long)arg, r;

	here = 0;
	CHECK_SYS(sem_post(&ready));
	r = calls[i].call();
	CHECK_EQ(r, -1);
	CHECK_EQ(errno, EINTR);
	CHECK_EQ(here, SIGUSR1);
	return NULL;
}

static void *reads_a_byte(void *arg)
{
	char c = 0;

	CHECK_SYS(sem_post(&ready));
	CHECK_EQ(read(fds[0], &c, 1), 1);
	CHECK_EQ(c, 'x');
	CHECK_EQ(here, SIGUSR2);
	return arg;
}

static void *yields(void *arg)
{
	CHECK_SYS(sem_post(&ready));
	while (here != SIGUSR1)
		sched_yield();
	return arg;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = handler };
	pthread_t t;

	CHECK_SYS(sem_init(&ready, 0, 0));
	CHECK_SYS(sem_init(&never, 0, 0));
	CHECK_SYS(pipe(fds));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	sa.sa_flags = SA_RESTART;
	CHECK_SYS(sigaction(SIGUSR2, &sa, NULL));

	CHECK_OK(pthread_kill(pthread_self(), 0));
	CHECK_EQ(pthread_kill(pthread_self(), 1000), EINVAL);
	CHECK_EQ(handled, 0);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	CHECK_EQ(handled, 1);
	CHECK_EQ(here, SIGUSR1);
	CHECK_SYS(raise(SIGUSR2));
	CHECK_EQ(here, SIGUSR2);
	passed("oneself, before the call returns");

	for (unsigned i = 0; i < sizeof calls / sizeof calls[0]; i++) {
		t = spawn(blocks, (void *)(long)i);
		CHECK_SYS(sem_wait(&ready));
		/*
		 * A signal before the call would be lost to it: send until the thread has ended.
		 * It is joined by tryjoin, so its id stays good.
		 */
		do {
			let_others_block();
			CHECK_OK(pthread_kill(t, SIGUSR1));
			sched_yield();
		} while (pthread_tryjoin_np(t, NULL) == EBUSY);
		CHECK_EQ(handler_thread, (unsigned long)t);
		passed("%s is interrupted", calls[i].name);
	}

	t = spawn(reads_a_byte, NULL);
	CHECK_SYS(sem_wait(&ready));
	int before = handled;

	let_others_block();
	CHECK_OK(pthread_kill(t, SIGUSR2));
	while (handled == before)
		sched_yield();
	CHECK_EQ(handler_thread, (unsigned long)t);
	CHECK_EQ(write(fds[1], "x", 1), 1);
	join(t);
	passed("read goes on after a handler with SA_RESTART");

	t = spawn(yields, NULL);
	CHECK_SYS(sem_wait(&ready));
	CHECK_OK(pthread_kill(t, SIGUSR1));
	join(t);
	passed("a thread that runs");
	return 0;
}
