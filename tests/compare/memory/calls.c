/* calls: the table, the good memory that the rows of calls.def name, and what the calls use. */
#include "memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "../lib/newer.h"

struct fixture f;
pthread_t other;
_Atomic pid_t other_id;

/* ---- good memory ---- */

static char f_buf[64];
static const struct timespec moment = { 0, 1000 }, while_ = { 0, 300000000 };
static const struct timeval while_us = { 0, 300000 };
static struct timespec later; /* absolute */
static const struct itimerspec no_timer;
static const struct sigevent no_event = { .sigev_notify = SIGEV_NONE };
static const stack_t no_stack = { .ss_flags = SS_DISABLE };
static const long usr2 = 1L << (SIGUSR2 - 1), hup = 1L << (SIGHUP - 1);
static const siginfo_t info = { .si_signo = SIGUSR2, .si_code = SI_QUEUE };
static struct pollfd two_fds[2];
static long one_set;
static struct epoll_event in_event = { .events = EPOLLIN };
static const struct iovec two_iov[2] = { { f_buf, 8 }, { f_buf + 8, 8 } };
static const struct msghdr message = { .msg_iov = (struct iovec *)two_iov, .msg_iovlen = 2 };
static const struct mmsghdr messages[2] = {
	{ .msg_hdr = { .msg_iov = (struct iovec *)two_iov, .msg_iovlen = 2 } },
	{ .msg_hdr = { .msg_iov = (struct iovec *)two_iov, .msg_iovlen = 1 } },
};
static const socklen_t sixteen = 16, four = 4;
static const long far = 64;
static const struct sockaddr no_address = { .sa_family = AF_UNIX };
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static union {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
} rights = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
static const char path[] = "/dev/null", proc_path[] = "/proc/thread-self/stat", link_path[] = "/proc/self/exe";
static const char name[] = "a name";
static const struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
static struct f_owner_ex owner = { .type = F_OWNER_TID };
static const struct {
	unsigned long val, addr;
	unsigned int flags, reserved;
} waits = { 1, (unsigned long)f_buf, 2 | 128, 0 }, two_waits[2] = { { 0, (unsigned long)f_buf, 2 | 128, 0 },
								   { 0, (unsigned long)f_buf, 2 | 128, 0 } };
static const struct __user_cap_header_struct caps_header = { .version = _LINUX_CAPABILITY_VERSION_3 };
static const struct {
	char bytes[128];
} cpus = { { [0 ... 127] = -1 } };
static const struct {
	unsigned int size, policy;
	unsigned long flags, rest[4];
} attributes = { .size = 48 };
static void *const one_page[1] = { f_buf };
static const struct perf_event_attr perf = {
	.size = sizeof(perf), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .exclude_kernel = 1
};
static const struct sembuf one_more = { 0, 1, 0 }, one_less = { 0, -1, 0 };
static const struct {
	long type;
	char text[8];
} queued = { 1, "message" };

/* ---- what calls need besides ---- */

static sem_t empty;

static timer_t cpu_timer(void)
{
	struct sigevent ev = no_event;
	timer_t t;

	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &t))
		die("timer_create");
	return t;
}

static timer_t named_timer(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR2 };
	timer_t t;

	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &t))
		die("timer_create");
	return t;
}

static pid_t others_id(void)
{
	while (!other_id)
		pause_ms(1);
	return other_id;
}

/* The same, and it has a policy whose slice weft answers itself. */
static pid_t real_time(void)
{
	struct sched_param sp = { .sched_priority = 1 };

	sched_setscheduler(others_id(), SCHED_FIFO, &sp);
	return other_id;
}

static int own_pidfd(void)
{
	long fd = syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0)
		die("pidfd_open");
	return (int)fd;
}

static clockid_t others_clock(void)
{
	clockid_t clock;

	if (pthread_getcpuclockid(other, &clock))
		die("pthread_getcpuclockid");
	return clock;
}

