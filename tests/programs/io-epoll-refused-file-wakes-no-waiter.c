/* A file that an epoll does not take, as a regular one, changes nothing for a thread that waits in it. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

static int ep;

static void *waiter(void *arg)
{
	struct epoll_event e[4];
	int n;

	(void)arg;
	n = epoll_wait(ep, e, 4, -1);
	printf("woken %d, by %u\n", n, n == 1 ? e[0].data.u32 : 0);
	return NULL;
}

int main(void)
{
	struct epoll_event e = {.events = EPOLLIN, .data.u32 = 7};
	pthread_t t;
	int p[2], file = open("/dev/null", O_RDONLY);

	ep = epoll_create1(0);
	CHECK(!pipe(p));
	CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e));
	for (int round = 0; round < 3; round++) {
		char c = 'x';

		CHECK(!pthread_create(&t, NULL, waiter, NULL));
		/* Any of these may come before it waits, most will not. */
		for (int i = 0; i < 20; i++) {
			usleep(2000);
			CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, file, &e) == -1 && errno == EPERM);
		}
		CHECK(write(p[1], &c, 1) == 1);
		CHECK(!pthread_join(t, NULL));
		CHECK(read(p[0], &c, 1) == 1);
	}
	return 0;
}
