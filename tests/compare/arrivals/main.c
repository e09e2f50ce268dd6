/*
 * main: dispositions, one case in a process of its own, what it prints.
 *
 * The driver starts a process for each case (itself, with -1 CASE), gives it a terminal, sends from
 * outside when the case says so, and prints its line.  In that process the agent, a thread that
 * keeps all signals out, waits until the others do what they shall, sends, looks, prints, and ends
 * the process: no wait is ever released.
 *
 * Options: ../lib/cases.h.
 */
#include "arrivals.h"
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

int sig;
pthread_t thread_of[ROLES];
_Atomic pid_t tid_of[ROLES];

static const struct {
	const char *name;
	int flags;
	bool dfl;
} dispositions[] = {{"handler", 0, false}, {"restart", SA_RESTART, false}};

enum { DISPOSITIONS = sizeof dispositions / sizeof dispositions[0] };

static const struct state *state[ROLES];
static const struct sender *sender;
static int disposition;

/* ---- the process of one case ---- */

static const char *const role_names[ROLES] = {"main", "worker", "agent"};
static atomic_int ran[ROLES + 1], began[ROLES], ended[ROLES], inside[ROLES];
static long results[ROLES];
static int errors[ROLES];
static _Atomic int code = 99;

static int role_of(pthread_t t)
{
	for (int role = 0; role < ROLES; role++)
		if (pthread_equal(t, thread_of[role]))
			return role;
	return ROLES;
}

static void handler(int n, siginfo_t *si, void *uc)
{
	int role = role_of(pthread_self()), saved = errno;

	(void)n;
	(void)uc;
	if (role < ROLES && atomic_exchange(&inside[role], 0)) {
		int fds[2];
		char c;

		if (pipe(fds) || read(fds[0], &c, 1) < 0)
			atomic_fetch_add(&ran[role], 100);
		return;
	}
	atomic_store(&code, si->si_code);
	atomic_fetch_add(&ran[role], 1);
	errno = saved;
}

void enter_handler(int role)
{
	atomic_store(&inside[role], 1);
	pthread_kill(pthread_self(), sig);
}

void await_agent(void)
{
	until(&began[AGENT], 60000, 0);
}

static void play(int role)
{
	const struct state *s = state[role];
	sigset_t set;

	tid_of[role] = gettid();
	sigemptyset(&set);
	sigaddset(&set, sig);
	if (sender->prepares == role && role != MAIN)
		sender->prepare();
	pthread_sigmask(s->shut ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
	atomic_store(&began[role], 1);
	errno = 0;
	results[role] = s->call(role);
	errors[role] = errno;
	atomic_store(&ended[role], 1);
	for (;;)
		pause_ms(1000);
}

static void *worker(void *arg)
{
	play(WORKER);
	return arg;
}

static bool happened(void)
{
	int sum = 0;

	for (int role = 0; role <= ROLES; role++)
		sum += atomic_load(&ran[role]);
	return sum || (state[MAIN]->waits && atomic_load(&ended[MAIN])) ||
	       (state[WORKER]->waits && atomic_load(&ended[WORKER]));
}

static void report(void)
{
	sigset_t set;

	for (int role = 0; role <= ROLES; role++)
		if (atomic_load(&ran[role]))
			printf(" %s ran %d", role < ROLES ? role_names[role] : "SOMEBODY",
			       atomic_load(&ran[role]));
	for (int role = 0; role < AGENT; role++)
		if (atomic_load(&ended[role]))
			printf(" %s=%ld/%s", role_names[role], results[role],
			       results[role] == -1 ? strerrorname_np(errors[role]) : "-");
	sigpending(&set);
	printf(" code=%d%s\n", atomic_load(&code), sigismember(&set, sig) ? " pending" : "");
	fflush(stdout);
}

static void *agent(void *arg)
{
	thread_of[AGENT] = pthread_self();
	atomic_store(&began[AGENT], 1);
	until(&began[MAIN], 60000, 0);
	if (state[WORKER]->call)
		until(&began[WORKER], 60000, 0);
	pause_ms(delay_ms);
	if (sender->send)
		sender->send();
	else if (write(3, "r", 1) != 1)
		die("write");
	if (sender->computing)
		pause_ms(6 * delay_ms); /* nobody else computes at the tick that counts */
	/* Nobody may want it: then it is pending, or lost, for good. */
	for (long long end = now_ms() + 8 * delay_ms; !happened() && now_ms() < end;)
		pause_ms(1);
	pause_ms(delay_ms); /* what the handler has interrupted may end */
	report();
	_exit(0);
	return arg;
}

static void one_case(void)
{
	struct sigaction sa = {.sa_sigaction = handler,
			       .sa_flags = SA_SIGINFO | dispositions[disposition].flags};
	sigset_t all;

	thread_of[MAIN] = pthread_self();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	sigaction(sig, &sa, NULL);
	if (sender->prepares == MAIN)
		sender->prepare();
	if (state[WORKER]->call && pthread_create(&thread_of[WORKER], NULL, worker, NULL))
		die("pthread_create");
	if (pthread_create(&thread_of[AGENT], NULL, agent, NULL))
		die("pthread_create");
	sigemptyset(&all);
	sigaddset(&all, sig);
	if (!state[MAIN]->shut)
		sigemptyset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	play(MAIN);
}

/* ---- the driver ---- */

static int open_terminal(char *name, size_t n)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || grantpt(fd) || unlockpt(fd) || ptsname_r(fd, name, n))
		die("terminal");
	return fd;
}