static timer_t others_timer(void)
{
	struct sigevent ev = no_event;
	timer_t t;

	if (timer_create(others_clock(), &ev, &t))
		die("timer_create");
	return t;
}

/* The caller alone takes it. */
static void let_in(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(3);
	return pid;
}

static long clones(void *args)
{
	long r = syscall(SYS_clone3, args, 64);

	if (r == 0)
		_exit(0);
	return r < 0 ? r : 0;
}

static struct iovec *vector(void *a, size_t an, void *b, size_t bn)
{
	static struct iovec v[2];

	v[0] = (struct iovec){ a, an };
	v[1] = (struct iovec){ b, bn };
	return v;
}

static struct msghdr *msg(void *to, void *iov, void *control)
{
	static struct msghdr m;

	m = message;
	if (to) {
		m.msg_name = to;
		m.msg_namelen = 16;
	}
	if (iov)
		m.msg_iov = iov;
	if (control) {
		m.msg_control = control;
		m.msg_controllen = sizeof(rights);
	}
	return &m;
}

static void ok(long r, const char *what)
{
	if (r < 0)
		die(what);
}

static void on_signal(int sig)
{
	(void)sig;
}

enum way { READS, WRITES };
/* As much as can be had, or has room, without waiting. */
static void until_it_waits(int fd, enum way way)
{
	static char d[4096];
	int flags = fcntl(fd, F_GETFL);

	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	while ((way == WRITES ? write(fd, d, sizeof(d)) : read(fd, d, sizeof(d))) > 0)
		;
	fcntl(fd, F_SETFL, flags);
}

