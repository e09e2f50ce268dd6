/*
 * main: dispositions, ways of sending, one case, what it prints.
 *
 * Options: ../lib/cases.h.
 */
#include "signals.h"
#include <stdarg.h>
#include <sys/mman.h>

char note[160];
pthread_t target;

static const struct disposition dispositions[] = {
	{"default", SIGURG, 0, .dfl = true},
	{"ignored", SIGUSR1, 0, .ign = true},
	{"handler", SIGUSR1, 0},
	{"restart", SIGUSR1, SA_RESTART},
	{"siginfo", SIGUSR1, SA_SIGINFO},
	{"realtime", 0, SA_SIGINFO | SA_RESTART}, /* 0: SIGRTMIN + 1 */
	{"onstack", SIGUSR1, SA_SIGINFO | SA_ONSTACK},
	{"onstack_restart", SIGUSR1, SA_SIGINFO | SA_ONSTACK | SA_RESTART},
	{"nodefer", SIGUSR1, SA_NODEFER, .raises = true},
	{"deferred", SIGUSR1, 0, .raises = true},
	{"resethand", SIGUSR1, SA_RESETHAND},
	{"masks", SIGUSR1, SA_RESTART, .masks = true},
	{"blocks", SIGUSR1, SA_RESTART, .blocks = true},
	{NULL, 0, 0},
};

enum { OPEN, SHUT, LATE, MASKS };
/*
 * The thread lets it in; keeps it out until its call has returned; got it before it opens and
 * calls.
 */
static const char *const mask_names[MASKS] = {"open", "shut", "late"};

static const struct disposition *disposition;
static const struct send *sending;
static const struct wait *waiting;
static int sig, mask;

/* What the handler saw. */
static struct seen {
	atomic_int ran, order;
	bool right, stack, kept, context;
	int code, value;
	bool pid;
	char trace[40];
} seen;

static atomic_int started, finished;
static char *altstack;
static long result;
static int result_errno;
static int ran_in_call;
static bool open_after, open_other;

void say_note(const char *fmt, ...)
{
	size_t at = strlen(note);
	va_list ap;

	va_start(ap, fmt);
	note[at++] = ' ';
	vsnprintf(note + at, sizeof note - at, fmt, ap);
	va_end(ap);
}

bool over(int ms)
{
	return until(&finished, ms, ms);
}

/* ---- the handler ---- */

#define ALT_BYTES 65536

static void trace(char c)
{
	int at = atomic_fetch_add(&seen.order, 1);

	if (at < (int)sizeof seen.trace - 1)
		seen.trace[at] = c;
}

static void on_other(int n)
{
	(void)n;
	trace('o');
}

static void on_awaited(int n)
{
	(void)n;
	trace('a');
}

static void on_info(int n, siginfo_t *si, void *uc)
{
	char here;
	sigset_t now;
	int saved = errno;
	bool first = atomic_fetch_add(&seen.ran, 1) == 0;

	trace('(');
	if (first) {
		seen.right = pthread_equal(pthread_self(), target);
		seen.stack = &here >= altstack && &here < altstack + ALT_BYTES;
		seen.context = uc != NULL;
		pthread_sigmask(SIG_BLOCK, NULL, &now);
		seen.kept = sigismember(&now, n);
		if (si) {
			seen.code = si->si_code;
			seen.pid = si->si_pid == getpid();
			seen.value = si->si_code == SI_QUEUE ? si->si_value.sival_int : 0;
		}
		if (disposition->raises)
			raise(n);
		if (disposition->masks)
			raise(OTHER);
		if (disposition->blocks)
			pause_ms(2);
	}
	trace(')');
	errno = saved;
}

static void on_plain(int n)
{
	on_info(n, NULL, NULL);
}

/* ---- sending ---- */

static int by_pthread_kill(pthread_t to, int n)
{
	return pthread_kill(to, n);
}

static int by_pthread_sigqueue(pthread_t to, int n)
{
	return pthread_sigqueue(to, n, (union sigval){.sival_int = 42});
}

/* Every thread but the target keeps it out. */
static int by_kill(pthread_t to, int n)
{
	(void)to;
	return kill(getpid(), n);
}

static int by_sigqueue(pthread_t to, int n)
{
	(void)to;
	return sigqueue(getpid(), n, (union sigval){.sival_int = 43});
}

static const struct send sends[] = {
	{"pthread_kill", by_pthread_kill, false},
	{"pthread_sigqueue", by_pthread_sigqueue, false},
	{"kill", by_kill, true},
	{"sigqueue", by_sigqueue, true},
	{NULL, NULL, false},
};

void send_here(void)
{
	sending->send(pthread_self(), sig);
}

/* ---- one case ---- */

static void change(int how, int n)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, n);
	pthread_sigmask(how, &set, NULL);
}

