/*
 * netpoll: one epoll instance, and the idle M that sleeps in it.
 *
 * An M without work becomes the poller when there is none (sched.lastpoll is 0 while there is a
 * poller, sched.polluntil is its deadline): it sleeps until a descriptor has an edge, a timer is
 * due or netpoll_break() wakes it.  Ms with a P look without sleeping when their queue is empty and
 * at every 61st schedule; sysmon does when no M has looked for long.  Several may be in epoll_wait
 * at once: the kernel gives each event to one of them.
 *
 * netpoll_break() writes to an eventfd in the same epoll, level-triggered: only the sleeping poller
 * reads it, all others skip its event.  Before the first descriptor there is no epoll: the poller
 * then sleeps on a futex.
 *
 * Rule: a thread that leaves epoll sets lastpoll to the time before it readies a G, or it would
 * wake itself.
 *
 * Must never: touch a descriptor of the program other than by its registration (polldesc.c).
 */
#include "runtime/sched/gmp.h"

#include <errno.h>

enum { HIGH_FD = 1016 }; /* above what programs count and close, below what makes fork copy big tables */

_Atomic int netpoll_own[NETPOLL_NOWN] = { -1, -1, -1 };
#define epfd netpoll_own[NETPOLL_EPOLL]
#define netpolleventfd netpoll_own[NETPOLL_EVENTFD]
static _Atomic bool clockasked; /* for the third */
/*
 * A filter forbids the calls: their numbers stay ours, and unused.  seq_cst with sched.netpollwakesig and the eventfd:
 * netpoll_end() writes this one, then those; the poller reads this one after it was woken by them.
 */
static _Atomic bool ended;
/*
 * seq_cst with sched.netpollwakesig in wait_futex(): each side writes its own, then reads the other
 */
static _Atomic bool futex_sleeper; /* the poller sleeps on netpollwakesig: it came before the epoll */
static struct lock openlock = LOCK_INIT(Pollopen);

#define EVENTFD_DATA UINT64_MAX
#define CLOCK (UINT64_MAX - 1)

int netpoll_fd(void)
{
	return unlikely(load_seqcst(&ended)) ? -1 : load_acquire(&epfd);
}

/* A second number for fd, out of the way if possible. */
int netpoll_dup(int fd)
{
	unsigned long limit = os_fdlimit();
	int high = os_dup_above(fd, limit > HIGH_FD ? HIGH_FD : (int)limit / 2);

	return high < 0 ? os_dup_above(fd, 0) : high;
}

/*
 * While there is one thread.  The kernel makes the table of descriptors larger with a number beyond its end,
 * and where threads share it, it waits for an RCU grace period then: the first wait for a descriptor took
 * 4 to 20 ms.
 */
void netpoll_makeroom(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		int to = netpoll_dup(fd);

		if (to >= 0) {
			os_close(to);
			return;
		}
	}
}

/* Moves a new descriptor of ours there; negative: an error passed on. */
static int high(int fd)
{
	int to;

	if (fd < 0)
		return fd;
	to = netpoll_dup(fd);
	if (to < 0)
		return fd;
	os_close(fd);
	return to;
}

/* A filter may refuse any of these: better no poller than one that does not sleep. */
static bool usable(int ep, int evfd)
{
	struct os_event ev;

	return !os_poll_add(ep, evfd, OS_POLLIN, EVENTFD_DATA) && !os_poll_wait(ep, &ev, 1, OS_NOWAIT, NULL);
}

/* Its number may be left to the program meanwhile (netpoll_move()), which closes it: then the write told nobody. */
static void write_eventfd(void)
{
	static const uint64_t one = 1;
	int fd = netpoll_fd() >= 0 ? load_acquire(&netpolleventfd) : -1;

	for (int last = -1; fd >= 0 && fd != last; fd = load_acquire(&netpolleventfd)) {
		os_write(fd, &one, sizeof(one));
		last = fd;
	}
	if (load_seqcst(&futex_sleeper))
		os_futex_wake((uint32_t *)&sched.netpollwakesig, 1);
}

/* The eventfd stays readable until a poller has left epoll, also one that is on its way in. */
void netpoll_end(void)
{
	static const uint64_t one = 1;
	int ep = netpoll_fd();

	store_seqcst(&ended, true);
	if (ep < 0)
		return;
	store_seqcst(&sched.netpollwakesig, 1);
	os_write(load_acquire(&netpolleventfd), &one, sizeof(one));
}

