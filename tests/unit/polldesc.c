/*
 * polldesc: edges reach whom they concern, those of a former life nobody; an open file outlives its
 * number while somebody holds it, and not a moment longer.
 */
#include "tests/unit/world.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static pollslot slot, other;
static int p[2];

static void pipe_and_world(void)
{
	world(2);
	cr_assert_eq(pipe(p), 0);
}

TestSuite(polldesc, .init = pipe_and_world, .timeout = 60);

/* Who looks here before it waits for bytes. */
static bool hold(struct netwait *w, pollslot *place, int fd)
{
	netpoll_look(w, place, NETPOLL_IN);
	return netpoll_hold(w, fd, false) == NETPOLL_HELD;
}

/* The count of edges of a held one: where it is another than that of the last try, parking is no sleep. */
static uint32_t in(struct netwait *w)
{
	w->seq += 1000;
	cr_assert_eq(netpoll_park(w, 0, WaitIO), 0);
	return w->seq;
}

static bool known_empty(void)
{
	struct netwait w;

	return netpoll_look(&w, &slot, NETPOLL_IN);
}

static bool is_same(int fd)
{
	struct netwait w;
	enum nethold r;

	netpoll_look(&w, &slot, NETPOLL_IN);
	r = netpoll_hold(&w, fd, true);
	if (r == NETPOLL_HELD)
		netpoll_release(&w, false, false);
	return r != NETPOLL_OTHER;
}

static void put(int fd)
{
	cr_assert_eq(write(fd, "x", 1), 1);
}

/* The event of the next edge, as the kernel gives it. */
static struct os_event next_event(void)
{
	struct os_event ev[NETPOLL_BATCH];

	cr_assert_eq(netpoll_wait(ev, nanotime() + 10000000000, 0), 1);
	return ev[0];
}

static ino_t file_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* Whoever rings while there is no descriptor leaves a word behind that says: it was rung already. */
Test(polldesc, a_bell_rung_before_it_was_there_is_rung_again_after)
{
	struct os_event ev[NETPOLL_BATCH];
	uint64_t start = nanotime(), far = start + 10000000000;

	netpoll_break();
	cr_assert(netpoll_open());
	cr_expect_eq(netpoll_wait(ev, far, 0), 0);
	cr_expect_eq(load_seqcst(&sched.netpollwakesig), 0);
	netpoll_break();
	cr_expect_eq(netpoll_wait(ev, far, 0), 0);
	cr_expect_lt(nanotime(), far, "woken, both times");
}

Test(polldesc, an_edge_is_counted_once)
{
	struct netwait w, another;
	uint32_t was;

	cr_assert(hold(&w, &slot, p[0]));
	cr_expect_eq(load_seqcst(&nwatched), 1);
	was = in(&w);
	cr_expect(w.woken);
	netpoll_nowait();
	cr_expect_eq(in(&w), was, "nothing came");
	put(p[1]);
	netpoll_nowait();
	cr_expect_eq(in(&w), was + 1);
	netpoll_nowait();
	cr_expect_eq(in(&w), was + 1, "still readable is no edge");
	cr_expect(hold(&another, &slot, p[0]));
	cr_expect_eq(another.pd, w.pd, "one for all users");
	cr_expect_not(another.moved);
	netpoll_release(&another, false, false);
	netpoll_release(&w, false, false);
	cr_expect_eq(weft_tls.locks, 0, "each release unpins");
}

Test(polldesc, bytes_that_were_there_are_an_edge)
{
	struct netwait w;

	put(p[1]);
	cr_assert(hold(&w, &slot, p[0]));
	netpoll_nowait();
	cr_expect_gt(in(&w), 0);
}

Test(polldesc, drained_until_the_next_edge_and_never_after_the_end)
{
	struct netwait w;
	char c;

	cr_assert(hold(&w, &slot, p[0]));
	cr_expect_not(known_empty(), "nobody said so");
	netpoll_note_empty(&w);
	cr_expect(known_empty());
	put(p[1]);
	netpoll_nowait();
	cr_expect_not(known_empty());
	cr_assert_eq(read(p[0], &c, 1), 1);
	close(p[1]);
	netpoll_nowait();
	cr_expect(netpoll_may_have_ended(&w));
	in(&w);
	netpoll_release(&w, true, false);
	cr_expect_not(known_empty(), "the end came already: no edge will follow");
}

