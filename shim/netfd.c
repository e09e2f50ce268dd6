/*
 * netfd: the table of descriptors, and the one loop in which a G waits for one.
 *
 * A slot is a cache: what kind of file the number is, and what was learned of its attributes.  It
 * is dropped by every call that ends or makes a descriptor and passes through here.  What does not
 * pass (libc's own closes, system calls in assembly) is survived: a wrong kind shows in the first
 * call's error, and before a park that follows a call that would block, the registered file is
 * compared with the open one.  Only the park after a short read, which makes no system call, trusts
 * the slot.
 *
 * O_NONBLOCK is asked for before each such park as well: it may change through another number or in
 * another process.  The park after a short read trusts an answer of the same epoch, which every
 * change made in this process ends.  Time-outs of sockets are kept the same way.
 *
 * Must never: change a flag of the program's open file; act on a signal or a cancellation while
 * holding.
 */
#include "shim/netfd.h"

#include <linux/major.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "shim/callmask.h"
#include "shim/sigroute.h"
#include "shim/sync.h"

struct netfd *_Atomic netfd_chunks[NETFD_CHUNKS];
static _Atomic uint32_t epoch = 1;
static _Atomic uint32_t nlocal; /* writers at local streams that are about to park, or do */
static _Atomic bool lowat; /* the program has set SO_RCVLOWAT somewhere: ask each socket */

struct netfd *netfd_of(int fd)
{
	struct netfd *s = netfd_known(fd), *chunk, *none = NULL;
	unsigned int i = (unsigned int)fd / NETFD_CHUNK;

	if (likely(s != NULL) || i >= NETFD_CHUNKS)
		return s;
	if (runtime_fault("table of descriptors"))
		return NULL;
	chunk = (struct netfd *)direct6(SYS_mmap, NULL, NETFD_CHUNK * sizeof(*chunk),
					PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)chunk > -4096UL)
		return NULL;
	if (!atomic_compare_exchange_strong(&netfd_chunks[i], &none, chunk))
		direct3(SYS_munmap, chunk, NETFD_CHUNK * sizeof(*chunk), 0);
	return netfd_known(fd);
}

/* ---- what a number is ------------------------------------------------------------------------ */

static long sockopt(int fd, int level, int name, void *value, socklen_t size)
{
	return direct5(SYS_getsockopt, fd, level, name, value, &size);
}

static enum netkind kind_of_socket(int fd, int type)
{
	int value = 0;

	if (atomic_load(&lowat) && !sockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value)) &&
	    value > 1)
		return NET_FILE; /* the kernel's own waiting counts the bytes */
	if (type == SOCK_SEQPACKET)
		return NET_SEQ;
	if (type != SOCK_STREAM)
		return NET_DGRAM;
	if (!sockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, sizeof(value)) && value == IPPROTO_TCP)
		return NET_TCP;
	return NET_STREAM;
}

/* eventfd and its like have no type; the kernel names them. */
static enum netkind kind_of_anonymous(int fd)
{
	static const struct {
		const char *name;
		enum netkind kind;
	} known[] = {
		{ "anon_inode:[eventfd]", NET_COUNTER },
		{ "anon_inode:[timerfd]", NET_COUNTER },
		{ "anon_inode:[eventpoll]", NET_EPOLL },
		{ "anon_inode:inotify", NET_EVENTS },
		{ "anon_inode:[signalfd]", NET_EVENTS },
	};
	char path[32], name[32];
	long n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = direct3(SYS_readlink, path, name, sizeof(name));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (n == (long)strlen(known[i].name) && !memcmp(name, known[i].name, (size_t)n))
			return known[i].kind;
	return NET_FILE;
}

static enum netkind look_at(int fd)
{
	char settings[64]; /* the kernel's struct termios: 36 bytes */
	struct stat st;
	int type = 0;
	long r = sockopt(fd, SOL_SOCKET, SO_TYPE, &type, sizeof(type));

	if (r == 0)
		return kind_of_socket(fd, type);
	if (r != -ENOTSOCK || direct3(SYS_fstat, fd, &st, 0))
		return NET_NEW;
	if (S_ISFIFO(st.st_mode))
		return NET_PIPE;
	/*
	 * The master of a pseudo-terminal has no job control and no minimum or time of its own.  A
	 * terminal has: a read stops a background process before there is input, and may end
	 * without any.
	 */
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(TTYAUX_MAJOR, 2))
		return NET_EVENTS;
	if (S_ISCHR(st.st_mode) && !direct3(SYS_ioctl, fd, TCGETS, settings))
		return NET_TERMINAL;
	return st.st_mode & S_IFMT ? NET_FILE : kind_of_anonymous(fd);
}

