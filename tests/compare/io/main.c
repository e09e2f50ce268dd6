/*
 * main: which points of the tables are cases, how one is run, what it prints.
 *
 * Options: ../lib/cases.h.
 */
#include "io.h"
#include <stdarg.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static __thread struct test *me;
static const char *const mode_names[MODES] = {"blocking", "nonblock", "duped", "timeo"};

void say_note(struct test *t, const char *fmt, ...)
{
	size_t at = strlen(t->note);
	va_list ap;

	va_start(ap, fmt);
	if (at + 2 < sizeof t->note) {
		t->note[at++] = ' ';
		vsnprintf(t->note + at, sizeof t->note - at, fmt, ap);
	}
	va_end(ap);
}

bool wait_done(struct test *t, int ms)
{
	return until(&t->done, ms, ms);
}

/*
 * Soon when nothing else ends the call; else so late that the other is first, but before it counts
 * as stuck.
 */
int timeout_ms(const struct test *t)
{
	return (t->action->act ? 12 : 6) * delay_ms;
}

static void on_signal(int sig)
{
	if (!me)
		return;
	if (sig == SIGPIPE)
		me->sigpipe++;
	else
		me->hits++;
}

/* ---- one case ---- */

static void unwound(void *arg)
{
	struct test *t = arg;

	me = NULL;
	t->ret = -2;
	atomic_store(&t->done, 1);
}

static void *caller(void *arg)
{
	struct test *t = arg;

	me = t;
	pthread_cleanup_push(unwound, t);
	if (t->cancelled)
		pthread_cancel(pthread_self());
	atomic_store(&t->started, 1);
	t->call->make(t);
	pthread_cleanup_pop(0);
	me = NULL;
	atomic_store(&t->done, 1);
	return NULL;
}

static void set_mode(struct test *t)
{
	struct timeval tv = {timeout_ms(t) / 1000, timeout_ms(t) % 1000 * 1000L};

	switch (t->mode) {
	case NONBLOCK:
		if (t->mine)
			fcntl(t->fd, F_SETFL, fcntl(t->fd, F_GETFL) | O_NONBLOCK);
		break;
	case DUPED:
		t->other[3] = t->fd;
		t->fd = dup(t->fd);
		break;
	case TIMEO:
		if (setsockopt(t->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) ||
		    setsockopt(t->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv))
			die("setsockopt");
		break;
	default:
		break;
	}
}

static bool unwaiting(const struct test *t)
{
	return t->mode == NONBLOCK || t->call->flags & NOWAIT || t->kind->flags & PASSIVE;
}

/* Until the call has returned; what becomes of it is told apart. */
static const char *see_through(struct test *t)
{
	bool timed = t->call->flags & TIMED || t->mode == TIMEO;

	while (!atomic_load(&t->started))
		pause_ms(1);
	if (timed && !t->action->act) { /* nobody hurries it: it tells by itself how long it took */
		wait_done(t, 30 * delay_ms);
		t->blocked = t->took >= timeout_ms(t) / 2;
	} else {
		t->blocked = !until(&t->done, delay_ms, timed ? 0 : delay_ms);
	}
	if (t->action->act)
		t->action->act(t);
	if (wait_done(t, t->action->act ? 15 * delay_ms : 0))
		return "";
	for (int i = 0; i < 100; i++) { /* no SA_RESTART */
		pthread_kill(t->thread, SIGUSR1);
		if (wait_done(t, 20))
			return t->action->act || timed ? " STUCK" : "";
	}
	pthread_cancel(t->thread);
	return wait_done(t, 1000) ? " DEAF" : " HANGS";
}

static const char *error_name(const struct test *t)
{
	if (t->err == SENTINEL)
		return "kept";
	return t->err ? strerrorname_np(t->err) : "0";
}

static void print_result(const struct test *t)
{
	void *value = NULL;

	pthread_join(t->thread, &value);
	if (t->ret == -2)
		printf(" cancelled%s", value == PTHREAD_CANCELED ? "" : " WRONGLY");
	else if (t->ret > 0 && t->call->flags & BIG)
		printf(" ret=%s errno=%s", t->ret >= 400000 ? "all" : "some", error_name(t));
	else
		printf(" ret=%ld errno=%s", t->ret, error_name(t));
	printf("%s%s", t->note, t->blocked ? " blocked" : "");
	if (t->sigpipe)
		printf(" sigpipe=%d", t->sigpipe);
	if (t->hits)
		printf(" handled");
}

/* No byte lost, none twice; what a cancelled call had moved nobody knows. */
static void print_rest(struct test *t)
{
	if (t->mine && t->fd >= 0)
		printf(" fl=%s", fcntl(t->fd, F_GETFL) & O_NONBLOCK ? "nonblock" : "block");
	if (t->mine && t->kind->flags & (READS | LISTENS) &&
	    (!(t->kind->flags & TEXT) || t->kind->flags & (PIPE | SOCK)))
		printf(" left=%ld", left(t));
	if (t->kind->flags & PASSIVE && t->mine && lseek(t->fd, 0, SEEK_CUR) >= 0)
		printf(" at=%ld", (long)lseek(t->fd, 0, SEEK_CUR));
	if (t->moved >= 0 && t->ret != -2 && t->kind->flags & (FILLS | SOCK) && t->peer >= 0 &&
	    !strstr(t->action->name, "shut")) {
		for (int i = 0; i < 100; i++) {
			drain(t);
			if (t->got >= t->filled + t->moved)
				break;
			pause_ms(1);
		}
		printf(" %s", t->got == t->filled + t->moved ? "whole" : "BYTES LOST");
	}
}