static pid_t start(const char *name, const char *slave, int out[2], int ready[2])
{
	char delay[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	if (slave[0]) {
		int fd = open(slave, O_RDWR);

		ioctl(fd, TIOCSCTTY, 0);
	}
	dup2(out[1], 1);
	dup2(ready[1], 3);
	snprintf(delay, sizeof delay, "%d", delay_ms);
	execl("/proc/self/exe", "arrivals", "-1", name, delay, (char *)NULL);
	_exit(2);
}

/* A line within so long, or what has become of it. */
static void await_line(const char *name, pid_t pid, int fd)
{
	struct pollfd p = {fd, POLLIN, 0};
	char line[300];
	ssize_t n = 0;
	int status = 0;

	if (poll(&p, 1, 500 * delay_ms + 20000) == 1)
		n = read(fd, line, sizeof line - 1);
	if (n <= 0)
		kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (n > 0)
		printf("%s:%.*s", name, (int)n, line);
	else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		printf("%s: killed by %d\n", name, WTERMSIG(status));
	else
		printf("%s: HANGS\n", name);
	fflush(stdout);
}

static void drive(const char *name)
{
	int out[2], ready[2], terminal = -1;
	char slave[64] = "", c;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		die("pipe");
	if (sender->sig == SIGINT)
		terminal = open_terminal(slave, sizeof slave);
	pid = start(name, slave, out, ready);
	close(out[1]);
	close(ready[1]);
	if (sender->outside && read(ready[0], &c, 1) == 1)
		sender->outside(pid, sig, terminal);
	await_line(name, pid, out[0]);
	close(out[0]);
	close(ready[0]);
	if (terminal >= 0)
		close(terminal);
}

/* ---- which are cases ---- */

static bool one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

static bool sensible(void)
{
	/* Those that differ as a thread that may be chosen; the others wait in other places. */
	static const char *const kinds[] = {"none", "compute", "compute_shut", "read", "read_shut", "flock",
					    "pause", "sigwait", "same_handler", "exit", NULL};
	static const char *const mains[] = {"pause", "compute", "read_shut", NULL};
	const struct state *m = state[MAIN], *w = state[WORKER];

	/* Who has ended as a worker is just not there, and a worker's own child is no sender. */
	if (!m->call || !strcmp(w->name, "exit") || !strcmp(w->name, "waitpid"))
		return false;
	if (!w->call && (sender->named == WORKER || sender->prepares == WORKER))
		return false;
	if (sender->named == WORKER) {
		if (!one_of(m->name, mains))
			return false;
	} else if (!one_of(w->name, kinds) || (!one_of(m->name, kinds) && w->call && !w->computes)) {
		return false;
	}
	if (sender->sig == SIGCHLD && !strcmp(m->name, "waitpid"))
		return false; /* waits for another child, which ends by itself */
	/* One computes, and lets it in. */
	if (sender->computing &&
	    (m->computes + w->computes != 1 || (m->computes ? m->shut : w->shut)))
		return false;
	/* Who gets it when one waits for it and another lets it in is nowhere said. */
	if (w->waits && sender->named == ROLES && !m->shut && !m->inside && strcmp(m->name, "exit"))
		return false;
	if (m->waits && sender->prepares == WORKER && sender->named == ROLES && w->call && !w->shut && !w->inside)
		return false;
	/* Main's kernel thread, which keeps it out as long as it runs this one: a known limit. */
	if (sender->kernel && ((w->computes && w->shut) || w->waits))
		return false;
	/* A timer of the process's: a new kernel prefers a thread that runs just then. */
	return !(sender->timer && (m->computes || w->computes));
}

static void each(void (*fn)(const char *name))
{
	char name[150];

	for (state[MAIN] = states; state[MAIN]->name; state[MAIN]++)
		for (state[WORKER] = states; state[WORKER]->name; state[WORKER]++)
			for (disposition = 0; disposition < DISPOSITIONS; disposition++)
				for (sender = senders; sender->name; sender++) {
					sig = sender->sig ? sender->sig : SIGUSR1;
					if (!sensible())
						continue;
					snprintf(name, sizeof name, "%s.%s.%s.%s", state[MAIN]->name,
						 state[WORKER]->name, dispositions[disposition].name,
						 sender->name);
					fn(name);
				}
}

static const char *wanted;

static void run_wanted(const char *name)
{
	if (!strcmp(name, wanted))
		one_case();
}

static void drive_taken(const char *name)
{
	if (cases_take(name))
		drive(name);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "-1")) {
		wanted = argv[2];
		delay_ms = atoi(argv[3]);
		each(run_wanted);
		return 2;
	}
	cases_options(argc, argv);
	each(drive_taken);
	return 0;
}
