/*
 * states: what a thread may do when a signal comes.  Nobody ends a wait but the signal.
 */
#include "arrivals.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>

static volatile unsigned long turns[ROLES];

static long call_compute(int role)
{
	for (;;)
		turns[role]++;
	return 0;
}

static long call_malloc(int role)
{
	for (;;) {
		void *volatile p = malloc(100 + (size_t)role);

		free(p);
	}
	return 0;
}

static long call_yield(int role)
{
	for (;; turns[role]++)
		sched_yield();
	return 0;
}

static long call_read(int role)
{
	int fds[2];
	char c;

	(void)role;
	if (pipe(fds))
		die("pipe");
	return read(fds[0], &c, 1);
}

static long call_accept(int role)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int s = socket(AF_INET, SOCK_STREAM, 0);

	(void)role;
	if (bind(s, (struct sockaddr *)&in, sizeof in) || listen(s, 8))
		die("listen");
	return accept(s, NULL, NULL);
}

static long call_poll(int role)
{
	(void)role;
	return poll(NULL, 0, -1);
}

static long call_epoll(int role)
{
	struct epoll_event e;

	(void)role;
	return epoll_wait(epoll_create1(0), &e, 1, -1);
}

static long call_select(int role)
{
	(void)role;
	return select(0, NULL, NULL, NULL, NULL);
}

static long call_nanosleep(int role)
{
	struct timespec ts = {1000, 0};

	(void)role;
	return nanosleep(&ts, NULL);
}

static long call_sem(int role)
{
	static sem_t sems[ROLES];

	sem_init(&sems[role], 0, 0);
	return sem_wait(&sems[role]);
}

static long call_mutex(int role)
{
	static pthread_mutex_t mutexes[ROLES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

	pthread_mutex_lock(&mutexes[role]);
	return pthread_mutex_lock(&mutexes[role]);
}

static long call_cond(int role)
{
	static pthread_mutex_t mutexes[ROLES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
	static pthread_cond_t conds[ROLES] = {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

	pthread_mutex_lock(&mutexes[role]);
	for (;;)
		pthread_cond_wait(&conds[role], &mutexes[role]);
	return 0;
}

static long call_join(int role)
{
	(void)role;
	await_agent();
	return pthread_join(thread_of[AGENT], NULL);
}

static long call_waitpid(int role)
{
	pid_t child = fork();

	(void)role;
	if (child == 0) {
		close(0);
		close(1);
		close(2);
		pause_ms(3000);
		_exit(0);
	}
	return waitpid(child, NULL, 0);
}

static long call_flock(int role)
{
	static const char template[] = "/tmp/compare-arrivals-XXXXXX";
	char path[sizeof template];
	struct flock l = {.l_type = F_WRLCK};
	int a, b;

	(void)role;
	memcpy(path, template, sizeof path);
	a = mkstemp(path);
	b = open(path, O_RDWR);
	unlink(path);
	if (fcntl(a, F_OFD_SETLK, &l))
		die("fcntl");
	return fcntl(b, F_OFD_SETLKW, &l);
}

static long call_pause(int role)
{
	(void)role;
	return pause();
}

/* The call lets in what the thread keeps out. */
static long call_sigsuspend(int role)
{
	sigset_t none;

	(void)role;
	sigemptyset(&none);
	return sigsuspend(&none);
}

static long call_ppoll(int role)
{
	sigset_t none;

	(void)role;
	sigemptyset(&none);
	return ppoll(NULL, 0, NULL, &none);
}

static long call_sigwait(int role)
{
	sigset_t set;
	int got = 0;

	(void)role;
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigwait(&set, &got);
	return got == sig;
}

static void waits_in_handler(int other)
{
	(void)other;
	call_read(MAIN);
}

static long call_other_handler(int role)
{
	struct sigaction sa = {.sa_handler = waits_in_handler};

	(void)role;
	sigaction(SIGUSR2, &sa, NULL);
	raise(SIGUSR2);
	return 0;
}

static long call_same_handler(int role)
{
	enter_handler(role);
	return 0;
}

static long call_exit(int role)
{
	(void)role;
	pthread_exit(NULL);
}

const struct state states[] = {
	{"none", NULL, false, false, false, false},
	{"compute", call_compute, false, true, false, false},
	{"compute_shut", call_compute, true, true, false, false},
	{"malloc", call_malloc, false, true, false, false},
	{"yield", call_yield, false, true, false, false},
	{"read", call_read, false, false, false, false},
	{"read_shut", call_read, true, false, false, false},
	{"accept", call_accept, false, false, false, false},
	{"poll", call_poll, false, false, false, false},
	{"epoll", call_epoll, false, false, false, false},
	{"select", call_select, false, false, false, false},
	{"nanosleep", call_nanosleep, false, false, false, false},
	{"sem", call_sem, false, false, false, false},
	{"mutex", call_mutex, false, false, false, false},
	{"cond", call_cond, false, false, false, false},
	{"join", call_join, false, false, false, false},
	{"waitpid", call_waitpid, false, false, false, false},
	{"flock", call_flock, false, false, false, false},
	{"pause", call_pause, false, false, false, false},
	{"sigsuspend", call_sigsuspend, true, false, false, false},
	{"ppoll", call_ppoll, true, false, false, false},
	{"sigwait", call_sigwait, true, false, true, false},
	{"other_handler", call_other_handler, false, false, false, false},
	{"same_handler", call_same_handler, false, false, false, true},
	{"exit", call_exit, false, false, false, false},
	{NULL, NULL, false, false, false, false},
};
