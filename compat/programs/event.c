/* A base that other threads add events to, pairs of buffers, timers and a signal. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct event_base *base;
static int fired, signals;
static long got;

static void fire(evutil_socket_t fd, short what, void *arg)
{
	if (++fired == 400)
		raise(SIGUSR1);
}

static void came(evutil_socket_t fd, short what, void *arg)
{
	signals++;
	event_base_loopexit(base, NULL);
}

static void *adder(void *arg)
{
	struct timeval tv = {0, 1000};

	for (int i = 0; i < 100; i++) {
		event_base_once(base, -1, EV_TIMEOUT, fire, NULL, i % 2 ? &tv : NULL);
		if (i % 25 == 0)
			usleep(2000);
	}
	return NULL;
}

static void readable(struct bufferevent *b, void *arg)
{
	char buf[256];
	size_t n;

	while ((n = bufferevent_read(b, buf, sizeof(buf))) > 0)
		got += (long)n;
}

int main(void)
{
	struct bufferevent *pair[2];
	struct event *sig;
	pthread_t t[4];

	evthread_use_pthreads();
	base = event_base_new();
	sig = evsignal_new(base, SIGUSR1, came, NULL);
	event_add(sig, NULL);
	bufferevent_pair_new(base, BEV_OPT_THREADSAFE, pair);
	bufferevent_setcb(pair[1], readable, NULL, NULL, NULL);
	bufferevent_enable(pair[1], EV_READ);
	for (int i = 0; i < 100; i++)
		bufferevent_write(pair[0], "0123456789", 10);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, adder, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("%d %d %ld\n", fired, signals, got);
	return 0;
}
