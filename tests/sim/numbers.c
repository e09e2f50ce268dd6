/*
 * numbers: what becomes of the numbers of descriptors while others wait: closed with others, closed unseen and
 * used again, barred, forgotten, moved.
 *
 * Must never: leave a number in a state in which its readers could not end.
 */
#include "tests/sim/workloads.h"

#include <errno.h>

#include "runtime/netpoll.h"
#include "runtime/os/os.h"
#include "runtime/running.h"
#include "runtime/runtime.h"
#include "runtime/sched/gmp.h"

enum { NUMBERS = 3 };
static struct stream files[NUMBERS];
static unsigned nfiles;
static _Atomic unsigned meddling;

static void number_reader(void *arg)
{
	struct stream *s = arg;
	int n;

	do {
		n = stream_read(s, (unsigned)some(1, 20), sim_random(3) ? 0 : sim_now() + some(0, 300000));
		if (n == -EBADF)
			gosched(); /* barred, or another file by now */
		progress++;
	} while (n != 0);
}

/* As close_range() of nothing that is open. */
static void close_many(void)
{
	netpoll_closing(NULL, -1);
	for (unsigned i = 0; i < nfiles; i++)
		if (sim_random(2))
			netpoll_changed(&files[i].slot, files[i].fd, NETPOLL_KEEPS);
	netpoll_closed(NULL);
}

/* Where the runtime does not see it; the next file has the number.  Its readers learn of it by one that comes. */
static void swap(struct stream *s)
{
	int old = fd_file(s->fd);

	os_close(s->fd);
	fd_shut_open(old); /* those that hold it by a number of weft's wait for it */
	s->fd = fd_stream();
	for (int n = -EAGAIN; n == -EAGAIN;)
		n = stream_read(s, 1, sim_now() + 1);
}

/* The program closes it: the number is its own, whatever was there. */
static void move_own(int fd)
{
	netpoll_move(fd);
	if (!netpoll_owns(fd))
		os_close(fd);
}

static void meddle(struct stream *s)
{
	switch (sim_random(8)) {
	case 1:
		netpoll_changed(&s->slot, s->fd, NETPOLL_BARS);
		nap(some(0, 50000));
		netpoll_unbar(&s->slot);
		break;
	case 2:
		netpoll_changed(&s->slot, s->fd, NETPOLL_RETRY);
		break;
	case 3:
		netpoll_changed(&s->slot, s->fd, NETPOLL_KEEPS);
		break;
	case 4:
		close_many();
		break;
	case 5:
		move_own(load_acquire(&netpoll_own[sim_random(2) ? NETPOLL_EPOLL : NETPOLL_EVENTFD]));
		netpoll_makeroom();
		break;
	case 6:
		swap(s);
		break;
	default:
		nap(some(0, 100000));
	}
}

static void meddler(void *arg)
{
	(void)arg;
	for (uint64_t i = some(1, 6); i > 0; i--) {
		struct stream *s = &files[sim_random(nfiles)];

		if (sim_random(2))
			stream_write(s, (unsigned)some(1, 30));
		meddle(s);
	}
	if (fetch_sub_seqcst(&meddling, 1) == 1)
		for (unsigned i = 0; i < nfiles; i++)
			stream_end(&files[i]);
}

void workload_numbers(void)
{
	nfiles = (unsigned)some(1, NUMBERS);
	/* One at a time: a number that two close and open is a fault of the program's. */
	store_seqcst(&meddling, 1);
	for (unsigned i = 0; i < nfiles; i++) {
		stream_open(&files[i]);
		files[i].hints = false; /* it is closed unseen, and only a try tells */
		for (uint64_t k = some(1, 3); k > 0; k--)
			start(number_reader, &files[i]);
	}
	start(meddler, NULL);
	join_all();
}

/* ---- a registration that ends and begins while its reader is between its try and its wait ------- */

static struct {
	struct stream in;
	_Atomic unsigned read;
	unsigned rounds;
} life;

static void life_reader(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < life.rounds;) {
		int n = stream_read(&life.in, 1, 0);

		if (n == 1)
			store_seqcst(&life.read, ++i);
		else if (n != -EAGAIN && !(n == -EBADF && sim.refused)) /* there was no number for its file */
			sim_fail("a read said %d", n);
		progress++;
	}
}

/* Each byte comes for itself: no other makes a lost one good. */
static void life_writer(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < life.rounds; i++) {
		for (uint64_t each = 1000; load_seqcst(&life.read) != i; each += each / 16) {
			if (each > 8000000)
				sim_fail("a reader sleeps beside its byte");
			ksleep(each);
		}
		if (sim_random(2))
			ksleep(some(0, 30000));
		stream_write(&life.in, 1);
	}
}

/* Forgets what is watched, and watches it anew by looking: nothing is read. */
static void life_ender(void *arg)
{
	bool once = sim_random(4);

	(void)arg;
	while (load_seqcst(&life.read) != life.rounds) {
		netpoll_changed(&life.in.slot, life.in.fd, NETPOLL_KEEPS);
		if (sim_random(4))
			stream_poll(&(struct stream *){ &life.in }, 1, sim_now() + 1);
		if (sim_random(2))
			nap(some(0, 30000));
		else
			compute(some(0, 5000));
		/* To forget again would make a lost byte good: its file is watched anew, by another number. */
		for (unsigned was = load_seqcst(&life.read);
		     once && load_seqcst(&life.read) == was && was != life.rounds;)
			nap(100000);
	}
}

void workload_relives(void)
{
	struct native *t;

	life.rounds = (unsigned)some(1, 30);
	stream_open(&life.in);
	life.in.dawdle = (unsigned)some(0, 60);
	start(life_reader, NULL);
	for (uint64_t i = sim_chance(4) ? 2 : 1; i > 0; i--)
		start(life_ender, NULL);
	t = native_start(life_writer, NULL);
	join_all();
	native_join(t);
}
