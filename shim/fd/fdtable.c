/*
 * fdtable: the table of descriptors, and the questions of identity and flags, all in one place.
 *
 * O_NONBLOCK is asked for before each park that follows a call that would have blocked.  The park
 * after a short read makes no system call, so it needs a file whose attributes are known.
 *
 * What does not pass through this library (libc's own closes, system calls in assembly) is
 * survived: a wrong kind shows in the first call's error, and before a park that follows a call
 * that would block, the registered file is compared with the open one.
 */
#include "shim/fd/fdtable.h"
#include "shim/syscall/tablepart.h"

#include <linux/major.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { SLOTS_CHUNK = 256, SLOTS_CHUNKS = 4096, SLOTS_MAX = SLOTS_CHUNK * SLOTS_CHUNKS };

static void *_Atomic slotchunks[SLOTS_CHUNKS]; /* of fdslots */
/*
 * Both are read before a question to the kernel, whose answer is kept with what was read, and counted up
 * around the call that makes the answer untrue.  Acquire and release: whether the question saw what the
 * call changed, the kernel's own locks decide.
 */
static _Atomic uint32_t epoch = 1; /* of flags and time-outs, after the change; 0 means never asked */
static _Atomic uint32_t alone = 1; /* how often other processes got files of ours; before it; 0 means always */
enum { USED_LOWAT = 1, USED_RECORDS = 2, NO_EPOLLS = 4 /* all are left to the kernel */ };
/*
 * What a look at a file depends on.  seq_cst with a slot's state: it is added to, then the states that
 * were learnt without it are read and forgotten; fdslot_look() writes a state, then reads this again.
 */
static _Atomic uint32_t in_use;
/* Asked with each wait: one that begins before the program has used it is as if it had ended before. */
static _Atomic bool packets, splices;
/*
 * seq_cst with the slot's barred and pd: fdslot_bar() adds here before it wakes the waiters, which
 * read it
 */
static _Atomic uint32_t bars;
_Atomic bool fdtable_notries;

static struct fdslot *known(int fd)
{
	unsigned int i = (unsigned int)fd;
	/* Acquire: pairs with tablepart(). */
	struct fdslot *chunk =
		i < SLOTS_MAX ? load_acquire(&slotchunks[i / SLOTS_CHUNK]) : NULL;

	return chunk ? &chunk[i % SLOTS_CHUNK] : NULL;
}

static struct fdslot *with_chunk(int fd)
{
	if (fd < 0 || fd >= SLOTS_MAX || runtime_fault("table of descriptors") ||
	    !tablepart(&slotchunks[fd / SLOTS_CHUNK], SLOTS_CHUNK * sizeof(struct fdslot)))
		return NULL;
	return known(fd);
}

static struct fdslot *slot_of(int fd)
{
	struct fdslot *s = known(fd);

	if (is_unshared(UNSHARED_FILES | UNSHARED_TABLE))
		return NULL;
	return likely(s != NULL) ? s : with_chunk(fd);
}

struct fdslot *fdslot_of(int fd)
{
	if (unlikely(fdtable_tries_ended()))
		return NULL;
	return slot_of(fd);
}

static void retry_all(struct fdslot *s, int fd)
{
	netpoll_changed(&s->poll, fd, NETPOLL_RETRY);
}

/* A waiter for several sees that something was barred; a waiter for one sees it at its next try. */
void fdtable_tries_end(void)
{
	store_release(&fdtable_notries, true); /* before the count, and before a waiter is woken */
	fetch_add_seqcst(&bars, 1);
	if (weft_on)
		fdtable_each(retry_all);
}

void fdtable_each(void (*fn)(struct fdslot *s, int fd))
{
	for (int i = 0; i < SLOTS_CHUNKS; i++) {
		struct fdslot *chunk = load_acquire(&slotchunks[i]);

		for (int k = 0; chunk && k < SLOTS_CHUNK; k++)
			if ((load_seqcst(&chunk[k].state) & 0xff) != FDK_NEW || load_seqcst(&chunk[k].poll.pd))
				fn(&chunk[k], i * SLOTS_CHUNK + k);
	}
}

/* ---- what a number is ------------------------------------------------------------------------ */

static long sockopt(int fd, int level, int name, void *value, socklen_t size)
{
	return direct5(SYS_getsockopt, fd, level, name, value, &size);
}

