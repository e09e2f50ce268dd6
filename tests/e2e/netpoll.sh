#!/usr/bin/env bash
# Threads blocked in every call that waits for a descriptor cost no kernel thread and, idle, no wake-up; and the
# first of them waits for nothing else.
#
# "No wake-up" is one second in which the context switches of all kernel threads stand still; a few seconds
# may pass until one is found, for sysmon calms down in steps.

. "$(dirname "$0")/lib.sh"

# Five threads for each descriptor pair; says when all have had a byte and wait for the next.
cat >"$tmp/many.c" <<'C'
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { ROUNDS = 60 };

struct one {
	int fd, other;
	long (*wait)(struct one *);
	pthread_t t;
};

static pthread_barrier_t begun;
static int listener;
static char c;

static long by_read(struct one *o) { return read(o->fd, &c, 1); }
static long by_recv(struct one *o) { return recv(o->fd, &c, 1, 0); }

static long by_recvmsg(struct one *o)
{
	struct iovec v = { &c, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return recvmsg(o->fd, &m, 0);
}

static long by_poll(struct one *o)
{
	struct pollfd p[2] = { { o->fd, POLLIN, 0 }, { listener, POLLIN, 0 } };

	return poll(p, 2, -1);
}

static long by_select(struct one *o)
{
	fd_set in;

	FD_ZERO(&in);
	if (o->fd >= FD_SETSIZE)
		return by_read(o);
	FD_SET(o->fd, &in);
	return select(o->fd + 1, &in, NULL, NULL, NULL);
}

static long by_epoll(struct one *o)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0);

	epoll_ctl(ep, EPOLL_CTL_ADD, o->fd, &ev);
	return epoll_wait(ep, &ev, 1, -1);
}

static long by_write(struct one *o)
{
	static char big[1 << 20];

	return write(o->other, big, sizeof big);
}

static long by_accept(struct one *o) { return accept(listener, NULL, NULL); }

static long by_counter(struct one *o)
{
	eventfd_t v;

	return eventfd_read(eventfd(0, 0), &v);
}

static long by_timer(struct one *o)
{
	long v;

	return read(timerfd_create(CLOCK_MONOTONIC, 0), &v, sizeof v);
}

static void *body(void *arg)
{
	struct one *o = arg;

	pthread_barrier_wait(&begun);
	o->wait(o);
	fprintf(stderr, "something came\n");
	_exit(1);
}

int main(void)
{
	static long (*const ways[])(struct one *) = {
		by_read, by_recv, by_recvmsg, by_poll, by_select, by_epoll, by_write,
		by_accept, by_counter, by_timer,
	};
	enum { WAYS = sizeof ways / sizeof ways[0] };
	struct sockaddr_in sin = { .sin_family = AF_INET };
	pthread_attr_t attr;
	char b;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&sin, sizeof sin) || listen(listener, 5))
		return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_barrier_init(&begun, NULL, ROUNDS * WAYS + 1);
	for (int i = 0; i < ROUNDS * WAYS; i++) {
		struct one *o = calloc(1, sizeof *o);
		int s[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
			return 1;
		*o = (struct one){ s[0], s[1], ways[i % WAYS], 0 };
		if (pthread_create(&o->t, &attr, body, o))
			return 1;
	}
	pthread_barrier_wait(&begun);
	printf("%d\n", ROUNDS * WAYS);
	fflush(stdout);
	read(0, &b, 1);
	return 0;
}
C
ulimit -n "$(ulimit -H -n)"
${CC:-cc} -D_GNU_SOURCE -O2 -pthread -w -o "$tmp/many" "$tmp/many.c" || exit 2
mkfifo "$tmp/in" || exit 2

switches() { cat "/proc/$pid"/task/*/status 2>/dev/null | awk '/ctxt_switches/ { n += $2 } END { print n + 0 }'; }

for procs in 1 2 8; do
	: >"$tmp/out"
	"$weft" --procs="$procs" -- "$tmp/many" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	exec 9>"$tmp/in"
	for ((i = 0; i < 100; i++)); do
		[ -s "$tmp/out" ] && break
		sleep 0.1
	done
	threads=$(cat "$tmp/out")
	still=1 n=0
	for ((i = 0; i < 15; i++)); do
		a=$(switches)
		sleep 1
		b=$(switches)
		n=$(ls "/proc/$pid/task" | wc -l)
		[ "$a" -eq "$b" ] && [ "$a" -gt 0 ] && still=0 && break
	done
	verdict "$still" "procs=$procs: no wake-up while ${threads:-no} threads wait" "$((b - a)) in the last second"
	[ "${threads:-0}" -ge 600 ] && [ "$n" -gt 0 ] && [ "$n" -le 32 ]
	verdict $? "procs=$procs: at most 32 kernel threads" "$n"
	exec 9>&-
	wait "$pid"
	verdict $? "procs=$procs: nothing came to anybody" "$(tail -n 3 "$tmp/err")"
	pid=
done

# Where threads share the table of descriptors, the kernel waits for an RCU grace period to make it larger.
cat >"$tmp/first.c" <<'C'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fd[2];

static void *waker(void *arg)
{
	usleep(20000);
	write(fd[1], "x", 1);
	return arg;
}

static int size(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");
	int n = 0;

	while (fgets(line, sizeof line, f) && sscanf(line, "FDSize: %d", &n) != 1)
		;
	fclose(f);
	return n;
}

int main(void)
{
	pthread_t t;
	char c;
	int before;

	pipe(fd);
	pthread_create(&t, NULL, waker, NULL);
	before = size();
	read(fd[0], &c, 1);
	printf("%d %d\n", before, size());
	return before != size();
}
C
${CC:-cc} -D_GNU_SOURCE -O2 -pthread -w -o "$tmp/first" "$tmp/first.c" || exit 2
"$weft" "$tmp/first" >"$tmp/out" 2>"$tmp/err"
verdict $? "the first wait for a descriptor makes no table larger" "$(cat "$tmp/out" "$tmp/err")"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
