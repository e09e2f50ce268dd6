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

static uint32_t in(struct polldesc *pd)
{
	return netpoll_seq(pd, NETPOLL_IN);
}

static void put(int fd)
{
	cr_assert_eq(write(fd, "x", 1), 1);
}

/* The event of the next edge, as the kernel gives it. */
static struct os_event next_event(void)
{
	struct os_event ev[NETPOLL_BATCH];

	cr_assert_eq(netpoll_wait(ev, nanotime() + 10000000000), 1);
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
	cr_expect_eq(netpoll_wait(ev, far), 0);
	cr_expect_eq(load_seqcst(&sched.netpollwakesig), 0);
	netpoll_break();
	cr_expect_eq(netpoll_wait(ev, far), 0);
	cr_expect_lt(nanotime(), far, "woken, both times");
}

Test(polldesc, an_edge_is_counted_once)
{
	struct polldesc *pd = netpoll_hold(&slot, p[0]);
	uint32_t was;

	cr_assert(pd);
	cr_expect_eq(load_seqcst(&nwatched), 1);
	was = in(pd);
	cr_expect_eq(netpoll_park(pd, NETPOLL_IN, was + 1, 0, WaitIO), 0, "the count is another: no sleep");
	netpoll_nowait();
	cr_expect_eq(in(pd), was, "nothing came");
	put(p[1]);
	netpoll_nowait();
	cr_expect_eq(in(pd), was + 1);
	netpoll_nowait();
	cr_expect_eq(in(pd), was + 1, "still readable is no edge");
	cr_expect_eq(netpoll_hold(&slot, p[0]), pd, "one for all users");
	netpoll_release(pd);
	netpoll_release(pd);
	cr_expect_eq(weft_tls.locks, 0, "each release unpins");
}

Test(polldesc, bytes_that_were_there_are_an_edge)
{
	struct polldesc *pd;

	put(p[1]);
	pd = netpoll_hold(&slot, p[0]);
	netpoll_nowait();
	cr_expect_gt(in(pd), 0);
}

Test(polldesc, drained_until_the_next_edge_and_never_after_the_end)
{
	struct polldesc *pd = netpoll_hold(&slot, p[0]);
	char c;

	cr_expect_not(netpoll_known_empty(pd, in(pd)), "nobody said so");
	netpoll_note_empty(pd, in(pd));
	cr_expect(netpoll_known_empty(pd, in(pd)));
	put(p[1]);
	netpoll_nowait();
	cr_expect_not(netpoll_known_empty(pd, in(pd)));
	cr_assert_eq(read(p[0], &c, 1), 1);
	close(p[1]);
	netpoll_nowait();
	netpoll_note_empty(pd, in(pd));
	cr_expect_not(netpoll_known_empty(pd, in(pd)), "the end came already: no edge will follow");
}

Test(polldesc, an_event_of_a_former_life_is_ignored)
{
	struct polldesc *pd = netpoll_hold(&slot, p[0]), *next;
	struct os_event ev;
	int q[2];

	put(p[1]);
	ev = next_event();
	netpoll_release(pd);
	netpoll_forget(&slot, p[0], false);
	cr_expect_eq(load_seqcst(&nwatched), 0);
	cr_expect_null(load_seqcst(&slot.pd));
	cr_assert_eq(pipe(q), 0);
	next = netpoll_hold(&other, q[0]);
	cr_assert_eq(next, pd, "the memory serves again");
	netpoll_ready(&ev, 1);
	cr_expect_eq(in(next), 0);
}

Test(polldesc, a_held_file_outlives_its_number)
{
	struct polldesc *pd = netpoll_hold(&slot, p[0]);
	ino_t file = file_of(p[0]);
	uint32_t was;
	int own;

	netpoll_forget(&slot, p[0], false);
	close(p[0]);
	own = netpoll_fdget(pd);
	netpoll_fdput(pd);
	cr_expect_neq(own, p[0]);
	cr_expect_eq(file_of(own), file);
	netpoll_nowait();
	was = in(pd);
	put(p[1]);
	netpoll_nowait();
	cr_expect_eq(in(pd), was + 1, "it is watched as before");
	netpoll_release(pd);
	cr_expect_eq(fcntl(own, F_GETFD), -1, "gone with its last user");
	cr_expect_eq(load_seqcst(&nwatched), 0);
}