/* No other process has the file, so what we know of its attributes is true. */
static bool is_alone(const struct fdslot *s)
{
	return load_acquire(&s->alone) == load_acquire(&alone);
}

static enum fdkind kind_of_socket(const struct fdslot *s, int fd, int type)
{
	bool others = !is_alone(s);
	char ulp[16] = ""; /* the kernel's TCP_ULP_NAME_MAX */
	int value = 0;

	if ((others || load_acquire(&in_use) & USED_LOWAT) &&
	    !sockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &value, sizeof(value)) && value > 1)
		return FDK_WATCHED; /* the kernel's own waiting counts the bytes */
	if (type == SOCK_SEQPACKET)
		return FDK_SEQ;
	if (type != SOCK_STREAM)
		return FDK_DGRAM;
	if (sockopt(fd, SOL_SOCKET, SO_PROTOCOL, &value, sizeof(value)) || value != IPPROTO_TCP)
		return FDK_STREAM;
	/* A short read of records does not say that there is no more. */
	if ((others || load_acquire(&in_use) & USED_RECORDS) &&
	    !sockopt(fd, IPPROTO_TCP, TCP_ULP, ulp, sizeof(ulp)) && ulp[0])
		return FDK_STREAM;
	return FDK_TCP;
}

/* What is in an epoll that another program made is not known. */
static enum fdkind kind_of_epoll(const struct fdslot *s)
{
	return load_acquire(&s->alone) && !(load_acquire(&in_use) & NO_EPOLLS) ? FDK_EPOLL : FDK_FILE;
}

/*
 * eventfd and its like have no type; the kernel names them.  Only those are watched whose poll()
 * changes nothing: where it takes the event away (perf events), our asking would.
 */
static enum fdkind kind_of_anonymous(const struct fdslot *s, int fd)
{
	static const struct {
		const char *name;
		enum fdkind kind;
	} names[] = {
		{ "anon_inode:[eventfd]", FDK_COUNTER },
		{ "anon_inode:[timerfd]", FDK_COUNTER },
		{ "anon_inode:[eventpoll]", FDK_EPOLL },
		{ "anon_inode:inotify", FDK_EVENTS },
		{ "anon_inode:[signalfd]", FDK_SIGNALS },
		{ "anon_inode:[pidfd]", FDK_WATCHED },
		{ "anon_inode:[io_uring]", FDK_WATCHED },
		{ "anon_inode:[userfaultfd]", FDK_WATCHED },
		{ "anon_inode:[fanotify]", FDK_WATCHED },
	};
	char path[32], name[32];
	long n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = direct3(SYS_readlink, path, name, sizeof(name));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (n == (long)strlen(names[i].name) && !memcmp(name, names[i].name, (size_t)n))
			return names[i].kind == FDK_EPOLL ? kind_of_epoll(s) : names[i].kind;
	return FDK_FILE;
}

static enum fdkind look_at(const struct fdslot *s, int fd)
{
	char settings[64]; /* the kernel's struct termios: 36 bytes */
	struct stat st;
	int type = 0;
	long r = sockopt(fd, SOL_SOCKET, SO_TYPE, &type, sizeof(type));

	if (r == 0)
		return kind_of_socket(s, fd, type);
	if (r != -ENOTSOCK || direct3(SYS_fstat, fd, &st, 0))
		return FDK_NEW;
	if (S_ISFIFO(st.st_mode))
		return FDK_PIPE;
	/*
	 * The master of a pseudo-terminal has no job control and no minimum or time of its own.  A
	 * terminal has: a read stops a background process before there is input, and may end
	 * without any.
	 */
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(TTYAUX_MAJOR, 2))
		return FDK_EVENTS;
	if (S_ISCHR(st.st_mode) && !direct3(SYS_ioctl, fd, TCGETS, settings))
		return FDK_TERMINAL;
	return st.st_mode & S_IFMT ? FDK_FILE : kind_of_anonymous(s, fd);
}

enum fdkind fdslot_look(struct fdslot *s, int fd)
{
	uint32_t was = load_relaxed(&s->state), uses = load_seqcst(&in_use);
	enum fdkind kind = (enum fdkind)(was & 0xff);

