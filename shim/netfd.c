/*
 * netfd: the table of descriptors, and the one loop in which a G waits for one.
 *
 * A slot is a cache: what kind of file the number is, and what was learned of its attributes.  It is dropped by
 * every call that ends or makes a descriptor and passes through here.  What does not pass (libc's own closes,
 * system calls in assembly) is survived: a wrong kind shows in the first call's error, and before a park that
 * follows a call that would block, the registered file is compared with the open one.  Only the park after a
 * short read, which makes no system call, trusts the slot.
 *
 * O_NONBLOCK is asked for before each such park as well: it may change through another number or in another
 * process.  The park after a short read trusts an answer of the same epoch, which every change made in this
 * process ends.  Time-outs of sockets are kept the same way.
 *
 * Must never: change a flag of the program's open file; act on a signal or a cancellation while holding.
 */
#include "shim/netfd.h"

#include <netinet/in.h>
#include <poll.h>
#include <string.h>

#include "shim/sync.h"

struct netfd *_Atomic netfd_chunks[NETFD_CHUNKS];
static _Atomic uint32_t epoch = 1;
static _Atomic bool lowat; /* the program has set SO_RCVLOWAT somewhere: ask each socket */

struct netfd *netfd_of(int fd)
{
	struct netfd *s = netfd_known(fd), *chunk, *none = NULL;
	unsigned int i = (unsigned int)fd / NETFD_CHUNK;

	if (likely(s != NULL) || i >= NETFD_CHUNKS)
		return s;
	chunk = (struct netfd *)direct6(SYS_mmap, NULL, NETFD_CHUNK * sizeof(*chunk),
					PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((unsigned long)chunk > -4096UL)
		return NULL;
	if (!atomic_compare_exchange_strong(&netfd_chunks[i], &none, chunk))
		direct3(SYS_munmap, chunk, NETFD_CHUNK * sizeof(*chunk), 0);
	return netfd_known(fd);
}

/* ---- what a number is -------------------------------------------------------------------------------- */

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
		{ "anon_inode:inotify", NET_ASKED },
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
	struct stat st;
	int type = 0;
	long r = sockopt(fd, SOL_SOCKET, SO_TYPE, &type, sizeof(type));

	if (r == 0)
		return kind_of_socket(fd, type);
	if (r != -ENOTSOCK || direct3(SYS_fstat, fd, &st, 0))
		return NET_NEW;
	if (S_ISFIFO(st.st_mode))
		return NET_PIPE;
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
	atomic_store(&s->kind, NET_NEW);
	atomic_store(&s->blocking, false);
	atomic_store(&s->epoch, 0);
	netpoll_forget(&s->pd, fd, gone);
}

void netfd_closing_slow(int fd)
{
	forget(netfd_known(fd), fd, false);
}

void netfd_made_slow(int fd)
{
	forget(netfd_known(fd), fd, true);
}

void netfd_closing_range(unsigned int from, unsigned int to)
{
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
}

/* ---- waiting ------------------------------------------------------------------------------------------- */

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

/* The file under the number is the one that is registered, or none is. */
static bool same_file(struct netfd *s, int fd)
{
	struct stat st;

	if (direct3(SYS_fstat, fd, &st, 0))
		return false;
	if (atomic_load(&s->pd))
		return s->dev == st.st_dev && s->ino == st.st_ino;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return true;
}

enum verdict { MAY_PARK, NONBLOCKING, OTHER_FILE };

/* A call would have blocked: is that what the program wants? */
static enum verdict may_park(struct netfd *s, int fd)
{
	uint32_t now = atomic_load(&epoch); /* before the questions: a change after them ends it */
	long flags = direct3(SYS_fcntl, fd, F_GETFL, 0);

