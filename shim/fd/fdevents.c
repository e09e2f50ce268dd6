/*
 * fdevents: what happens to descriptors, by the table fdevents.def.
 *
 * Whatever makes, ends or changes a descriptor comes through here, from libc's functions and from
 * syscall(): the table of descriptors (fdtable.h) believes nothing that is not told here.  That a
 * number is ending is told before the call: afterwards it may name another file.
 *
 * The poller's own descriptors are not there for the program: it cannot close them, and gets their
 * numbers when it names one as a target.
 *
 * Must never: read the program's memory before the kernel has found it good.
 */
#include "runtime/netpoll.h"
#include "shim/fd/fdevents.h"
#include "shim/fd/epollset.h"
#include "shim/signal/sigroute.h"

#include <linux/close_range.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>

static bool nothing(struct fdcall *c)
{
	(void)c;
	return true;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static bool ours(int fd)
{
	return unlikely(netpoll_owns(fd)) && !is_unshared(UNSHARED_FILES);
}

static bool refused(struct fdcall *c, long err)
{
	c->result = err;
	return false;
}

static bool ending(struct fdcall *c)
{
	if (ours((int)c->a[0]))
		return refused(c, -EBADF);
	if (is_unshared(UNSHARED_FILES | UNSHARED_TABLE) || (int)c->a[0] < 0)
		return true;
	c->slot = fdtable_closing((int)c->a[0]);
	c->pending = weft_on;
	return true;
}

static bool ended(struct fdcall *c)
{
	if (c->pending)
		fdtable_closed(c->slot);
	return true;
}

static bool replacing(struct fdcall *c)
{
	int from = (int)c->a[0], to = (int)c->a[1];

	if (from == to || to < 0 || is_unshared(UNSHARED_FILES))
		return true;
	if (is_unshared(UNSHARED_TABLE))
		return ours(to) ? refused(c, -EBADF) : true;
	c->alone = fdtable_alone_of(from);
	epollset_copied(from);
	c->slot = fdtable_closing(to);
	c->pending = weft_on;
	return true;
}

static bool replaced(struct fdcall *c)
{
	if (c->a[0] == c->a[1] || is_unshared(UNSHARED_FILES | UNSHARED_TABLE))
		return true;
	if (c->pending)
		fdtable_closed(c->slot);
	if (c->result >= 0) {
		fdtable_made((int)c->a[1], c->alone);
		fdpeer_copied((int)c->a[0], (int)c->a[1]);
	}
	return true;
}

/* Those of fd.c, which leave out our own; by number the call goes there. */
static bool is_range_end(const struct fdcall *c)
{
	return !(c->a[2] & (CLOSE_RANGE_CLOEXEC | CLOSE_RANGE_UNSHARE)) &&
	       !is_unshared(UNSHARED_FILES | UNSHARED_TABLE);
}

static bool ending_range(struct fdcall *c)
{
	if (is_range_end(c)) {
		fdtable_closing_range((unsigned int)c->a[0], (unsigned int)c->a[1]);
		c->pending = weft_on;
	}
	return true;
}

static bool ended_range(struct fdcall *c)
{
	if (c->pending)
		fdtable_closed_range((unsigned int)c->a[0], (unsigned int)c->a[1]);
	return true;
}

/* From here on what this thread does with numbers is its own affair: nothing is noted, nothing watched. */
static bool unshared(struct fdcall *c)
{
	if (c->result >= 0 && c->a[0] & CLONE_FILES && weft_on)
		weft_tls.unshared |= UNSHARED_TABLE;
	return true;
}

/* ---- makes ----------------------------------------------------------------------------------- */

static bool counting(struct fdcall *c)
{
	c->alone = fdtable_alone();
	return true;
}

static bool is_dupfd(const struct fdcall *c)
{
	return c->nr == SYS_fcntl && ((int)c->a[1] == F_DUPFD || (int)c->a[1] == F_DUPFD_CLOEXEC);
}

static bool copying(struct fdcall *c)
{
	c->alone = fdtable_alone_of((int)c->a[0]);
	if (c->nr == SYS_dup || is_dupfd(c))
		epollset_copied((int)c->a[0]);
	return true;
}

static bool made(struct fdcall *c)
{
	if (c->result >= 0)
		fdtable_made((int)c->result, c->alone);
	return true;
}

/* What is written to it is read by its number. */
static bool made_counter(struct fdcall *c)
{
	made(c);
	if (c->result >= 0)
		fdpeer_made((int)c->result, (int)c->result);
	return true;
}

static bool copied(struct fdcall *c)
{
	made(c);
	if (c->result >= 0)
		fdpeer_copied((int)c->a[0], (int)c->result);
	return true;
}

static bool made_accepted(struct fdcall *c)
{
	made(c);
	if (c->result >= 0)
		fdtable_accepted((int)c->result, (int)c->a[0]);
	return true;
}

static bool made_two(const struct fdcall *c, const int *fds)
{
	if (c->result < 0)
		return true;
	fdtable_made(fds[0], c->alone);
	fdtable_made(fds[1], c->alone);
	fdpeer_made(fds[0], fds[1]);
	return true;
}

static bool made_pair(struct fdcall *c)
{
	return made_two(c, (const int *)c->a[3]);
}

static bool made_pipe(struct fdcall *c)
{
	if (c->result >= 0 && c->nr == SYS_pipe2 && c->a[1] & O_DIRECT)
		fdtable_packets_used();
	return made_two(c, (const int *)c->a[0]);
}

/* The first argument names one that is there already, or -1. */
static bool made_signalfd(struct fdcall *c)
{
	if (c->result >= 0)
		signals_described(*(const uint64_t *)c->a[1]); /* the kernel has read it */
	return (int)c->a[0] == -1 ? made(c) : true;
}

/* It is known for what it is before anything is put in. */
static bool made_epoll(struct fdcall *c)
{
	struct fdslot *s;

	made(c);
	s = c->result >= 0 ? fdslot_of((int)c->result) : NULL;
	if (s && !is_unshared(UNSHARED_FILES | UNSHARED_TABLE))
		fdtable_made_epoll(s);
	return true;
}

static bool arrived(struct fdcall *c)
{
	c->alone = 0;
	return made(c);
}

/* Its commands make a descriptor or return 0; and 0 is a number that a program rarely gets anew. */
static bool arrived_perhaps(struct fdcall *c)
{
	return c->result > 0 ? arrived(c) : true;
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool passes_descriptors(struct cmsghdr *h)
{
	return h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS;
}

static void received_in(struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h)) {
		const int *fd = (const int *)CMSG_DATA(h);
		size_t n = (h->cmsg_len - CMSG_LEN(0)) / sizeof(*fd);

		for (size_t i = 0; passes_descriptors(h) && i < n; i++)
			fdtable_made(fd[i], 0);
	}
}

