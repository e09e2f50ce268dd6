/*
 * fdkind: what a descriptor's number is.
 *
 * The kernel is asked once in a life of the number (fdlife.c).  Some uses that the program may make of a
 * file (SO_RCVLOWAT, records) change what it is to weft: before the first of them nobody asks about them.
 *
 * Must never: ask a file in a way that changes it.
 */
#include "shim/fd/fdask.h"

#include <linux/major.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { USED_LOWAT = 1, USED_RECORDS = 2, NO_EPOLLS = 4 /* all are left to the kernel */ };
/*
 * What a look at a file depends on.  seq_cst with a slot's state: it is added to, then the states that
 * were learnt without it are read and forgotten; fdslot_look() writes a state, then reads this again.
 */
static _Atomic uint32_t in_use;

static long sockopt(int fd, int level, int name, void *value, socklen_t size)
{
	return fdask5(SYS_getsockopt, fd, level, name, value, &size);
}

static enum fdkind kind_of_socket(const struct fdslot *s, int fd, int type)
{
	bool others = !fdslot_is_alone(s);
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
	n = fdask3(SYS_readlink, path, name, sizeof(name));
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
	if (r != -ENOTSOCK || fdask3(SYS_fstat, fd, &st, 0))
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
	if (S_ISCHR(st.st_mode) && !fdask3(SYS_ioctl, fd, TCGETS, settings))
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

/*
 * What a socket is handed on by its listener: type, protocol and SO_RCVLOWAT.  Only where the last, and records,
 * were never used: an answer that cannot be other than the kernel's.
 */
void fdtable_accepted(int fd, int listener)
{
	struct fdslot *s = fdslot_there(fd), *l = fdslot_there(listener);
	uint32_t was;

	if (!s || !l || fdslot_kindnow(l) != FDK_TCP || !fdslot_is_alone(l) ||
	    load_seqcst(&in_use) & ~(uint32_t)NO_EPOLLS)
		return;
	was = load_seqcst(&s->state);
	if ((was & 0xff) == FDK_NEW)
		cas_seqcst(&s->state, &was, was | FDK_TCP);
	/* As in fdslot_look(). */
	if (unlikely(load_seqcst(&in_use) & ~(uint32_t)NO_EPOLLS))
		fdslot_setkind(s, FDK_NEW);
}

/* ---- what the program uses from now on ------------------------------------------------------- */

static void forget_kind(struct fdslot *s, int fd)
{
	(void)fd;
	if (fdkind_is_socket(fdslot_kindnow(s)) || fdslot_kindnow(s) == FDK_WATCHED)
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

void fdtable_epolls_barred(void)
{
	fetch_or_seqcst(&in_use, NO_EPOLLS);
}

/* bar_all() sets the bit, then looks for slots of that kind: it sees this one, or this sees the bit. */
void fdtable_made_epoll(struct fdslot *s)
{
	fdslot_setkind(s, FDK_EPOLL);
	if (unlikely(load_seqcst(&in_use) & NO_EPOLLS))
		fdslot_setkind(s, FDK_FILE);
}
