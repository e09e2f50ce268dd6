/*
 * polldesc: two threads read a pipe and wait for it as G's would, one writes, and is the poller; another closes the
 * reading number under them and puts it on another pipe.  Bytes are not counted, for a pipe's end may be closed with
 * some in it.  Descriptors are used by raw calls: ThreadSanitizer takes their use by others for a race, and
 * their handing over for an order.
 */
#include "tests/tsan/drive.h"

#include <fcntl.h>
#include <sys/syscall.h>

enum { ROUNDS = 600, NUMBERS = 2 };

static pollslot slots[NUMBERS];
static int ends[NUMBERS];      /* the program's numbers of reading ends: the same throughout */
static _Atomic int writers[NUMBERS];
static _Atomic unsigned running = 3;

static void wait_once(struct driver *d, unsigned i)
{
	struct netwait w;
	char c[4];

	netpoll_look(&w, &slots[i], NETPOLL_IN);
	if (netpoll_hold(&w, ends[i], chance(d, 2)) != NETPOLL_HELD)
		return;
	netpoll_next(&w);
	if (w.fd >= 0 && syscall(SYS_read, w.fd, c, sizeof(c)) < 0 && errno == EAGAIN) {
		netpoll_park(&w, nanotime() + 200000, WaitIO);
		if (w.fd >= 0)
			syscall(SYS_read, w.fd, c, sizeof(c));
	}
	netpoll_release(&w, false, false);
}

static void reader(struct driver *d)
{
	for (unsigned i = 0; i < ROUNDS; i++)
		wait_once(d, (unsigned)chance(d, NUMBERS));
	fetch_sub_relaxed(&running, 1);
}

/* Several at once. */
static void wait_set(struct driver *d)
{
	struct polllink links[NUMBERS] = { { .slot = &slots[0], .fd = ends[0], .events = OS_POLLIN },
					   { .slot = &slots[1], .fd = ends[1], .events = OS_POLLIN } };
	struct pollset set = { 0 };

	if (!netpoll_holdset(&set, links, NUMBERS))
		return;
	netpoll_parkset(&set, nanotime() + 100000 + chance(d, 1000), WaitPoll);
	netpoll_releaseset(links, NUMBERS);
}

static void poller(struct driver *d)
{
	while (load_relaxed(&running)) {
		syscall(SYS_write, load_relaxed(&writers[chance(d, NUMBERS)]), "x", 1);
		netpoll_nowait();
	}
}

static int new_pipe(unsigned i)
{
	int p[2];

	must(!syscall(SYS_pipe2, p, O_NONBLOCK), "pipes");
	store_relaxed(&writers[i], p[1]);
	return p[0];
}

static void closer(struct driver *d)
{
	for (unsigned k = 0; k < ROUNDS / 4; k++) {
		unsigned i = (unsigned)chance(d, NUMBERS);
		int was = load_relaxed(&writers[i]), end = new_pipe(i);

		netpoll_closing(&slots[i], ends[i]);
		must(syscall(SYS_dup3, end, ends[i], 0) == ends[i], "dup3");
		netpoll_closed(&slots[i]);
		syscall(SYS_close, end);
		syscall(SYS_close, was);
		for (unsigned n = 0; n < 3; n++)
			wait_set(d);
	}
	fetch_sub_relaxed(&running, 1);
}

int main(void)
{
	drive_world(1);
	for (unsigned i = 0; i < NUMBERS; i++)
		ends[i] = new_pipe(i);
	drive((void (*[])(struct driver *)){ reader, reader, closer, poller });
	puts("1 passed, 0 failed");
}