bool netpoll_open(void)
{
	int ep, evfd;

	if (netpoll_fd() >= 0)
		return true;
	if (load_seqcst(&ended))
		return false;
	lock(&openlock);
	ep = load_acquire(&epfd);
	if (ep < 0) {
		ep = high(os_poll_create());
		evfd = high(os_eventfd());
		if (ep >= 0 && evfd >= 0 && usable(ep, evfd)) {
			store_release(&netpolleventfd, evfd);
			store_release(&epfd, ep);
		} else {
			if (ep >= 0)
				os_close(ep);
			if (evfd >= 0)
				os_close(evfd);
			ep = -1;
		}
	}
	unlock(&openlock);
	/*
	 * A poller on the futex must change over to epoll.  And if netpollwakesig was set before the
	 * eventfd was there, nothing was written to it, and no later netpoll_break() would write.
	 */
	if (ep >= 0) {
		store_seqcst(&sched.netpollwakesig, 1);
		write_eventfd();
	}
	return ep >= 0;
}

/*
 * With the first wait for such a clock; for want of a descriptor, waits notice a clock that was set
 * forward only when they would have ended without that.
 */
static void open_clock(void)
{
	int fd;

	if (exchange_acq_rel(&clockasked, true) || !netpoll_open())
		return;
	fd = high(os_clockfd());
	if (fd < 0)
		return;
	lock(&openlock);
	if (os_poll_add(netpoll_fd(), fd, OS_POLLIN | OS_POLLEDGE, CLOCK) == 0) {
		store_release(&netpoll_own[NETPOLL_CLOCK], fd);
		fd = -1;
	}
	unlock(&openlock);
	if (fd >= 0)
		os_close(fd);
}

bool netpoll_clocks(void)
{
	return load_relaxed(&netpoll_own[NETPOLL_CLOCK]) >= 0;
}

void netpoll_clock(void)
{
	/* A real-time G's M sleeps until that clock shows the time. */
	if (unlikely(!load_relaxed(&clockasked)) && !runtime_waits_itself())
		open_clock();
}

/*
 * Leaves the number fd to the program.  Threads that sleep in epoll_wait hold the file, not its
 * number.
 */
void netpoll_move(int fd)
{
	lock(&openlock);
	if (netpoll_owns(fd)) {
		int to = os_dup_above(fd, fd + 1);

		if (to < 0)
			to = netpoll_dup(fd);
		for (int i = 0; to >= 0 && i < NETPOLL_NOWN; i++)
			if (fd == load_acquire(&netpoll_own[i]))
				store_release(&netpoll_own[i], to);
	}
	unlock(&openlock);
}

static int wait_futex(uint64_t deadline)
{
	store_seqcst(&futex_sleeper, true);
	/* A break that came before the sleep has set netpollwakesig: the wait returns at once. */
	if (load_seqcst(&sched.netpollwakesig) == 0 && netpoll_fd() < 0)
		os_futex_wait((uint32_t *)&sched.netpollwakesig, 0, deadline);
	store_seqcst(&futex_sleeper, false);
	store_seqcst(&sched.netpollwakesig, 0);
	return 0;
}

/*
 * CLOCK_REALTIME was set, which the kernel tells each time, read or not.  (Not read: its number may have
 * become the program's a moment ago.)  A real-time G's own P is its M's affair, which waits for that
 * clock itself.
 */
static void clock_was_set(void)
{
	uint64_t first;

	for (int i = 0; i < MAXPROCS && allp[i]; i++)
		timers_reaim(allp[i]);
	first = timers_next();
	if (first) {
		wakenetpoller(first);
		sysmon_wake_by(first);
	}
}

/* Moves the program's events to the front and counts them; *written: the eventfd was among them. */
static int drop_eventfd(struct os_event *ev, int n, bool *written)
{
	bool set = false;
	int kept = 0;

	for (int i = 0; i < n; i++) {
		if (ev[i].data == EVENTFD_DATA)
			*written = true;
		else if (unlikely(ev[i].data == CLOCK))
			set = true;
		else
			ev[kept++] = ev[i];
	}
	if (unlikely(set))
		clock_was_set();
	return kept;
}