Test(polldesc, who_comes_while_a_number_is_closed_watches_by_another)
{
	ino_t file = file_of(p[0]);
	struct polldesc *pd;
	uint32_t was;
	int own;

	netpoll_closing(&slot, p[0]);
	pd = netpoll_hold(&slot, p[0]);
	cr_expect_null(load_seqcst(&slot.pd), "the number's own place stays empty");
	own = netpoll_fdget(pd);
	netpoll_fdput(pd);
	cr_expect_neq(own, p[0]);
	close(p[0]);
	netpoll_closed(&slot);
	cr_expect_eq(file_of(own), file);
	was = in(pd);
	put(p[1]);
	netpoll_nowait();
	cr_expect_eq(in(pd), was + 1, "it hears of what comes");
	netpoll_release(pd);
	cr_expect_eq(fcntl(own, F_GETFD), -1, "gone with its user");
	cr_expect_eq(load_seqcst(&nwatched), 0);
}

Test(polldesc, a_call_that_closes_numbers_without_a_place_is_for_all)
{
	struct polldesc *pd;

	netpoll_closing_any();
	netpoll_synchronize();
	pd = netpoll_hold(&slot, p[0]);
	cr_expect_null(load_seqcst(&slot.pd));
	netpoll_release(pd);
	netpoll_closed_any();
	pd = netpoll_hold(&slot, p[0]);
	cr_expect_eq(load_seqcst(&slot.pd), pd);
	netpoll_release(pd);
	netpoll_forget(&slot, p[0], false);
}

Test(polldesc, a_barred_file_is_not_watched_until_its_number_is_made_anew)
{
	struct polldesc *pd = netpoll_hold(&slot, p[0]);

	netpoll_bar(&slot, p[0]);
	cr_expect_eq(netpoll_fdget(pd), -1, "its users are told");
	netpoll_fdput(pd);
	netpoll_release(pd);
	cr_expect_null(netpoll_hold(&slot, p[0]));
	netpoll_forget(&slot, p[0], true);
	pd = netpoll_hold(&slot, p[0]);
	cr_expect_not_null(pd);
	netpoll_release(pd);
	netpoll_forget(&slot, p[0], false);
}

Test(polldesc, another_file_behind_our_back_is_found)
{
	struct polldesc *pd = netpoll_hold(&slot, p[0]);
	uint32_t was = in(pd);
	int q[2];

	cr_expect(netpoll_same(&slot, p[0]));
	cr_assert_eq(pipe(q), 0);
	cr_assert_eq(dup2(q[0], p[0]), p[0]);
	cr_expect_not(netpoll_same(&slot, p[0]));
	cr_expect_null(load_seqcst(&slot.pd));
	cr_expect_eq(netpoll_fdget(pd), -1, "its users have no number any more");
	netpoll_fdput(pd);
	cr_expect_gt(in(pd), was, "and are told at once");
	netpoll_release(pd);
	cr_expect(netpoll_same(&slot, p[0]), "nothing is registered, so nothing is wrong");
}

Test(polldesc, a_set_fires_on_its_own_events)
{
	struct pollset set = { 0 };
	struct polllink l = { .set = &set, .events = OS_POLLIN };
	int s[2];
	char big[4096] = "";

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	while (write(s[0], big, sizeof big) > 0)
		;
	l.pd = netpoll_hold(&slot, s[0]);
	netpoll_nowait();
	netpoll_link(&l);
	while (read(s[1], big, sizeof big) > 0)
		;
	netpoll_nowait();
	cr_expect_eq(load_seqcst(&set.fired), 0, "room to write was not asked for");
	put(s[1]);
	netpoll_nowait();
	cr_expect_eq(load_seqcst(&set.fired), 1);
	netpoll_unlink(&l);
	store_seqcst(&set.fired, 0);
	put(s[1]);
	netpoll_nowait();
	cr_expect_eq(load_seqcst(&set.fired), 0, "not linked any more");
}

Test(polldesc, our_own_numbers_give_way)
{
	int own = -1;

	cr_assert(netpoll_hold(&slot, p[0]));
	cr_assert(netpoll_owns_above(0, &own));
	cr_expect(netpoll_owns(own));
	netpoll_move(own);
	cr_expect_not(netpoll_owns(own));
	cr_assert_eq(dup2(p[0], own), own);
	put(p[1]);
	netpoll_nowait();
	cr_expect_gt(in(load_seqcst(&slot.pd)), 0, "the poller works on");
}