enum netkind netfd_kind(struct netfd *s, int fd)
{
	enum netkind kind = atomic_load_explicit(&s->kind, memory_order_relaxed);

	if (unlikely(kind == NET_NEW)) {
		kind = look_at(fd);
		atomic_store(&s->kind, kind);
	}
	return kind;
}

static void forget(struct netfd *s, int fd, bool gone)
{
	atomic_fetch_add(&s->gen, 1); /* before: who holds it from here on holds the old file, or none */
	netpoll_forget(&s->pd, fd, gone);
	atomic_store(&s->kind, NET_NEW);
	atomic_store(&s->blocking, false);
	atomic_store(&s->epoch, 0);
}

void netfd_closing_slow(int fd)
{
	forget(netfd_known(fd), fd, false);
}

void netfd_made_slow(int fd)
{
	forget(netfd_known(fd), fd, true);
}

/* A system call that the program makes by hand. */
bool netfd_by_hand(long nr, long a, long b)
{
	switch (nr) {
	case SYS_close:
		if (netpoll_owns((int)a) && !is_apart(APART_FILES))
			return false;
		netfd_closing((int)a);
		break;
	case SYS_dup2:
	case SYS_dup3:
		netfd_replacing((int)a, (int)b);
		break;
	}
	return true;
}

void netfd_replacing(int from, int to)
{
	if (from == to || is_apart(APART_FILES))
		return;
	if (unlikely(netpoll_owns(to)))
		netpoll_move(to);
	netfd_closing(to);
}

void netfd_closing_range(unsigned int from, unsigned int to)
{
	if (is_apart(APART_FILES))
		return;
	for (unsigned int i = from; i <= to && i < NETFD_CHUNK * NETFD_CHUNKS; i++) {
		struct netfd *s = netfd_known((int)i);

		if (!s)
			i |= NETFD_CHUNK - 1; /* the chunk has nothing */
		else if (netfd_noted((int)i))
			forget(s, (int)i, false);
	}
}

void netfd_changed(void)
{
	uint32_t e = atomic_fetch_add(&epoch, 1);

	if (e == UINT32_MAX) /* 0 means never asked */
		atomic_fetch_add(&epoch, 1);
}

void netfd_lowat_used(void)
{
	atomic_store(&lowat, true);
	for (unsigned int i = 0; i < NETFD_CHUNKS; i++) {
		struct netfd *chunk = atomic_load(&netfd_chunks[i]);

		for (int k = 0; chunk && k < NETFD_CHUNK; k++)
			atomic_store(&chunk[k].kind, NET_NEW);
	}
}

void netfd_shut(void)
{
	if (!atomic_load(&nlocal))
		return;
	for (unsigned int i = 0; i < NETFD_CHUNKS; i++) {
		struct netfd *chunk = atomic_load(&netfd_chunks[i]);

		for (int k = 0; chunk && k < NETFD_CHUNK; k++)
			if (atomic_load(&chunk[k].kind) == NET_STREAM)
				netpoll_nudge(&chunk[k].pd, NETPOLL_OUT);
	}
}

void netfd_records(int fd)
{
	struct netfd *s = netfd_known(fd);

	if (s && atomic_load(&s->kind) == NET_TCP)
		atomic_store(&s->kind, NET_STREAM);
}

void netfd_fork_child(void)
{
	for (unsigned int i = 0; i < NETFD_CHUNKS; i++) {
		struct netfd *chunk = atomic_load(&netfd_chunks[i]);

		for (int k = 0; chunk && k < NETFD_CHUNK; k++)
			atomic_store(&chunk[k].pd, NULL);
	}
	atomic_store(&nlocal, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static uint64_t timeval_ns(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000000 + (uint64_t)tv->tv_usec * 1000;
}

static bool is_socket(enum netkind kind)
{
	return kind == NET_TCP || kind == NET_STREAM || kind == NET_DGRAM || kind == NET_SEQ;
}

static void ask_timeouts(struct netfd *s, int fd)
{
	struct timeval tv[2] = { { 0, 0 }, { 0, 0 } };

	if (is_socket(netfd_kind(s, fd))) {
		sockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv[0], sizeof(tv[0]));
		sockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv[1], sizeof(tv[1]));
	}
	s->timeout[NETPOLL_IN] = timeval_ns(&tv[0]);
	s->timeout[NETPOLL_OUT] = timeval_ns(&tv[1]);
}