static void *thread(void *arg)
{
	stack_t ss = {.ss_sp = altstack, .ss_size = ALT_BYTES};
	sigset_t after;

	target = pthread_self();
	if (sigaltstack(&ss, NULL))
		die("sigaltstack");
	if (mask == OPEN)
		change(SIG_UNBLOCK, sig);
	atomic_store(&started, 1);
	if (mask == LATE) {
		while (atomic_load(&started) == 1)
			sched_yield();
		change(SIG_UNBLOCK, sig); /* before this returns */
		trace('u');
	}
	errno = 0;
	result = waiting->call();
	result_errno = errno;
	ran_in_call = atomic_load(&seen.ran);
	trace('r');
	atomic_store(&finished, 1);
	while (atomic_load(&started) != 3)
		sched_yield();
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	open_after = !sigismember(&after, sig);
	open_other = !sigismember(&after, OTHER);
	change(SIG_UNBLOCK, sig);
	change(SIG_BLOCK, sig);
	return arg;
}

static void install(void)
{
	struct sigaction sa = {.sa_flags = disposition->flags};

	sigemptyset(&sa.sa_mask);
	if (disposition->masks)
		sigaddset(&sa.sa_mask, OTHER);
	if (disposition->dfl)
		sa.sa_handler = SIG_DFL;
	else if (disposition->ign)
		sa.sa_handler = SIG_IGN;
	else if (disposition->flags & SA_SIGINFO)
		sa.sa_sigaction = on_info;
	else
		sa.sa_handler = on_plain;
	if (sigaction(sig, &sa, NULL))
		die("sigaction");
}

static void describe(const char *name, bool ended)
{
	struct sigaction now;

	sigaction(sig, NULL, &now);
	printf("%s: ret=%ld errno=%s%s%s", name, result,
	       result == 0 ? "-" : result_errno ? strerrorname_np(result_errno) : "0", note,
	       ended ? " ended" : "");
	printf(" ran=%d/%d %s", ran_in_call, atomic_load(&seen.ran), seen.trace);
	if (atomic_load(&seen.ran)) {
		printf("%s%s%s", seen.right ? " right" : " WRONG", seen.stack ? " altstack" : "",
		       seen.kept ? " kept" : "");
		if (disposition->flags & SA_SIGINFO)
			printf(" code=%d pid=%d value=%d uc=%d", seen.code, seen.pid, seen.value,
			       seen.context);
	}
	printf(" after=%s%s%s\n", open_after ? "open" : "shut", open_other ? "" : " OTHER",
	       now.sa_handler == SIG_DFL ? " dfl" : now.sa_handler == SIG_IGN ? " ign" : "");
	fflush(stdout);
}

static void run(const char *name)
{
	bool ended;

	memset(&seen, 0, sizeof seen);
	note[0] = 0;
	atomic_store(&started, 0);
	atomic_store(&finished, 0);
	install();
	if (waiting->begin)
		waiting->begin();
	if (pthread_create(&target, NULL, thread, NULL))
		die("pthread_create");
	until(&started, 60000, 0);
	if (mask == LATE) {
		sending->send(target, sig);
		atomic_store(&started, 2);
		over(delay_ms);
	} else if (!waiting->self) {
		over(delay_ms);
		sending->send(target, sig);
	}
	/* Time for it to have ended the wait; what does not is let go. */
	ended = waiting->self ? until(&finished, 20000, 0) : over(2 * delay_ms);
	if (waiting->release)
		waiting->release();
	if (!until(&finished, 40 * delay_ms + 20000, 2000)) {
		printf("%s: HANGS\n", name);
		fflush(stdout);
		_exit(3);
	}
	atomic_store(&started, 3);
	pthread_join(target, NULL);
	describe(name, ended);
}

/* ---- which are cases ---- */

static bool sensible(void)
{
	if (waiting->self && mask == LATE)
		return false; /* nobody else sends */
	/*
	 * Linux wakes a thread for nothing by an ignored signal that main keeps out: not a thing to
	 * imitate.
	 */
	return !((disposition->dfl || disposition->ign) && sending->process);
}

static void prepare(void)
{
	struct sigaction sa = {.sa_handler = on_other};
	sigset_t set;

	sigemptyset(&sa.sa_mask);
	sigaction(OTHER, &sa, NULL);
	sa.sa_handler = on_awaited;
	sigaction(AWAITED, &sa, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGURG);
	sigaddset(&set, SIGRTMIN + 1);
	sigaddset(&set, AWAITED);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	altstack = mmap(NULL, ALT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (altstack == MAP_FAILED)
		die("mmap");
}

int main(int argc, char **argv)
{
	char name[150];

	cases_options(argc, argv);
	prepare();
	for (waiting = waits; waiting->name; waiting++)
		for (disposition = dispositions; disposition->name; disposition++)
			for (mask = 0; mask < MASKS; mask++)
				for (sending = sends; sending->name; sending++) {
					sig = disposition->sig ? disposition->sig : SIGRTMIN + 1;
					if (!sensible())
						continue;
					snprintf(name, sizeof name, "%s.%s.%s.%s", waiting->name,
						 disposition->name, mask_names[mask], sending->name);
					if (cases_take(name))
						run(name);
				}
	return 0;
}