static void clean(struct test *t)
{
	if (t->child > 0) {
		kill(t->child, SIGKILL);
		waitpid(t->child, NULL, 0);
	}
	if (t->fd >= 0 && t->kind->make && (t->mine || strstr(t->action->name, "replace")))
		close(t->fd);
	if (t->peer >= 0)
		close(t->peer);
	for (int i = 0; i < 4; i++)
		if (t->other[i] >= 0)
			close(t->other[i]);
	if (t->path[0])
		remove(t->path);
}

static void run(const char *name, struct test point)
{
	struct test *t = malloc(sizeof *t); /* a thread that hangs keeps it */
	const char *fate;

	*t = point;
	t->fd = t->peer = -1;
	memset(t->other, -1, sizeof t->other);
	t->moved = -1;
	t->mine = true;
	t->kind->make(t);
	set_mode(t);
	if (t->action->before)
		t->action->before(t);
	if (pthread_create(&t->thread, NULL, caller, t))
		die("pthread_create");
	fate = see_through(t);
	printf("%s:", name);
	if (strcmp(fate, " HANGS") == 0)
		printf("%s\n", fate);
	else {
		print_result(t);
		print_rest(t);
		printf("%s\n", fate);
		clean(t);
	}
	fflush(stdout);
}

/* ---- which are cases ---- */

static bool sensible(const struct test *t)
{
	const struct kind *k = t->kind;
	const struct call *c = t->call;
	const struct action *a = t->action;
	bool none = a->before == NULL && a->act == NULL;
	int of = c->flags & (OF_SOCK | OF_LISTEN | OF_CONNECT | OF_PIPE);
	int have = (k->flags & SOCK ? OF_SOCK : 0) | (k->flags & LISTENS ? OF_LISTEN : 0) |
		   (k->flags & CONNECTS ? OF_CONNECT : 0) | (k->flags & PIPE ? OF_PIPE : 0);

	if (!(a->modes & 1 << t->mode) || (k->flags & a->needs) != a->needs || !(c->flags & a->on))
		return false;
	if (t->mode == TIMEO && !(k->flags & SOCK))
		return false;
	/* What fails at once does so whoever does what. */
	if (of & ~have || (k->flags & PASSIVE && !(c->flags & OF_CONNECT)))
		return none && t->mode == BLOCKING;
	if (k->flags & PASSIVE)
		return none && t->mode != TIMEO;
	if (a->on == IN && (strstr(a->name, "fed") || strstr(a->name, "feed") ||
			    strcmp(a->name, "pieces") == 0 || strcmp(a->name, "restart") == 0) &&
	    !k->feed)
		return false;
	if (a->on == IN && !(k->flags & (READS | EVENTS | LISTENS)) && !(c->flags & OF_CONNECT))
		return false;
	if (c->flags & OF_CONNECT && !(k->flags & CONNECTS))
		return none;
	if (k->flags & CONNECTS && !(c->flags & OF_CONNECT))
		return none && t->mode == BLOCKING;
	/* Only pollable. */
	if (!none && (k->flags & EVENTS) && !(c->flags & POLLS))
		return false;
	if (k->flags & LISTENS && !none && !(c->flags & (POLLS | OF_LISTEN)))
		return false;
	/* Nobody blocks, so nobody is to be woken. */
	if (unwaiting(t) && a->act)
		return false;
	if (c->flags & POLLS && (t->mode == TIMEO || t->mode == NONBLOCK))
		return none;
	/*
	 * TCP takes what comes and throws it away: who is blocked then is no property of the call.
	 */
	if (strcmp(a->name, "full_shut_rd") == 0 && k->flags & TCP)
		return false;
	/*
	 * Of no bytes the kernel's TCP waits until anything wakes it, and says 0, also where that was the signal that
	 * cancels.  A libc before 2.41 ends the thread all the same, one from then on takes 0 for the call's own end.
	 */
	if (strcmp(a->name, "cancel") == 0 && k->flags & TCP &&
	    (strcmp(c->name, "recv_nothing") == 0 || strcmp(c->name, "recvmsg_nothing") == 0))
		return false;
	if (strcmp(c->name, "epoll_self") == 0 && strcmp(k->name, "epoll"))
		return none && t->mode == BLOCKING;
	return true;
}

static void name_of(const struct test *t, char *to, size_t n)
{
	snprintf(to, n, "%s.%s.%s.%s", t->kind->name, mode_names[t->mode], t->call->name,
		 t->action->name);
}

static void handle(int sig, int flags)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = flags};

	sigemptyset(&sa.sa_mask);
	if (sigaction(sig, &sa, NULL))
		die("sigaction");
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/compare-io.XXXXXX", name[160];
	sigset_t fed;

	cases_options(argc, argv);
	handle(SIGUSR1, 0);
	handle(SIGUSR2, SA_RESTART);
	handle(SIGPIPE, SA_RESTART);
	sigemptyset(&fed);
	sigaddset(&fed, FED);
	pthread_sigmask(SIG_BLOCK, &fed, NULL);
	if (!mkdtemp(dir) || chdir(dir))
		die(dir);
	for (const struct kind *k = kinds; k->name; k++)
		for (const struct call *c = calls; c->name; c++)
			for (const struct action *a = actions; a->name; a++)
				for (int m = 0; m < MODES; m++) {
					struct test t = {.kind = k, .call = c, .action = a, .mode = m};

					if (!sensible(&t))
						continue;
					name_of(&t, name, sizeof name);
					if (cases_take(name))
						run(name, t);
				}
	if (chdir("/") == 0)
		rmdir(dir); /* not empty after a case that hung */
	return 0;
}