enum verdict { MAY_PARK, NONBLOCKING, OTHER_FILE, NOT_OPEN_FOR_IT };

/*
 * Bytes for who may not read, or room for who may not write, never come: the call itself says
 * EBADF.
 */
static bool open_for(long flags, enum polldir dir)
{
	return (flags & O_ACCMODE) != (dir == NETPOLL_IN ? O_WRONLY : O_RDONLY);
}

/*
 * A call would have blocked: is that what the program wants?  held: the file is, so it is the right
 * one (and who closes its number waits for us with the lock that the comparison takes).
 */
static enum verdict may_park(struct netfd *s, int fd, enum polldir dir, bool held)
{
	uint32_t now = atomic_load(&epoch); /* before the questions: a change after them ends it */
	long flags = direct3(SYS_fcntl, fd, F_GETFL, 0);

	if (flags < 0)
		return OTHER_FILE;
	if (!open_for(flags, dir))
		return NOT_OPEN_FOR_IT;
	if (flags & O_NONBLOCK)
		return NONBLOCKING;
	if (!held && !netpoll_same(&s->pd, fd))
		return OTHER_FILE;
	if (atomic_load(&s->epoch) != now) {
		ask_timeouts(s, fd);
		atomic_store(&s->blocking, !(flags & O_DIRECT));
		atomic_store(&s->epoch, now);
	}
	return MAY_PARK;
}

/*
 * A short read tells that nothing is left where bytes are a stream and nothing but bytes ends a
 * read.
 */
static bool short_read_tells(struct netfd *s)
{
	enum netkind kind = atomic_load_explicit(&s->kind, memory_order_relaxed);

	return (kind == NET_TCP || kind == NET_PIPE) && atomic_load(&s->blocking) &&
	       atomic_load(&s->epoch) == atomic_load(&epoch);
}

static void note(struct netop *op, struct polldesc *pd, uint32_t seq)
{
	if (op->hints && op->ends_short)
		netpoll_drained(pd, seq);
}

static void start_clock(struct netop *op)
{
	uint64_t ns = op->s->timeout[op->dir];

	if (op->started)
		return;
	op->started = true;
	op->timed = ns != 0;
	if (ns)
		op->deadline = nanotime() + ns;
}

/*
 * Nothing comes any more at a datagram socket that is shut down for reading.  A receive that may
 * block returns 0 there, but one with MSG_DONTWAIT, such as our tries, says that it would block,
 * for ever.  The end is an event: where events are told and there was none, there is nothing to
 * ask.
 */
static bool receives_no_more(const struct netop *op, const struct polldesc *pd, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	long r;

	if (op->plain || op->dir != NETPOLL_IN || netfd_kind(op->s, op->fd) != NET_DGRAM ||
	    (pd && !netpoll_has_ended(pd)))
		return false;
	do
		r = direct3(SYS_poll, &p, 1, 0);
	while (r == -EINTR);
	return r > 0 && (p.revents & POLLRDHUP);
}

/* After a try that would have blocked.  0: park; else the end of the call. */
static long wants_to_wait(struct netop *op, bool held)
{
	switch (op->plain ? MAY_PARK : may_park(op->s, op->fd, op->dir, held)) {
	case MAY_PARK:
		start_clock(op);
		if (!receives_no_more(op, atomic_load(&op->s->pd), op->fd))
			return 0;
		break; /* the call itself will not block */
	case NONBLOCKING:
		return op->done ? op->done : -EAGAIN;
	case OTHER_FILE:
		atomic_store(&op->s->kind, NET_NEW);
		break;
	case NOT_OPEN_FOR_IT:
		break;
	}
	return op->done ? op->done : NETFD_FALLBACK;
}

/* A try on the number that the held file has now. */
static long try_held(struct netop *op, struct polldesc *pd)
{
	long r;

	/*
	 * SIGPIPE is kept by the trampoline: no handler runs here, and it is for this thread alone.
	 */
	self_thread.holds = true;
	r = op->attempt(op, netpoll_begin(pd));
	netpoll_end(pd);
	self_thread.holds = false;
	return r;
}

enum { LOOK_AGAIN = 50000000, RARER = 8 }; /* ns; each look that much later than the one before */

static bool writes_locally(const struct netop *op)
{
	return op->dir == NETPOLL_OUT && atomic_load(&op->s->kind) == NET_STREAM;
}