/*
 * A reader that found nothing says so late: one byte came of which it was told before, and one of which it is told
 * after, when the edges of both are over.
 */
Test(polldesc, a_reader_that_found_nothing_before_something_came_knows_nothing)
{
	struct g *gs = make_gs(1);
	struct netwait w;

	gs->shim.tid = 1;
	weft_tls.g = gs;
	cr_assert(hold(&w, &slot, p[0]));
	netpoll_release(&w, false, false);
	netpoll_look(&w, &slot, NETPOLL_IN);
	put(p[1]);
	netpoll_tell(&slot, p[0], 1, true);
	put(p[1]);
	netpoll_nowait();
	netpoll_found_none(&w);
	netpoll_tell(&slot, p[0], 1, true);
	netpoll_look(&w, &slot, NETPOLL_IN);
	cr_expect_not(netpoll_took(&w, 1), "of two bytes");
	netpoll_look(&w, &slot, NETPOLL_IN);
	netpoll_found_none(&w);
	put(p[1]);
	netpoll_tell(&slot, p[0], 1, true);
	cr_expect(netpoll_took(&w, 1), "all that it was told of since");
}

Test(polldesc, an_event_of_a_former_life_is_ignored)
{
	struct netwait w, next;
	struct os_event ev;
	uint32_t was;
	int q[2];

	cr_assert(hold(&w, &slot, p[0]));
	put(p[1]);
	ev = next_event();
	netpoll_release(&w, false, false);
	netpoll_changed(&slot, p[0], NETPOLL_KEEPS);
	cr_expect_eq(load_seqcst(&nwatched), 0);
	cr_expect_null(load_seqcst(&slot.pd));
	cr_assert_eq(pipe(q), 0);
	cr_assert(hold(&next, &other, q[0]));
	cr_assert_eq(next.pd, w.pd, "the memory serves again");
	was = next.seq;
	netpoll_ready(&ev, 1);
	cr_expect_eq(in(&next), was);
}

Test(polldesc, a_count_of_a_former_life_is_no_count_of_this_one)
{
	struct netwait looked, next;
	uint32_t was;
	int q[2];

	cr_assert(hold(&next, &slot, p[0]));
	put(p[1]);
	netpoll_nowait();
	netpoll_release(&next, false, false);
	netpoll_look(&looked, &slot, NETPOLL_IN);
	was = looked.seq;
	/* Its number ends, and the file that has it then is registered in the same memory and sees an edge. */
	netpoll_changed(&slot, p[0], NETPOLL_KEEPS);
	cr_assert_eq(pipe(q), 0);
	cr_assert(hold(&next, &slot, q[0]));
	put(q[1]);
	netpoll_nowait();
	netpoll_release(&next, false, false);
	cr_assert_eq(netpoll_hold(&looked, q[0], false), NETPOLL_HELD);
	cr_assert_eq(looked.pd, next.pd, "the memory serves again");
	cr_expect_neq(in(&looked), was, "it tries once more");
	netpoll_release(&looked, false, false);
}

Test(polldesc, a_held_file_outlives_its_number)
{
	struct netwait w;
	ino_t file = file_of(p[0]);
	uint32_t was;
	int own;

	cr_assert(hold(&w, &slot, p[0]));
	netpoll_changed(&slot, p[0], NETPOLL_KEEPS);
	close(p[0]);
	netpoll_nowait();
	was = in(&w);
	own = w.fd;
	cr_expect_neq(own, p[0]);
	cr_expect_eq(file_of(own), file);
	put(p[1]);
	netpoll_nowait();
	cr_expect_eq(in(&w), was + 1, "it is watched as before");
	netpoll_release(&w, false, false);
	cr_expect_eq(fcntl(own, F_GETFD), -1, "gone with its last user");
	cr_expect_eq(load_seqcst(&nwatched), 0);
}

Test(polldesc, who_comes_while_a_number_is_closed_watches_by_another)
{
	ino_t file = file_of(p[0]);
	struct netwait w;
	uint32_t was;
	int own;

	netpoll_closing(&slot, p[0]);
	cr_assert(hold(&w, &slot, p[0]));
	cr_expect_null(load_seqcst(&slot.pd), "the number's own place stays empty");
	was = in(&w);
	own = w.fd;
	cr_expect_neq(own, p[0]);
	close(p[0]);
	netpoll_closed(&slot);
	cr_expect_eq(file_of(own), file);
	put(p[1]);
	netpoll_nowait();
	cr_expect_eq(in(&w), was + 1, "it hears of what comes");
	netpoll_release(&w, false, false);
	cr_expect_eq(fcntl(own, F_GETFD), -1, "gone with its user");
	cr_expect_eq(load_seqcst(&nwatched), 0);
}