	if (kind != FDK_NEW)
		return kind;
	kind = look_at(s, fd);
	/* The answer is for this life of the number only. */
	cas_seqcst(&s->state, &was, was | kind);
	/* The first use of something came meanwhile: the next look asks about it. */
	if (unlikely(load_seqcst(&in_use) != uses))
		fdslot_setkind(s, FDK_NEW);
	return kind;
}

void fdslot_setkind(struct fdslot *s, enum fdkind kind)
{
	uint32_t was = load_seqcst(&s->state);

	cas_seqcst(&s->state, &was, (was & ~0xffu) | kind);
}

/* ---- flags and time-outs --------------------------------------------------------------------- */

enum { BLOCKING = 1, BEING_WRITTEN = 2 };

/* What was asked in this epoch and this life of the number carries this. */
static uint64_t key_at(const struct fdslot *s, uint32_t e)
{
	return (uint64_t)e << 32 | (uint64_t)fdslot_gen(s) << 8 | BLOCKING;
}

/*
 * One writer at a time.  A writer that finds another one at work notes nothing: what it noted would
 * be in doubt.
 */
static void remember(struct fdmemo *m, uint64_t key, uint64_t timeout)
{
	uint64_t was = load_seqcst(&m->key);

	if (was & BEING_WRITTEN || !cas_seqcst(&m->key, &was, BEING_WRITTEN))
		return;
	store_seqcst(&m->timeout, timeout);
	store_seqcst(&m->key, key); /* pairs with remembered(): the time-out is between two equal keys */
}

static bool remembered(const struct fdmemo *m, uint64_t key, uint64_t *timeout)
{
	if (load_seqcst(&m->key) != key)
		return false;
	*timeout = load_seqcst(&m->timeout);
	return load_seqcst(&m->key) == key;
}

static bool is_socket(enum fdkind kind)
{
	return kind == FDK_TCP || kind == FDK_STREAM || kind == FDK_DGRAM || kind == FDK_SEQ;
}

/* s NULL: not known to be a socket. */
static uint64_t ask_timeout(struct fdslot *s, int fd, enum polldir dir)
{
	struct timeval tv = { 0, 0 };

	if (!s || is_socket(fdslot_kind(s, fd)))
		sockopt(fd, SOL_SOCKET, dir == NETPOLL_IN ? SO_RCVTIMEO : SO_SNDTIMEO, &tv, sizeof(tv));
	return (uint64_t)tv.tv_sec * 1000000000 + (uint64_t)tv.tv_usec * 1000;
}

/*
 * A descriptor that is not open for the direction never becomes ready: the call itself says EBADF.
 */
static bool open_for(long flags, enum polldir dir)
{
	return (flags & O_ACCMODE) != (dir == NETPOLL_IN ? O_WRONLY : O_RDONLY);
}

enum verdict fdslot_may_park(struct fdslot *s, int fd, enum polldir dir, uint64_t *timeout)
{
	/* Before the questions: a change, a close or another process that comes after them ends it. */
	uint64_t key = s ? key_at(s, load_acquire(&epoch)) : 0;
	bool keep = s && is_alone(s);
	long flags = direct3(SYS_fcntl, fd, F_GETFL, 0);

	if (flags < 0)
		return OTHER_FILE;
	if (!open_for(flags, dir))
		return NOT_OPEN_FOR_IT;
	if (flags & O_NONBLOCK)
		return NONBLOCKING;
	if (keep && remembered(&s->memo[dir], key, timeout))
		return MAY_PARK;
	*timeout = ask_timeout(s, fd, dir);
	if (keep)
		remember(&s->memo[dir], key, *timeout);
	return MAY_PARK;
}

bool fdslot_nonblocking(struct fdslot *s, int fd)
{
	uint64_t timeout;
	long flags;

	if (is_alone(s) && remembered(&s->memo[NETPOLL_IN], key_at(s, load_acquire(&epoch)), &timeout))
		return false;
	flags = direct3(SYS_fcntl, fd, F_GETFL, 0);
	return flags >= 0 && flags & O_NONBLOCK;
}

/*
 * Where bytes are a stream and nothing but bytes ends a read.  Where other processes may have the
 * file, flags and time-out are asked for, which is still less than a try; but whether the other end
 * of a pipe makes packets, they decide without us.
 */
