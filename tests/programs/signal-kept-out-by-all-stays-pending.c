/*
 * A signal that every thread blocks stays pending for the process, also where its default action
 * would end it or forget it, and whenever the last thread that let it in has blocked it or ended.
 * When all have ended, an exit handler still runs, and lets in what the last thread did.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>

enum { THREADS = 8, ROUNDS = 20 };

static sem_t go;

static sigset_t of(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	return set;
}

/* arg: a set to block; NULL: lets all in. */
static void *waits(void *arg)
{
	if (arg)
		CHECK_OK(pthread_sigmask(SIG_BLOCK, arg, NULL));
	while (sem_wait(&go) == -1)
		CHECK_EQ(errno, EINTR);
	return NULL;
}

static void team(pthread_t t[THREADS], void *arg)
{
	for (int i = 0; i < THREADS; i++)
		t[i] = spawn(waits, arg);
	let_others_block();
}

static void dismiss(pthread_t t[THREADS])
{
	for (int i = 0; i < THREADS; i++)
		CHECK_SYS(sem_post(&go));
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
}

static void from_outside(int sig)
{
	pid_t pid = fork();
	int status;

	CHECK_SYS(pid);
	if (pid == 0) {
		kill(getppid(), sig);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void is_pending(int sig)
{
	sigset_t set = of(sig), pending;
	int got = 0;

	usleep(100); /* whoever slept wakes, and all go on */
	CHECK_SYS(sigpending(&pending));
	CHECK_EQ(sigismember(&pending, sig), 1);
	CHECK_OK(sigwait(&set, &got));
	CHECK_EQ(got, sig);
}

/* Each round another signal; the caller has blocked it. */
static int signal_of(int round)
{
	static const int signals[] = { SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGWINCH, SIGTSTP };

	return signals[round % (int)(sizeof(signals) / sizeof(signals[0]))];
}

static void stays_pending(int sig)
{
	CHECK_SYS(kill(getpid(), sig));
	is_pending(sig);
	from_outside(sig);
	is_pending(sig);
}

static void kills_itself(void)
{
	kill(getpid(), SIGUSR1);
}

static void *ends_last(void *arg)
{
	join(*(pthread_t *)arg);
	return NULL;
}

static void after_the_last(void)
{
	static pthread_t main_thread;
	int status;
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0) {
		main_thread = pthread_self();
		if (atexit(kills_itself))
			_exit(1);
		spawn(ends_last, &main_thread);
		pthread_exit(NULL);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGUSR1);
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK_SYS(sem_init(&go, 0, 0));
	for (int i = 0; i < 5; i++)
		after_the_last();
	passed("the exit handler's signal ends the process");
	for (int i = 0; i < ROUNDS; i++) {
		int sig = signal_of(i);
		sigset_t set = of(sig);

		team(t, NULL); /* these let it in, and end */
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
		dismiss(t);
		stays_pending(sig);
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	}
	passed("kept out by the last thread there is");

	for (int i = 0; i < ROUNDS; i++) {
		int sig = signal_of(i);
		sigset_t set = of(sig);

		team(t, &set);
		CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
		stays_pending(sig);
		CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		dismiss(t);
	}
	passed("kept out by nine, main last");
	return 0;
}