/*
 * 0: an edge; 1: try again all the same; else -errno.  A writer at a full local socket is not told
 * when its half is shut down, by either side: the kernel wakes who sleeps in the call, but poll()
 * has nothing to say of it, so neither epoll nor SIGIO nor a ring does.  What this process shuts
 * down, netfd_shut() tells; for others it looks, ever more rarely: an idle process is to be silent.
 */
static long park_for(struct netop *op, struct polldesc *pd, uint32_t seq, uint64_t *again)
{
	uint64_t until = op->deadline, soon;
	long r;

	if (!writes_locally(op))
		return netpoll_park(pd, op->dir, seq, until, WaitIO);
	soon = nanotime() + *again;
	*again *= RARER;
	if (until && until <= soon)
		return netpoll_park(pd, op->dir, seq, until, WaitIO);
	r = netpoll_park(pd, op->dir, seq, soon, WaitIO);
	return r == -ETIMEDOUT ? 1 : r;
}

/*
 * Tries and parks until it is over.  parks: the last try, at count seq, would have blocked.  The
 * file is the same throughout, whatever becomes of its number.
 */
static long try_and_park(struct netop *op, struct polldesc *pd, uint32_t seq, bool parks)
{
	uint64_t again = LOOK_AGAIN;
	bool woken = false;
	long r;
	int fd;

	for (;;) {
		if (!parks) {
			seq = netpoll_seq(pd, op->dir);
			r = try_held(op, pd);
			if (r != -EAGAIN)
				break;
			/*
			 * Once: a flag that changes while it waits is the next call's.  Its number
			 * stays until netpoll_end().
			 */
			r = 0;
			fd = netpoll_begin(pd);
			if (op->started && receives_no_more(op, pd, fd)) {
				netpoll_end(pd);
				return fd == op->fd ? NETFD_FALLBACK : op->done;
			}
			if (fd == op->fd && !op->started)
				r = wants_to_wait(op, true);
			netpoll_end(pd);
			if (r)
				break;
		}
		parks = false;
		if (callmask_hit()) /* no handler runs from here on: we are pinned */
			return -EINTR;
		r = park_for(op, pd, seq, &again);
		if (r < 0)
			return r;
		woken = r == 0;
	}
	note(op, pd, seq);
	if (woken)
		netpoll_pass(pd, op->dir);
	return r;
}

static long run_held(struct netop *op, struct polldesc *pd, uint32_t seq, bool parks)
{
	long r;

	if (!writes_locally(op))
		return try_and_park(op, pd, seq, parks);
	/* Before a try: pairs with netfd_shut(), which comes after a shutdown and reads it. */
	atomic_fetch_add(&nlocal, 1);
	r = try_and_park(op, pd, seq, false);
	atomic_fetch_sub(&nlocal, 1);
	return r;
}

/* Nothing is held.  True: the call ends with *r. */
static bool interrupted(struct netop *op, long *r)
{
	enum interrupt what = interrupt_deliver();

	if (op->done) {
		/* What was moved must be told, so a cancellation waits for the next point. */
		*r = op->done;
		return what != INTR_NONE || cancel_due();
	}
	cancel_point();
	*r = -EINTR;
	return what == INTR_ENDS || (what == INTR_RESTARTS && op->timed) || callmask_hit();
}

/* What a try has seen. */
struct seen {
	struct polldesc *pd; /* NULL: not registered then */
	uint32_t seq, gen;
};

static struct seen look(const struct netop *op)
{
	struct seen was = { .gen = atomic_load(&op->s->gen), .pd = atomic_load(&op->s->pd) };

	was.seq = was.pd ? netpoll_seq(was.pd, op->dir) : 0;
	return was;
}

/* Holds, and runs it.  parks: a try that saw was would have blocked. */
static long hold_and_run(struct netop *op, const struct seen *was, bool parks)
{
	struct polldesc *pd = netpoll_hold(&op->s->pd, op->fd);
	long r;

	if (!pd)
		return NETFD_FALLBACK;
	if (op->done && atomic_load(&op->s->gen) != was->gen)
		r = op->done; /* the rest must not go to another file */
	else if (parks && was->pd && pd != was->pd)
		r = NETFD_AGAIN; /* closed and made anew meanwhile */
	else
		/*
		 * Registered after the try: all it has seen came later, or is told by the
		 * registering.
		 */
		r = run_held(op, pd, was->seq, parks);
	netpoll_release(pd);
	if (unlikely(self_thread.piped)) {
		self_thread.piped = false;
		thread_kill(&self_thread, SIGPIPE, NULL);
	}
	if (r == -EINTR)
		return interrupted(op, &r) ? r : NETFD_AGAIN;
	if (r == -ETIMEDOUT)
		return op->done ? op->done : -EAGAIN;
	return r;
}