Test(polldesc, a_call_that_closes_numbers_without_a_place_is_for_all)
{
	struct netwait w;

	netpoll_closing(NULL, -1);
	cr_assert(hold(&w, &slot, p[0]));
	cr_expect_null(load_seqcst(&slot.pd));
	netpoll_release(&w, false, false);
	netpoll_closed(NULL);
	cr_assert(hold(&w, &slot, p[0]));
	cr_expect_eq(load_seqcst(&slot.pd), w.pd);
	netpoll_release(&w, false, false);
	netpoll_changed(&slot, p[0], NETPOLL_KEEPS);
}

Test(polldesc, a_barred_file_is_not_watched_until_its_number_is_made_anew)
{
	struct netwait w;

	cr_assert(hold(&w, &slot, p[0]));
	netpoll_changed(&slot, p[0], NETPOLL_BARS);
	netpoll_next(&w);
	cr_expect_eq(w.fd, -1, "its users are told");
	netpoll_release(&w, false, false);
	cr_expect_not(hold(&w, &slot, p[0]));
	netpoll_changed(&slot, p[0], NETPOLL_GONE);
	cr_expect(hold(&w, &slot, p[0]));
	netpoll_release(&w, false, false);
	netpoll_changed(&slot, p[0], NETPOLL_KEEPS);
}

Test(polldesc, another_file_behind_our_back_is_found)
{
	struct netwait w, seen;
	uint32_t was;
	int q[2];

	cr_assert(hold(&w, &slot, p[0]));
	was = in(&w);
	cr_expect(is_same(p[0]));
	netpoll_look(&seen, &slot, NETPOLL_IN);
	netpoll_release(&w, false, false);
	cr_assert(hold(&w, &slot, p[0]));
	cr_assert_eq(pipe(q), 0);
	cr_assert_eq(dup2(q[0], p[0]), p[0]);
	cr_expect_not(is_same(p[0]));
	cr_expect_null(load_seqcst(&slot.pd));
	cr_expect_gt(in(&w), was, "its users are told at once");
	cr_expect_eq(w.fd, -1, "and have no number any more");
	cr_expect(is_same(p[0]), "nothing is registered, so nothing is wrong");
	cr_expect_eq(netpoll_hold(&seen, p[0], false), NETPOLL_HELD);
	cr_expect(seen.moved, "the look was at another registration");
	netpoll_release(&seen, false, false);
	netpoll_release(&w, false, false);
}

Test(polldesc, a_set_fires_on_its_own_events)
{
	struct pollset set = { 0 };
	struct polllink l = { .slot = &slot, .events = OS_POLLIN };
	int s[2];
	char big[4096] = "";

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	while (write(s[0], big, sizeof big) > 0)
		;
	l.fd = s[0];
	cr_assert(netpoll_holdset(&set, &l, 1));
	netpoll_nowait();
	store_seqcst(&set.fired, 0);
	while (read(s[1], big, sizeof big) > 0)
		;
	netpoll_nowait();
	cr_expect_eq(load_seqcst(&set.fired), 0, "room to write was not asked for");
	put(s[1]);
	netpoll_nowait();
	cr_expect_eq(load_seqcst(&set.fired), 1);
	netpoll_releaseset(&l, 1);
	store_seqcst(&set.fired, 0);
	put(s[1]);
	netpoll_nowait();
	cr_expect_eq(load_seqcst(&set.fired), 0, "not linked any more");
}

Test(polldesc, our_own_numbers_give_way)
{
	struct netwait w;
	int own = -1;

	cr_assert(hold(&w, &slot, p[0]));
	cr_assert(netpoll_owns_above(0, &own));
	cr_expect(netpoll_owns(own));
	netpoll_move(own);
	cr_expect_not(netpoll_owns(own));
	cr_assert_eq(dup2(p[0], own), own);
	put(p[1]);
	netpoll_nowait();
	cr_expect_gt(in(&w), 0, "the poller works on");
}
