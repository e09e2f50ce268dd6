/*
 * senders: the ways by which a signal comes.
 */
#include "arrivals.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* ---- from another process ---- */

static int out_kill(pid_t pid, int n, int terminal)
{
	(void)terminal;
	return kill(pid, n);
}

static int out_sigqueue(pid_t pid, int n, int terminal)
{
	(void)terminal;
	return sigqueue(pid, n, (union sigval){.sival_int = 5});
}

static int out_tgkill(pid_t pid, int n, int terminal)
{
	(void)terminal;
	return (int)syscall(SYS_tgkill, pid, pid, n);
}

static int out_terminal(pid_t pid, int n, int terminal)
{
	(void)pid;
	(void)n;
	return write(terminal, "\3", 1) == 1 ? 0 : -1;
}

/* ---- from the process itself ---- */

static void by_kill(void)
{
	kill(getpid(), sig);
}

static void by_raw_kill(void)
{
	syscall(SYS_kill, getpid(), sig);
}

static void by_sigqueue(void)
{
	sigqueue(getpid(), sig, (union sigval){.sival_int = 5});
}

static void to_main(void)
{
	pthread_kill(thread_of[MAIN], sig);
}

static void to_worker(void)
{
	pthread_kill(thread_of[WORKER], sig);
}

static void queued_to_main(void)
{
	pthread_sigqueue(thread_of[MAIN], sig, (union sigval){.sival_int = 5});
}

static void tgkill_main(void)
{
	syscall(SYS_tgkill, getpid(), tid_of[MAIN], sig);
}

static void tgkill_worker(void)
{
	syscall(SYS_tgkill, getpid(), tid_of[WORKER], sig);
}

static const struct itimerval soon_once = {{0, 0}, {0, 5000}};

static void by_itimer(void)
{
	setitimer(ITIMER_REAL, &soon_once, NULL);
}

static void by_alarm(void)
{
	ualarm(5000, 0);
}

static void by_profiler(void)
{
	setitimer(ITIMER_PROF, &soon_once, NULL);
}

static void by_virtual_timer(void)
{
	setitimer(ITIMER_VIRTUAL, &soon_once, NULL);
}

static void timer(int notify, pid_t tid)
{
	struct sigevent ev = {.sigev_notify = notify, .sigev_signo = sig};
	struct itimerspec once = {{0, 0}, {0, 5000000}};
	timer_t t;

	ev.sigev_notify_thread_id = tid;
	if (timer_create(CLOCK_MONOTONIC, &ev, &t) || timer_settime(t, 0, &once, NULL))
		die("timer_create");
}

static void by_timer(void)
{
	timer(SIGEV_SIGNAL, 0);
}

static void by_timer_at_main(void)
{
	timer(SIGEV_THREAD_ID, tid_of[MAIN]);
}

static void by_timer_at_worker(void)
{
	timer(SIGEV_THREAD_ID, tid_of[WORKER]);
}

/* Made before there is another thread. */
static timer_t early;

static void make_early(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = sig};

	ev.sigev_notify_thread_id = gettid();
	if (timer_create(CLOCK_MONOTONIC, &ev, &early))
		die("timer_create");
}

static void by_early(void)
{
	struct itimerspec once = {{0, 0}, {0, 5000000}};

	timer_settime(early, 0, &once, NULL);
}

static int owned[2];

static void own(void)
{
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, owned) || fcntl(owned[0], F_SETOWN, getpid()) ||
	    fcntl(owned[0], F_SETSIG, sig) || fcntl(owned[0], F_SETFL, O_ASYNC))
		die("F_SETOWN");
}

static void by_input(void)
{
	if (write(owned[1], "x", 1) != 1)
		die("write");
}

static int child_goes[2];

static void make_child(void)
{
	char c;

	if (pipe(child_goes))
		die("pipe");
	if (fork() == 0) {
		close(child_goes[1]);
		(void)!read(child_goes[0], &c, 1);
		_exit(0);
	}
	close(child_goes[0]);
}

static void end_child(void)
{
	close(child_goes[1]);
}

const struct sender senders[] = {
	{"out_kill", 0, NULL, out_kill, ROLES, NULL, ROLES, false, false, false},
	{"out_sigqueue", 0, NULL, out_sigqueue, ROLES, NULL, ROLES, false, false, false},
	{"out_tgkill", 0, NULL, out_tgkill, ROLES, NULL, MAIN, false, true, false},
	{"out_terminal", SIGINT, NULL, out_terminal, ROLES, NULL, ROLES, false, false, false},
	{"kill", 0, by_kill, NULL, ROLES, NULL, ROLES, false, false, false},
	{"raw_kill", 0, by_raw_kill, NULL, ROLES, NULL, ROLES, false, false, false},
	{"sigqueue", 0, by_sigqueue, NULL, ROLES, NULL, ROLES, false, false, false},
	{"pthread_kill_main", 0, to_main, NULL, ROLES, NULL, MAIN, false, false, false},
	{"pthread_kill_worker", 0, to_worker, NULL, ROLES, NULL, WORKER, false, false, false},
	{"pthread_sigqueue_main", 0, queued_to_main, NULL, ROLES, NULL, MAIN, false, false, false},
	{"cont_main", SIGCONT, to_main, NULL, ROLES, NULL, MAIN, false, false, false},
	{"cont_worker", SIGCONT, to_worker, NULL, ROLES, NULL, WORKER, false, false, false},
	{"tgkill_main", 0, tgkill_main, NULL, ROLES, NULL, MAIN, false, false, false},
	{"tgkill_worker", 0, tgkill_worker, NULL, ROLES, NULL, WORKER, false, false, false},
	{"itimer", SIGALRM, by_itimer, NULL, ROLES, NULL, ROLES, false, false, false},
	{"alarm", SIGALRM, by_alarm, NULL, ROLES, NULL, ROLES, false, false, false},
	{"profiler", SIGPROF, by_profiler, NULL, ROLES, NULL, ROLES, true, false, false},
	{"virtual_timer", SIGVTALRM, by_virtual_timer, NULL, ROLES, NULL, ROLES, true, false, false},
	{"timer", 0, by_timer, NULL, ROLES, NULL, ROLES, false, false, true},
	{"timer_at_main", 0, by_timer_at_main, NULL, ROLES, NULL, MAIN, false, false, false},
	{"timer_at_worker", 0, by_timer_at_worker, NULL, ROLES, NULL, WORKER, false, false, false},
	{"early_timer_at_main", 0, by_early, NULL, MAIN, make_early, MAIN, false, true, false},
	{"input", SIGIO, by_input, NULL, MAIN, own, ROLES, false, false, false},
	{"child_of_main", SIGCHLD, end_child, NULL, MAIN, make_child, ROLES, false, false, false},
	{"child_of_worker", SIGCHLD, end_child, NULL, WORKER, make_child, ROLES, false, false, false},
	{NULL, 0, NULL, NULL, 0, NULL, 0, false, false, false},
};