	if (flags < 0)
		return OTHER_FILE;
	if (flags & O_NONBLOCK)
		return NONBLOCKING;
	if (!same_file(s, fd))
		return OTHER_FILE;
	if (atomic_load(&s->epoch) != now) {
		ask_timeouts(s, fd);
		atomic_store(&s->blocking, !(flags & O_DIRECT));
		atomic_store(&s->epoch, now);
	}
	return MAY_PARK;
}

/* A short read tells that nothing is left where bytes are a stream and nothing but bytes ends a read. */
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

/*
 * Parks and tries until it is over, pd being registered since before the last try at count seq.  A write is
 * tried by the caller: it may raise SIGPIPE, which the kernel delivers here and now, and no handler runs while
 * we hold; unless the number was closed and only we still have one.
 */
static long park_and_try(struct netop *op, struct polldesc *pd, uint32_t seq)
{
	for (;;) {
		long r = netpoll_park(pd, op->dir, seq, op->deadline, WaitIO);

		if (r < 0)
			return r;
		if (op->dir == NETPOLL_OUT && netpoll_number(pd) == op->fd) {
			op->woken = true;
			return NETFD_AGAIN;
		}
		seq = netpoll_seq(pd, op->dir);
		r = op->attempt(op, netpoll_begin(pd));
		netpoll_end(pd);
		if (r != -EAGAIN) {
			note(op, pd, seq);
			netpoll_pass(pd, op->dir);
			return r;
		}
	}
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
	return what == INTR_ENDS || (what == INTR_RESTARTS && op->timed);
}

/* One park, after a try at count seq of was, NULL: not registered then.  -EAGAIN: try again. */
static long park_once(struct netop *op, struct polldesc *was, uint32_t seq)
{
	struct polldesc *pd = netpoll_hold(&op->s->pd, op->fd);
	long r;

	if (!pd)
		return NETFD_FALLBACK;
	if (was && pd != was)
		r = NETFD_AGAIN; /* closed and made anew meanwhile */
	else
		/* Registered after the try: all it has seen came later, or is told by the registering. */
		r = park_and_try(op, pd, was ? seq : 0);
	netpoll_release(pd);
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

	return block_nocp(SYS_poll, (long)&p, 1, -1, 0, 0, 0) >= 0;
}

static bool known_empty(const struct netop *op, const struct polldesc *pd, uint32_t seq)
{
	return op->hints && pd && netpoll_is_drained(pd, seq) && short_read_tells(op->s);
}

long netfd_run(struct netop *op)
{
	runtime_checkyield();
	testcancel();
	for (;;) {
		struct polldesc *pd = atomic_load(&op->s->pd);
		uint32_t seq = pd ? netpoll_seq(pd, op->dir) : 0; /* before the try */
		long r;

		if (!known_empty(op, pd, seq)) {
			r = op->attempt(op, op->fd);
			if (r != -EAGAIN) {
				if (pd)
					note(op, pd, seq);
				if (pd && op->woken)
					netpoll_pass(pd, op->dir);
				return r;
			}
			switch (may_park(op->s, op->fd)) {
			case MAY_PARK:
				break;
			case NONBLOCKING:
				return op->done ? op->done : -EAGAIN;
			case OTHER_FILE:
				forget(op->s, op->fd, true);
				return op->done ? op->done : NETFD_FALLBACK;
			}
		}
		start_clock(op);
		r = park_once(op, pd, seq);
		if (r == NETFD_FALLBACK && op->done) {
			if (!wait_in_kernel(op))
				return op->done;
			continue;
		}
		if (r != NETFD_AGAIN)
			return r;
	}
}

/* ---- calls that cannot be tried ------------------------------------------------------------------------ */

long netfd_call(const struct netop *op)
{
	return block6(op->nr, op->fd, op->b, op->c, op->d, op->e, op->f);
}

static long ask(struct netop *op, int fd)
{
	struct pollfd p = { .fd = fd, .events = op->dir == NETPOLL_IN ? POLLIN : POLLOUT };
	long r;

	/* Even without time it may say EINTR; taken for "not ready", the edge that was would be missed. */
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