bool fdslot_short_read_tells(struct fdslot *s, int fd, uint64_t *timeout)
{
	enum fdkind kind = fdslot_kindnow(s);
	bool sole = is_alone(s);
	long flags;

	if (kind != FDK_TCP &&
	    (kind != FDK_PIPE || !sole || load_relaxed(&packets)))
		return false;
	if (sole)
		return remembered(&s->memo[NETPOLL_IN], key_at(s, load_acquire(&epoch)), timeout);
	flags = direct3(SYS_fcntl, fd, F_GETFL, 0);
	if (flags < 0 || flags & O_NONBLOCK)
		return false;
	*timeout = ask_timeout(s, fd, NETPOLL_IN);
	return true;
}

bool fdslot_stops_waiting(struct fdslot *s, int fd, enum polldir dir)
{
	uint64_t timeout;
	long flags;

	if (fdslot_kindnow(s) != FDK_PIPE)
		return false;
	if (is_alone(s) && remembered(&s->memo[dir], key_at(s, load_acquire(&epoch)), &timeout))
		return false;
	flags = direct3(SYS_fcntl, fd, F_GETFL, 0);
	return flags >= 0 && flags & O_NONBLOCK;
}

bool fdslot_is_spliced(const struct fdslot *s)
{
	return fdslot_kindnow(s) == FDK_PIPE &&
	       (load_relaxed(&splices) || !is_alone(s));
}

/* ---- what happened to descriptors ------------------------------------------------------------ */

/* The life first: what is learned from here on is of the next one. */
static void next_gen(struct fdslot *s)
{
	uint32_t was = load_seqcst(&s->state);

	while (!cas_weak_seqcst(&s->state, &was, ((was >> 8) + 1) << 8 | FDK_NEW))
		;
}

static bool noted(const struct fdslot *s)
{
	return fdslot_kindnow(s) != FDK_NEW || load_relaxed(&s->poll.pd);
}

/*
 * Before the start nothing is watched, and the runtime cannot be asked.  Afterwards each number
 * that is closed is marked: another thread may begin to wait for it between here and the call.  A
 * number without a slot (a program that closes all numbers there are) gets none: for the time of
 * its call no number is watched under its own name.
 */
struct fdslot *fdtable_closing(int fd)
{
	struct fdslot *s = known(fd);

	if (weft_on && !s) {
		netpoll_closing(NULL, fd);
		s = known(fd); /* its slot is there, or is made by one that sees the count */
		if (s)
			netpoll_closed(NULL);
	}
	if (!s)
		return NULL;
	if (load_relaxed(&s->alone))
		store_release(&s->alone, 0);
	/*
	 * A thread that looks at a number of which nothing is known does so after this, and still
	 * in this life of the number.
	 */
	if (noted(s))
		next_gen(s);
	if (weft_on)
		netpoll_closing(&s->poll, fd);
	return s;
}

void fdtable_closed(struct fdslot *s)
{
	if (!weft_on)
		return;
	if (!s) {
		netpoll_closed(NULL);
		return;
	}
	/* What was learned of the old file since fdtable_closing() goes, too. */
	next_gen(s);
	netpoll_closed(&s->poll);
}

static void each_between(unsigned int from, unsigned int to, void (*fn)(struct fdslot *, int))
{
	for (unsigned int i = from; i <= to && i < SLOTS_MAX; i++) {
		struct fdslot *s = known((int)i);

		if (s)
			fn(s, (int)i);
		else
			i |= SLOTS_CHUNK - 1; /* the chunk has nothing */
	}
}

static void relearn(struct fdslot *s, int fd)
{
	(void)fd;
	if (noted(s))
		next_gen(s);
}

static void end(struct fdslot *s, int fd)
{
	store_release(&s->alone, 0);
	relearn(s, fd);
	if (weft_on)
		netpoll_changed(&s->poll, fd, NETPOLL_KEEPS);
}

void fdtable_closing_range(unsigned int from, unsigned int to)
{
	if (weft_on)
		netpoll_closing(NULL, -1);
	each_between(from, to, end);
}

void fdtable_closed_range(unsigned int from, unsigned int to)
{
	each_between(from, to, relearn);
	if (weft_on)
		netpoll_closed(NULL);
}

