/*
 * Of many threads that each wait for one file by an epoll of their own with EPOLLEXCLUSIVE, an event
 * wakes one, and no event is lost, whoever of them is busy.
 */
#include "check.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { WAITERS = 12, EVENTS = 10, MANY = 2000 };

static int file;
static atomic_int returns, taken;
static atomic_bool slow = true;

static void *waits(void *arg)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	int ep = epoll_create1(0);

	CHECK_SYS(ep);
	CHECK_SYS(epoll_ctl(ep, EPOLL_CTL_ADD, file, &e));
	for (;;) {
		uint64_t n;

		CHECK_EQ(epoll_wait(ep, &e, 1, -1), 1);
		atomic_fetch_add(&returns, 1);
		if (atomic_load(&slow))
			let_others_block(); /* until then it is there for all to see */
		if (read(file, &n, sizeof(n)) == sizeof(n))
			atomic_fetch_add(&taken, 1);
		else
			CHECK_EQ(errno, EAGAIN);
	}
	return arg;
}

static void event(int so_far)
{
	uint64_t one = 1;

	CHECK_EQ(write(file, &one, sizeof(one)), sizeof(one));
	while (atomic_load(&taken) != so_far)
		sched_yield();
}

int main(void)
{
	file = eventfd(0, EFD_NONBLOCK);
	CHECK_SYS(file);
	for (int i = 0; i < WAITERS; i++)
		spawn(waits, NULL);
	for (int i = 1; i <= EVENTS; i++) {
		let_others_block();
		event(i);
	}
	/* The manual allows more than one; not most of them each time. */
	CHECK(atomic_load(&returns) < EVENTS * 2);
	passed("an event wakes one of %d", WAITERS);
	atomic_store(&slow, false);
	for (int i = 1; i <= MANY; i++)
		event(EVENTS + i);
	passed("%d events, none lost", MANY);
	return 0;
}