/* Looks again and again until then: events, or 0. */
static int look_until(int ep, struct os_event *ev, uint64_t until)
{
	int n = 0;

	while (n == 0 && nanotime() < until) {
		n = os_poll_wait(ep, ev, NETPOLL_BATCH, OS_NOWAIT, NULL);
		for (int i = 0; n == 0 && i < SPIN_PAUSES; i++)
			arch_pause();
	}
	return n;
}

int netpoll_wait(struct os_event *ev, uint64_t deadline, uint64_t spin)
{
	uint64_t count, out = load_relaxed(&sched.idlemask);
	int ep = netpoll_fd(), n = 0;
	bool written = false;

	if (ep < 0) {
		m_block_idle();
		return wait_futex(deadline);
	}
	/*
	 * As m_block_idle(), without system calls of its own: this is where a server's Ms sleep.  But
	 * an M that wakes has its own mask again, and a signal that no G lets in may be pending.
	 */
	if (weft_tls.m == &m0) {
		m_block_idle();
		out = 0;
	} else if (weft_tls.m && load_seqcst(&sched.allblocked) & ~weft_tls.m->sigmask) {
		m_block_idle();
	}
	if (spin)
		n = look_until(ep, ev, deadline && deadline < spin ? deadline : spin);
	if (n == 0)
		n = os_poll_wait(ep, ev, NETPOLL_BATCH, deadline, out ? &out : NULL);
	n = drop_eventfd(ev, n, &written);
	if (written) {
		os_read(load_acquire(&netpolleventfd), &count, sizeof(count));
		/*
		 * A thread that found netpollwakesig set had already published its timer; the caller
		 * re-reads the heaps after this.
		 */
		store_seqcst(&sched.netpollwakesig, 0);
	}
	return n;
}

unsigned netpoll_ready(const struct os_event *ev, int n)
{
	struct p *pp = getp();
	unsigned woken = 0;

	if (load_relaxed(&sched.pollmany) != (n > 1))
		store_relaxed(&sched.pollmany, n > 1);
	for (int i = 0; i < n; i++)
		woken += polldesc_fire(ev[i].data, ev[i].events);
	if (woken && pp) {
		p_batch_begins(pp, true);
		p_batch_queued(pp);
	}
	return woken;
}

unsigned netpoll_nowait(void)
{
	struct os_event ev[NETPOLL_BATCH];
	uint64_t last = load_seqcst(&sched.lastpoll);
	int ep = netpoll_fd(), n;
	bool written;

	if (ep < 0)
		return 0;
	/*
	 * Tells sysmon that the descriptors were looked at.  Not while there is a poller (0), or
	 * when one came meanwhile.
	 */
	if (last)
		cas_seqcst(&sched.lastpoll, &last, nanotime());
	n = drop_eventfd(ev, os_poll_wait(ep, ev, NETPOLL_BATCH, OS_NOWAIT, NULL), &written);
	if (n)
		return netpoll_ready(ev, n);
	store_relaxed(&sched.pollmany, false);
	return 0;
}

void netpoll_break(void)
{
	/* The exchange deduplicates: one wake-up until the poller has cleared the word. */
	if (exchange_seqcst(&sched.netpollwakesig, 1) == 0)
		write_eventfd();
}

void wakenetpoller(uint64_t when)
{
	/*
	 * Pairs with findrunnable: the poller publishes lastpoll = 0 and polluntil, then reads
	 * every heap; we changed a heap, then read lastpoll and polluntil.  One of us sees the
	 * other.
	 */
	if (load_seqcst(&sched.lastpoll) == 0) {
		uint64_t until = load_seqcst(&sched.polluntil);

		if (until == 0 || until > when)
			netpoll_break();
	}
}

/*
 * The child has copies of the parent's: an epoll that both used would tell each process of the
 * other's descriptors.
 */
void netpoll_fork_child(void)
{
	lock_init(&openlock, Pollopen);
	store_relaxed(&futex_sleeper, false);
	store_relaxed(&clockasked, false);
	for (int i = 0; i < NETPOLL_NOWN; i++) {
		int fd = exchange_relaxed(&netpoll_own[i], -1);

		if (fd >= 0)
			os_close(fd);
	}
	polldesc_fork_child();
}