void fdtable_made(int fd, uint32_t was_alone)
{
	struct fdslot *s = slot_of(fd);

	if (!s)
		return;
	/* Closed out of our sight: what we knew of the number is of a file that is gone. */
	if (unlikely(noted(s))) {
		next_gen(s);
		if (weft_on)
			netpoll_changed(&s->poll, fd, NETPOLL_GONE);
	}
	store_release(&s->alone, was_alone);
}

/*
 * What a socket is handed on by its listener: type, protocol and SO_RCVLOWAT.  Only where the last, and records,
 * were never used: an answer that cannot be other than the kernel's.
 */
void fdtable_accepted(int fd, int listener)
{
	struct fdslot *s = slot_of(fd), *l = slot_of(listener);
	uint32_t was;

	if (!s || !l || fdslot_kindnow(l) != FDK_TCP || !is_alone(l) || load_seqcst(&in_use) & ~(uint32_t)NO_EPOLLS)
		return;
	was = load_seqcst(&s->state);
	if ((was & 0xff) == FDK_NEW)
		cas_seqcst(&s->state, &was, was | FDK_TCP);
	/* As in fdslot_look(). */
	if (unlikely(load_seqcst(&in_use) & ~(uint32_t)NO_EPOLLS))
		fdslot_setkind(s, FDK_NEW);
}

uint32_t fdtable_alone(void)
{
	return load_acquire(&alone);
}

uint32_t fdtable_alone_of(int fd)
{
	struct fdslot *s = known(fd);

	return s ? load_acquire(&s->alone) : 0;
}

/* 0 has a meaning of its own. */
static void count(_Atomic uint32_t *what)
{
	if (fetch_add_acq_rel(what, 1) == UINT32_MAX)
		fetch_add_acq_rel(what, 1);
}

void fdtable_shared(void)
{
	count(&alone);
}

void fdtable_changed(void)
{
	count(&epoch);
}

static void forget_kind(struct fdslot *s, int fd)
{
	(void)fd;
	if (is_socket(fdslot_kindnow(s)) || fdslot_kindnow(s) == FDK_WATCHED)
		fdslot_setkind(s, FDK_NEW);
}

void fdtable_lowat_used(void)
{
	fetch_or_seqcst(&in_use, USED_LOWAT);
	fdtable_each(forget_kind);
}

void fdtable_records_used(void)
{
	fetch_or_seqcst(&in_use, USED_RECORDS);
	fdtable_each(forget_kind);
}

void fdtable_splice_used(void)
{
	store_release(&splices, true);
}

void fdtable_packets_used(void)
{
	store_release(&packets, true);
}

void fdslot_bar(struct fdslot *s, int fd)
{
	fetch_add_seqcst(&bars, 1); /* before the waiters are woken, for they read it */
	if (weft_on)
		netpoll_changed(&s->poll, fd, NETPOLL_BARS);
	else
		fetch_add_seqcst(&s->poll.barred, 1);
}

uint32_t fdtable_bars(void)
{
	return load_seqcst(&bars);
}

void fdslot_unbar(struct fdslot *s)
{
	netpoll_unbar(&s->poll);
}

bool fdslot_is_barred(const struct fdslot *s)
{
	return load_seqcst(&s->poll.barred) || fdslot_kindnow(s) == FDK_FILE;
}

void fdtable_epolls_barred(void)
{
	fetch_or_seqcst(&in_use, NO_EPOLLS);
}

static void reset(struct fdslot *s)
{
	store_relaxed(&s->poll.pd, NULL);
	store_relaxed(&s->poll.closing, 0);
	store_relaxed(&s->memo[0].key, 0);
	store_relaxed(&s->memo[1].key, 0);
}

/*
 * Nothing is watched in the child, and no thread is in the middle of a call.  A slot that is blank is not
 * written: each page would be memory of its own in every child.
 */
void fdtable_fork_child(void)
{
	for (int i = 0; i < SLOTS_CHUNKS; i++) {
		struct fdslot *chunk = load_relaxed(&slotchunks[i]);

		for (struct fdslot *s = chunk; s && s < chunk + SLOTS_CHUNK; s++)
			if (load_relaxed(&s->poll.pd) || load_relaxed(&s->poll.closing) ||
			    load_relaxed(&s->memo[0].key) || load_relaxed(&s->memo[1].key))
				reset(s);
	}
}