/* Where the poller cannot help and half is done: waits on a kernel thread for room or bytes. */
static bool wait_in_kernel(const struct netop *op)
{
	struct pollfd p = { .fd = op->fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };

	return await_nocp(SYS_poll, (long)&p, 1, -1, 0, 0, 0) >= 0;
}

static bool known_empty(const struct netop *op, const struct seen *was)
{
	return op->hints && was->pd && netpoll_is_drained(was->pd, was->seq) &&
	       short_read_tells(op->s);
}

/*
 * Goes on in several steps, surely or perhaps: these are of one file, so it is held from the first.
 */
static bool in_steps(const struct netop *op)
{
	enum { SMALL = 4096 };

	return op->all && (op->dir == NETPOLL_IN || op->vector || op->n > SMALL);
}

/*
 * The poller cannot help: a kernel thread waits between the tries, or makes the call if nothing is
 * done yet.
 */
static long run_without_poller(struct netop *op)
{
	for (;;) {
		long r = op->attempt(op, op->fd);

		if (r != -EAGAIN)
			return r;
		r = wants_to_wait(op, false);
		if (r)
			return r;
		if (!op->done)
			return NETFD_FALLBACK;
		if (!wait_in_kernel(op))
			return op->done;
	}
}

/*
 * A blocked SIGPIPE is pending on the kernel thread, which goes on to run others: it is this
 * thread's.
 */
static long piped(struct netop *op, long r)
{
	struct timespec none = { 0, 0 };
	uint64_t set = SIGBIT(SIGPIPE);

	if (r == -EPIPE && op->dir == NETPOLL_OUT && (g_mask(getg()) & set) &&
	    direct4(SYS_rt_sigtimedwait, &set, NULL, &none, sizeof(set)) == SIGPIPE)
		thread_kill(&self_thread, SIGPIPE, NULL);
	return r;
}

static long run_op(struct netop *op)
{
	bool steps = in_steps(op);
	struct seen was = look(op);

	for (;;) {
		bool parks = !steps && !op->done;
		long r;

		if (parks) {
			was = look(op); /* before the try */
			if (known_empty(op, &was)) {
				start_clock(op);
			} else {
				/* Nothing is held: handlers (SIGPIPE) run as in any system call. */
				r = op->attempt(op, op->fd);
				if (r != -EAGAIN) {
					if (was.pd)
						note(op, was.pd, was.seq);
					return r;
				}
				r = wants_to_wait(op, false);
				if (r)
					return r;
				parks = !op->done;
			}
		}
		r = hold_and_run(op, &was, parks);
		if (r == NETFD_FALLBACK)
			return run_without_poller(op);
		if (r != NETFD_AGAIN)
			return r;
	}
}

/*
 * It failed and did nothing: a cancellation that came between the look and the try goes first.  What
 * failed it (the other end of a pipe was closed, say) may have come after that, as in glibc's
 * tst-cancel2.  But not before the kernel thread is rid of the SIGPIPE: who is cancelled does not
 * return here, and whoever ran there next would have it.
 */
long netfd_tried(struct netop *op, long r)
{
	r = piped(op, r);
	if (r < 0)
		testcancel();
	return r;
}

long netfd_run(struct netop *op)
{
	runtime_checkyield();
	testcancel();
	return netfd_tried(op, run_op(op));
}

/* ---- calls that cannot be tried -------------------------------------------------------------- */

long netfd_call(const struct netop *op)
{
	return block6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

long netfd_await(const struct netop *op)
{
	return await6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

static long ask(struct netop *op, int fd)
{
	struct pollfd p = { .fd = fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };
	long r;

	/*
	 * Even without time it may say EINTR; taken for "not ready", the edge that was would be
	 * missed.
	 */
	do
		r = direct3(SYS_poll, &p, 1, 0);
	while (r == -EINTR);
	if (r == 0)
		return -EAGAIN;
	if (fd == op->fd) {
		op->ready = true;
		return 0;
	}
	/* Its number was closed while we waited: ours lasts until we release it. */
	return block_nocp(op->nr, fd, op->b, op->c, op->d, op->e, op->f);
}

long netfd_ask_and_call(struct netop *op)
{
	long r;

	op->attempt = ask;
	r = netfd_run(op);
	/* Somebody else may be faster now: then the kernel thread waits. */
	return op->ready || r == NETFD_FALLBACK ? netfd_call(op) : r;
}
