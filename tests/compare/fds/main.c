/* main: the states of a thread, one case, and which of them make sense. */
#include "fds.h"

void ok(long r, const char *what)
{
	if (r < 0)
		die(what);
}

/* ---- states ---- */

static char buf[64];

static long by_read(struct test *t)
{
	return read(t->fd, buf, sizeof(buf));
}

static long by_recv(struct test *t)
{
	return recv(t->fd, buf, sizeof(buf), 0);
}

static long by_accept(struct test *t)
{
	int fd = accept(t->fd, NULL, NULL);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static short waited_for(const struct test *t)
{
	return t->kind->flags & WRITES ? POLLOUT : POLLIN;
}

static long by_poll(struct test *t)
{
	struct pollfd p = { .fd = t->fd, .events = waited_for(t) };
	int r = poll(&p, 1, -1);

	return r > 0 ? p.revents << 8 | r : r;
}

static long by_select(struct test *t)
{
	bool out = t->kind->flags & WRITES;
	fd_set set;

	FD_ZERO(&set);
	FD_SET(t->fd, &set);
	return select(t->fd + 1, out ? NULL : &set, out ? &set : NULL, NULL, NULL);
}

static long by_epoll(struct test *t)
{
	struct epoll_event ev = { .events = (unsigned int)waited_for(t) };
	int ep = epoll_create1(0), r;

	ok(epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &ev), "epoll_ctl");
	r = epoll_wait(ep, &ev, 1, -1);
	close(ep);
	return r > 0 ? (long)(ev.events << 8 | (unsigned int)r) : r;
}

static long by_write(struct test *t)
{
	static char big[1 << 20];
	long r = write(t->fd, big, sizeof(big));

	return r > 0 ? r == sizeof(big) ? 2 : 1 : r;
}

static const struct state states[] = {
	{ "nobody", 0, NULL, false },
	{ "later", READS, by_read, true },
	{ "read", READS, by_read, false },
	{ "recv", READS | SOCKET, by_recv, false },
	{ "accept", LISTENS, by_accept, false },
	{ "poll", 0, by_poll, false },
	{ "select", 0, by_select, false },
	{ "epoll", 0, by_epoll, false },
	{ "write", WRITES, by_write, false },
	{ "send", STREAM, by_write, false },
	{ NULL, 0, NULL, false },
};

/* ---- one case ---- */

static void on_signal(int sig)
{
	(void)sig;
}

static void *waiter(void *arg)
{
	struct test *t = arg;

	if (t->state->late) {
		for (int i = 0; i < 2; i++)
			if (t->state->call(t) <= 0)
				die("read before the event");
			else
				atomic_store(&t->entered, 1);
		while (sem_wait(&t->go))
			;
	}
	atomic_store(&t->entered, 1);
	errno = 0;
	t->ret = t->state->call(t);
	t->err = errno;
	atomic_store(&t->done, 1);
	return NULL;
}

static void begin(struct test *t)
{
	atomic_store(&t->entered, 0);
	atomic_store(&t->done, 0);
	if (pthread_create(&t->thread, NULL, waiter, t))
		die("pthread_create");
	for (int i = 0; t->state->late && i < 2; i++) {
		pause_ms(delay_ms / 2); /* it waits: what a read that waited has seen is remembered */
		t->kind->feed(t, t->peer);
		while (!atomic_exchange(&t->entered, 0))
			pause_ms(1);
	}
	if (t->state->late)
		return;
	until(&t->entered, 20 * delay_ms, 20);
	pause_ms(delay_ms);
}

/* Until nothing moves any more: what is on its way makes room once more. */
static void fill(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	static char d[4096];
	bool moved = true;

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while (moved) {
		moved = false;
		while (write(fd, d, sizeof(d)) > 0 || write(fd, d, 1) > 0)
			moved = true;
		pause_ms(2);
	}
	fcntl(fd, F_SETFL, flags);
}

static void tell(struct test *t, const char *when, int ms)
{
	if (!until(&t->done, ms, ms))
		printf(" %s: waits", when);
	else if (t->ret < 0)
		printf(" %s: %s", when, strerrorname_np(t->err));
	else
		printf(" %s: %lx", when, t->ret);
}