void fixture_make(void)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 8 };
	struct sigaction sa = { .sa_handler = on_signal };
	struct sigevent ev = no_event;
	struct epoll_event e = { .events = EPOLLIN };
	char queue[64];
	sigset_t set;

	ok(sigaction(SIGUSR2, &sa, NULL), "sigaction");
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	f.signals = signalfd(-1, &set, SFD_NONBLOCK);
	ok(f.signals, "signalfd");
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ok(pipe(f.pipe), "pipe");
	ok(pipe(f.full), "pipe");
	until_it_waits(f.full[1], WRITES);
	ok(socketpair(AF_UNIX, SOCK_STREAM, 0, f.stream), "socketpair");
	ok(socketpair(AF_UNIX, SOCK_DGRAM, 0, f.datagram), "socketpair");
	ok(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, f.seq), "socketpair");
	snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "compare-memory-%d", getpid());
	ok(f.listener = socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	ok(bind(f.listener, (struct sockaddr *)&address, sizeof(address)), "bind");
	ok(listen(f.listener, 4), "listen");
	ok(f.connected = socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	ok(f.event = eventfd(0, 0), "eventfd");
	ok(f.clock = timerfd_create(CLOCK_MONOTONIC, 0), "timerfd_create");
	ok(f.epoll = epoll_create1(0), "epoll_create1");
	ok(epoll_ctl(f.epoll, EPOLL_CTL_ADD, f.pipe[0], &e), "epoll_ctl");
	snprintf(queue, sizeof(queue), "/compare-memory-%d", getpid());
	f.queue = mq_open(queue, O_RDWR | O_CREAT, 0600, &attr); /* some machines have none */
	mq_unlink(queue);
	f.set = semget(IPC_PRIVATE, 1, 0600);
	f.messages = msgget(IPC_PRIVATE, 0600);
	ok(f.file = memfd_create("file", 0), "memfd_create");
	ok(ftruncate(f.file, 100), "ftruncate");
	ok(timer_create(CLOCK_MONOTONIC, &ev, (timer_t *)&f.timer), "timer_create");
	sem_init(&empty, 0, 0);
	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec++;
	two_fds[0] = (struct pollfd){ .fd = f.pipe[0], .events = POLLIN };
	two_fds[1] = (struct pollfd){ .fd = f.stream[1], .events = POLLIN }; /* never */
	one_set = 1L << f.pipe[0];
	memcpy(CMSG_DATA(&rights.head), &f.event, sizeof(int));
}

void fixture_feed(int flags)
{
	static const char d[12] = "some bytes.";
	struct itimerspec soon = { .it_value = { 0, 1 } };
	int fd;

	if (flags & SIGNALS) {
		kill(getpid(), SIGUSR2);
		return;
	}
	ok(write(f.pipe[1], d, sizeof(d)), "write");
	fcntl(f.full[0], F_SETFL, O_NONBLOCK);
	while (read(f.full[0], f_buf, sizeof(f_buf)) > 0)
		;
	ok(write(f.stream[1], d, sizeof(d)), "write");
	ok(write(f.datagram[1], d, sizeof(d)), "write");
	ok(write(f.seq[1], d, sizeof(d)), "write");
	ok(eventfd_write(f.event, 1), "eventfd_write");
	ok(timerfd_settime(f.clock, 0, &soon, NULL), "timerfd_settime");
	ok(fd = socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	ok(connect(fd, (struct sockaddr *)&address, sizeof(address)), "connect");
	if (f.queue >= 0)
		mq_send(f.queue, d, 8, 0);
	if (f.messages >= 0)
		msgsnd(f.messages, &queued, 8, 0);
}

void fixture_drain(void)
{
	int fds[] = { f.pipe[0], f.stream[0], f.datagram[0], f.seq[0], f.event, f.clock, f.signals };
	struct timespec none = { 0, 0 };
	sigset_t set;
	char d[8];
	int fd;

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		until_it_waits(fds[i], READS);
	until_it_waits(f.full[1], WRITES);
	fcntl(f.listener, F_SETFL, O_NONBLOCK);
	while ((fd = accept(f.listener, NULL, NULL)) >= 0)
		close(fd);
	fcntl(f.listener, F_SETFL, 0);
	while (f.queue >= 0 && mq_timedreceive(f.queue, d, sizeof(d), NULL, &none) >= 0)
		;
	while (f.messages >= 0 && msgrcv(f.messages, f_buf, 8, 0, IPC_NOWAIT) >= 0)
		;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGHUP);
	while (sigtimedwait(&set, NULL, &none) > 0)
		;
}

long fixture_left(void)
{
	int fds[] = { f.pipe[0], f.stream[0], f.datagram[0], f.seq[0] }, n;
	int polled[] = { f.event, f.listener };
	long sum = 0, unit = 1;
	struct mq_attr attr;

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++, unit *= 64)
		if (!ioctl(fds[i], FIONREAD, &n))
			sum += unit * n;
	for (size_t i = 0; i < sizeof(polled) / sizeof(polled[0]); i++, unit *= 2)
		sum += unit * (poll(&(struct pollfd){ polled[i], POLLIN, 0 }, 1, 0) == 1);
	return f.queue >= 0 && !mq_getattr(f.queue, &attr) ? sum + unit * attr.mq_curmsgs : sum;
}

void fixture_drop(void)
{
	semctl(f.set, 0, IPC_RMID);
	msgctl(f.messages, IPC_RMID, NULL);
}

/* ---- the table ---- */

#define IN(variable) { sizeof(variable), &variable }
#define OUT(bytes) { bytes, NULL }
#pragma GCC diagnostic ignored "-Wnonnull"

#define CALL(name, flags, expression, ...)                                                         \
	static long call_##name(void **p)                                                          \
	{                                                                                          \
		return (long)(expression);                                                         \
	}
#include "calls.def"
#undef CALL
#define CALL(name, flags, expression, ...) { #name, flags, call_##name, { __VA_ARGS__ } },
const struct call calls[] = {
#include "calls.def"
};
const unsigned ncalls = sizeof(calls) / sizeof(calls[0]);