static bool received(struct fdcall *c)
{
	if (c->result >= 0)
		received_in((struct msghdr *)c->a[1]);
	return true;
}

static bool received_many(struct fdcall *c)
{
	struct mmsghdr *m = (struct mmsghdr *)c->a[1];

	for (long i = 0; i < c->result; i++)
		received_in(&m[i].msg_hdr);
	return true;
}

static void sent_in(struct msghdr *m)
{
	for (struct cmsghdr *h = CMSG_FIRSTHDR(m); h; h = CMSG_NXTHDR(m, h))
		if (passes_descriptors(h)) {
			fdtable_shared();
			return;
		}
}

static bool sent(struct fdcall *c)
{
	if (c->result >= 0)
		sent_in((struct msghdr *)c->a[1]);
	return true;
}

static bool sent_many(struct fdcall *c)
{
	struct mmsghdr *m = (struct mmsghdr *)c->a[1];

	for (long i = 0; i < c->result; i++)
		sent_in(&m[i].msg_hdr);
	return true;
}

static bool lending(struct fdcall *c)
{
	(void)c;
	fdtable_shared();
	return true;
}

/* ---- changes --------------------------------------------------------------------------------- */

static bool controlled(struct fdcall *c)
{
	if (c->result < 0)
		return true;
	if (is_dupfd(c))
		return copied(c);
	if ((int)c->a[1] == F_SETFL) {
		if (c->a[2] & O_DIRECT)
			fdtable_packets_used();
		fdtable_changed();
	}
	return true;
}

static bool controlled_device(struct fdcall *c)
{
	if ((unsigned int)c->a[1] == FIONBIO)
		fdtable_changed();
	return true;
}

/* What a park depends on is asked for again, on whatever number of the same socket. */
static bool option_set(struct fdcall *c)
{
	long level = c->a[1], name = c->a[2];

	if (c->result < 0)
		return true;
	if (level == SOL_SOCKET && name == SO_RCVLOWAT)
		fdtable_lowat_used();
	else if (level == SOL_SOCKET && (name == SO_RCVTIMEO_NEW || name == SO_RCVTIMEO_OLD ||
					 name == SO_SNDTIMEO_NEW || name == SO_SNDTIMEO_OLD))
		fdtable_changed();
	else if (level == IPPROTO_TCP && name == TCP_ULP)
		fdtable_records_used();
	return true;
}

static bool splicing(struct fdcall *c)
{
	(void)c;
	fdtable_splice_used();
	return true;
}

/* The number that it wrote to is the call's first argument, second or third. */
static bool spliced(struct fdcall *c)
{
	struct fdslot *out = fdslot_known((int)c->a[c->nr == SYS_splice ? 2 : c->nr == SYS_tee]);

	fdpeer_wrote(out, c->result);
	return true;
}

/* A splice if it goes into a pipe. */
static bool sending(struct fdcall *c)
{
	struct fdslot *out = fdslot_of((int)c->a[0]);

	return out && fdslot_kind(out, (int)c->a[0]) == FDK_PIPE ? splicing(c) : true;
}

static bool enrolling(struct fdcall *c)
{
	c->result = epollset_ctl((int)c->a[0], (int)c->a[1], (int)c->a[2], (void *)c->a[3]);
	return false;
}

static bool shut_down(struct fdcall *c)
{
	if (c->result >= 0 && weft_on)
		fdwait_shutdown();
	return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

struct fdevent {
	bool (*before)(struct fdcall *c), (*after)(struct fdcall *c);
};

static const struct fdevent events[] = {
#define FDEVENT(name, before, after) [SYS_##name] = { before, after },
#include "shim/fd/fdevents.def"
#undef FDEVENT
};

bool fdcall_concerns(long nr)
{
	return nr >= 0 && nr < (long)(sizeof(events) / sizeof(events[0])) && events[nr].before;
}

bool fdcall_begin(struct fdcall *c)
{
	if (!fdcall_concerns(c->nr))
		return true;
	if (!events[c->nr].before(c))
		return false;
	c->event = &events[c->nr];
	return true;
}

void fdcall_end(struct fdcall *c)
{
	if (c->event)
		c->event->after(c);
	c->event = NULL;
}