/* Whatever it is that still waits. */
static bool stop(struct test *t)
{
	for (int i = 0; i < 50 && !atomic_load(&t->done); i++) {
		pthread_kill(t->thread, SIGUSR1);
		until(&t->done, 20, 1);
	}
	return atomic_load(&t->done);
}

static const struct state after = { "after", 0, by_read, false };

/* A new thread waits for what the number names now, and gets it. */
static bool serves(struct test *t)
{
	int flags = fcntl(t->fd, F_GETFL);

	if (flags < 0) {
		printf(" number: bad\n");
		return true;
	}
	printf(" number: %s", flags & O_NONBLOCK ? "nonblock" : "block");
	if (t->kind->flags & READS) {
		t->state = &after;
		begin(t);
		t->kind->feed(t, t->other >= 0 ? t->other : t->peer);
		tell(t, "next", 15 * delay_ms);
		if (!stop(t)) {
			printf(" HANGS\n");
			return false;
		}
		pthread_join(t->thread, NULL);
	}
	printf("\n");
	return true;
}

static void clean(struct test *t)
{
	if (t->file)
		fclose(t->file);
	else if (fcntl(t->fd, F_GETFD) >= 0)
		close(t->fd);
	close(t->peer);
	if (t->other >= 0)
		close(t->other);
	for (int i = 0; i < 4; i++)
		if (t->extra[i] >= 0)
			close(t->extra[i]);
	if (!strncmp(t->path, "fifo", 4))
		remove(t->path);
	free(t);
}

static void run(const char *name, struct test point)
{
	struct test *t = malloc(sizeof(*t)); /* a thread that hangs keeps it */

	*t = point;
	t->other = -1;
	memset(t->extra, -1, sizeof(t->extra));
	sem_init(&t->go, 0, 0);
	t->kind->make(t);
	if (t->event->prepare)
		t->event->prepare(t);
	if (t->state->needs & (WRITES | STREAM) || t->kind->flags & WRITES)
		fill(t->fd);
	if (t->state->call)
		begin(t);
	t->event->happen(t);
	printf("%s:", name);
	if (t->state->call) {
		if (t->state->late)
			sem_post(&t->go);
		tell(t, "then", 2 * delay_ms);
		t->kind->feed(t, t->peer);
		if (t->state->needs == STREAM)
			for (int i = 0; i < 200 && !atomic_load(&t->done); i++) {
				static char d[1 << 16];

				(void)!recv(t->peer, d, sizeof(d), MSG_DONTWAIT);
				pause_ms(1);
			}
		tell(t, "fed", 15 * delay_ms);
		if (!stop(t)) {
			printf(" HANGS\n");
			fflush(stdout);
			return;
		}
		pthread_join(t->thread, NULL);
	}
	if (serves(t))
		clean(t);
	fflush(stdout);
}

static bool sensible(const struct test *t)
{
	int flags = t->kind->flags, needs = t->state->needs | t->event->needs;

	if ((flags & needs) != needs)
		return false;
	/* What a full connection still takes when its peer is gone is the kernel's mood. */
	if (t->state->needs == STREAM && !strcmp(t->kind->name, "tcp") &&
	    !strcmp(t->event->name, "shutdown_peer_raw"))
		return false;
	return !t->event->unseen || !t->state->call || t->state->late;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/compare-fds.XXXXXX", name[160];
	struct sigaction sa = { .sa_handler = on_signal };

	cases_options(argc, argv);
	ok(sigaction(SIGUSR1, &sa, NULL), "sigaction");
	signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(dir) || chdir(dir))
		die(dir);
	for (const struct kind *k = kinds; k->name; k++)
		for (const struct state *s = states; s->name; s++)
			for (const struct event *e = events; e->name; e++) {
				struct test t = { .kind = k, .state = s, .event = e };

				if (!sensible(&t))
					continue;
				snprintf(name, sizeof(name), "%s.%s.%s", k->name, s->name, e->name);
				if (cases_take(name))
					run(name, t);
			}
	if (chdir("/") == 0)
		rmdir(dir); /* not empty after a case that hung */
	return 0;
}
