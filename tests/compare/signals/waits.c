/*
 * waits: everything a thread can wait in.
 *
 * Objects are static and made anew by begin(): one case at a time.  call() may be ended by the
 * signal or not; release() must let it end in any case, and does no harm when it has ended.
 */
#include "signals.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>

#include "../lib/newer.h"

static atomic_bool go;
static pthread_mutex_t mutex;
static pthread_cond_t cond;
static pthread_rwlock_t rwlock;
static pthread_barrier_t barrier;
static pthread_once_t once;
static sem_t sem, done;
static pthread_t helper;
static int fds[2] = {-1, -1}, extra = -1;
static FILE *stream;
static int ipc = -1;
static pid_t child;
static unsigned futex_word;

static struct timespec from_now(clockid_t clock, int ms)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000L;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	return ts;
}

static void set_go(void)
{
	atomic_store(&go, true);
}

static void unset_go(void)
{
	atomic_store(&go, false);
}

/* ---- no wait at all ---- */

static long call_self(void)
{
	send_here();
	return 0;
}

static long call_compute(void)
{
	while (!atomic_load_explicit(&go, memory_order_relaxed))
		; /* nothing of libc's */
	return 0;
}

static long call_yield(void)
{
	while (!atomic_load(&go))
		sched_yield();
	return 0;
}

static long call_malloc(void)
{
	void *volatile p;

	while (!atomic_load(&go)) {
		p = malloc(200);
		free(p);
	}
	return 0;
}

/* ---- objects of POSIX threads ---- */

static void begin_mutex(void)
{
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_lock(&mutex);
}

static long call_mutex(void)
{
	long r = pthread_mutex_lock(&mutex);

	pthread_mutex_unlock(&mutex);
	return r;
}

static void release_mutex(void)
{
	pthread_mutex_unlock(&mutex);
}

static long call_mutex_timed(void)
{
	struct timespec ts = from_now(CLOCK_REALTIME, 20000);
	long r = pthread_mutex_timedlock(&mutex, &ts);

	pthread_mutex_unlock(&mutex);
	return r;
}

static void begin_cond(void)
{
	unset_go();
	pthread_mutex_init(&mutex, NULL);
	pthread_cond_init(&cond, NULL);
}

/* POSIX lets it wake for nothing: what counts is that it waits for go. */
static long call_cond(void)
{
	long r = 0;

	pthread_mutex_lock(&mutex);
	while (!atomic_load(&go) && r == 0)
		r = pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	return r;
}

static long call_cond_timed(void)
{
	struct timespec ts = from_now(CLOCK_REALTIME, 20000);
	long r = 0;

	pthread_mutex_lock(&mutex);
	while (!atomic_load(&go) && r == 0)
		r = pthread_cond_timedwait(&cond, &mutex, &ts);
	pthread_mutex_unlock(&mutex);
	return r;
}

static void release_cond(void)
{
	pthread_mutex_lock(&mutex);
	set_go();
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
}

static void begin_rwlock(void)
{
	pthread_rwlock_init(&rwlock, NULL);
	pthread_rwlock_wrlock(&rwlock);
}

static long call_rdlock(void)
{
	long r = pthread_rwlock_rdlock(&rwlock);

	pthread_rwlock_unlock(&rwlock);
	return r;
}

static long call_wrlock(void)
{
	long r = pthread_rwlock_wrlock(&rwlock);

	pthread_rwlock_unlock(&rwlock);
	return r;
}

static void release_rwlock(void)
{
	pthread_rwlock_unlock(&rwlock);
}

static void begin_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
}

static long call_barrier(void)
{
	pthread_barrier_wait(&barrier);
	return 0;
}

static void release_barrier(void)
{
	pthread_barrier_wait(&barrier);
	pthread_barrier_destroy(&barrier);
}

static void *waits_for_done(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	while (sem_wait(&done) == -1)
		;
	return arg;
}

static void begin_join(void)
{
	sem_init(&done, 0, 0);
	if (pthread_create(&helper, NULL, waits_for_done, NULL))
		die("pthread_create");
}

static long call_join(void)
{
	return pthread_join(helper, NULL);
}

static void release_join(void)
{
	sem_post(&done);
}

static void once_waits(void)
{
	set_go();
	waits_for_done(NULL);
}

static void *runs_once(void *arg)
{
	pthread_once(&once, once_waits);
	return arg;
}

static void begin_once(void)
{
	static const pthread_once_t fresh = PTHREAD_ONCE_INIT;

	once = fresh;
	sem_init(&done, 0, 0);
	unset_go();
	if (pthread_create(&helper, NULL, runs_once, NULL))
		die("pthread_create");
	while (!atomic_load(&go))
		pause_ms(1);
}

static long call_pthread_once(void)
{
	return pthread_once(&once, once_waits);
}

static void release_once(void)
{
	sem_post(&done);
	pthread_join(helper, NULL);
}

static void begin_sem(void)
{
	sem_init(&sem, 0, 0);
}

static long call_sem(void)
{
	return sem_wait(&sem);
}

static long call_sem_timed(void)
{
	struct timespec ts = from_now(CLOCK_REALTIME, 20000);

	return sem_timedwait(&sem, &ts);
}

static void release_sem(void)
{
	sem_post(&sem);
}

static void begin_futex(void)
{
	__atomic_store_n(&futex_word, 0, __ATOMIC_SEQ_CST);
}

static long call_futex(void)
{
	return syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static long call_futex_timed(void)
{
	struct timespec ts = {20, 0};

	return syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

static void release_futex(void)
{
	__atomic_store_n(&futex_word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 10, NULL, NULL, 0);
}

/* ---- time ---- */

#define NAP (12 * delay_ms)

static const char *rest_of(long sec, long nsec)
{
	long ms = sec * 1000 + nsec / 1000000;

	return ms <= 0 ? "none" : ms < NAP ? "some" : "all";
}

static long call_nanosleep(void)
{
	struct timespec ts = {NAP / 1000, NAP % 1000 * 1000000L}, rem = {0, 0};
	long r = nanosleep(&ts, &rem);
	int err = errno;

	say_note("rest=%s", rest_of(rem.tv_sec, rem.tv_nsec));
	errno = err;
	return r;
}

static long call_clock_nanosleep(void)
{
	struct timespec ts = {NAP / 1000, NAP % 1000 * 1000000L}, rem = {0, 0};
	long r = clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &rem);

	say_note("rest=%s", rest_of(rem.tv_sec, rem.tv_nsec));
	return r;
}

static long call_clock_nanosleep_until(void)
{
	struct timespec ts = from_now(CLOCK_REALTIME, NAP), rem = {7, 7};
	long r = clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, &rem);

	say_note("rest=%s", rem.tv_sec == 7 && rem.tv_nsec == 7 ? "kept" : "changed");
	return r;
}

static long call_usleep(void)
{
	return usleep(NAP * 1000);
}

static long call_sleep(void)
{
	return sleep(1) > 1; /* whole seconds, rounded */
}

static long call_thrd_sleep(void)
{
	struct timespec ts = {NAP / 1000, NAP % 1000 * 1000000L}, rem = {0, 0};
	long r = thrd_sleep(&ts, &rem);

	say_note("rest=%s", rest_of(rem.tv_sec, rem.tv_nsec));
	return r;
}

/* ---- descriptors ---- */

static void close_fds(void)
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (extra >= 0)
		close(extra);
	fds[0] = fds[1] = extra = -1;
}

static void begin_pipe(void)
{
	close_fds();
	if (pipe(fds))
		die("pipe");
}

static long call_read(void)
{
	char c;

	return read(fds[0], &c, 1);
}

static void release_write(void)
{
	if (write(fds[1], "x", 1) != 1)
		die("write");
}

static void begin_full(void)
{
	static char bytes[4096];

	begin_pipe();
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	while (write(fds[1], bytes, sizeof bytes) > 0)
		;
	fcntl(fds[1], F_SETFL, 0);
}

static long call_write(void)
{
	return write(fds[1], "12345", 5);
}

static void release_read(void)
{
	static char bytes[65536];

	if (read(fds[0], bytes, sizeof bytes) < 0)
		die("read");
}

static long call_poll(void)
{
	struct pollfd p = {fds[0], POLLIN, 0};

	return poll(&p, 1, -1);
}

static long call_poll_timed(void)
{
	struct pollfd p = {fds[0], POLLIN, 0};

	return poll(&p, 1, 20000);
}

/* For these the signal is let in by the call alone when the thread keeps it out. */
static sigset_t nothing;

static long call_ppoll(void)
{
	struct pollfd p = {fds[0], POLLIN, 0};
	struct timespec ts = {20, 0};

	return ppoll(&p, 1, &ts, &nothing);
}

static long call_pselect(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	return pselect(fds[0] + 1, &set, NULL, NULL, NULL, &nothing);
}

static long call_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	return select(fds[0] + 1, &set, NULL, NULL, NULL);
}

/*
 * The signal is there before the call, which alone lets it in if the thread keeps it out.  With no
 * time to wait, and with a descriptor that is ready.
 */
static const struct timespec no_time;

static long call_ppoll_now(void)
{
	struct pollfd p = {fds[0], POLLIN, 0};

	send_here();
	return ppoll(&p, 1, &no_time, &nothing);
}

static long call_pselect_now(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[0], &set);
	send_here();
	return pselect(fds[0] + 1, &set, NULL, NULL, &no_time, &nothing);
}

static long call_ppoll_ready(void)
{
	struct pollfd p = {fds[1], POLLOUT, 0};

	send_here();
	return ppoll(&p, 1, NULL, &nothing);
}

static long call_pselect_ready(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fds[1], &set);
	send_here();
	return pselect(fds[1] + 1, NULL, &set, NULL, NULL, &nothing);
}

/* Again when the handler has run before the call. */
static long ppoll_again(int ms)
{
	struct pollfd p = {fds[0], POLLIN, 0};
	struct timespec ts = {0, ms * 1000000L};

	return ppoll(&p, 1, &ts, &nothing);
}

static long call_ppoll_twice(void)
{
	long r;

	send_here();
	r = ppoll_again(5);
	say_note("first=%ld", r);
	return ppoll_again(5);
}

static void begin_epoll(void)
{
	struct epoll_event e = {.events = EPOLLIN};

	begin_pipe();
	extra = epoll_create1(0);
	epoll_ctl(extra, EPOLL_CTL_ADD, fds[0], &e);
}

static long call_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(extra, &e, 1, -1);
}

static long call_epoll_pwait(void)
{
	struct epoll_event e;

	return epoll_pwait(extra, &e, 1, 20000, &nothing);
}

static long call_epoll_pwait_now(void)
{
	struct epoll_event e;

	send_here();
	return epoll_pwait(extra, &e, 1, 0, &nothing);
}

static long call_epoll_pwait2_sent(void)
{
	struct timespec ts = {0, 5000000};
	struct epoll_event e;

	send_here();
	return epoll_pwait2(extra, &e, 1, &ts, &nothing);
}

static long call_epoll_pwait_ready(void)
{
	struct epoll_event e;

	release_write();
	send_here();
	return epoll_pwait(extra, &e, 1, -1, &nothing);
}

static void begin_eventfd(void)
{
	close_fds();
	fds[0] = eventfd(0, 0);
	fds[1] = dup(fds[0]);
}

static long call_eventfd(void)
{
	eventfd_t v;

	return eventfd_read(fds[0], &v);
}

static void release_eventfd(void)
{
	eventfd_write(fds[1], 1);
}

static void begin_pair(void)
{
	close_fds();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		die("socketpair");
}

static long call_recv(void)
{
	char c;

	return recv(fds[0], &c, 1, 0);
}

static void begin_pair_timed(void)
{
	struct timeval tv = {20, 0};

	begin_pair();
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
}

static long call_recv_waitall(void)
{
	char c[2];

	return recv(fds[0], c, 2, MSG_WAITALL);
}

static void begin_half(void)
{
	begin_pair();
	release_write();
}

static void begin_listen(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	close_fds();
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(fds[0], (struct sockaddr *)&in, sizeof in) || listen(fds[0], 8))
		die("listen");
}

static long call_accept(void)
{
	int s = accept(fds[0], NULL, NULL), err = errno;

	if (s >= 0)
		close(s);
	errno = err;
	return s >= 0 ? 0 : -1;
}

static void release_accept(void)
{
	struct sockaddr_in in;
	socklen_t n = sizeof in;

	getsockname(fds[0], (struct sockaddr *)&in, &n);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(fds[1], (struct sockaddr *)&in, n))
		die("connect");
}

static void begin_stream(void)
{
	begin_pipe();
	stream = fdopen(fds[0], "r");
	setvbuf(stream, NULL, _IOFBF, 512);
}

static long call_fgets(void)
{
	char line[8];

	return fgets(line, sizeof line, stream) ? 0 : ferror(stream) ? -1 : -2;
}

static void release_stream(void)
{
	if (write(fds[1], "x\n", 2) != 2)
		die("write");
}

static void begin_lock(void)
{
	close_fds();
	fds[0] = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fds[0]);
	fds[1] = open(path, O_RDWR);
	if (flock(fds[0], LOCK_EX) || fds[1] < 0)
		die("flock");
}

static long call_flock(void)
{
	return flock(fds[1], LOCK_EX);
}

static void release_flock(void)
{
	flock(fds[0], LOCK_UN);
}

static void begin_ofd(void)
{
	struct flock l = {.l_type = F_WRLCK};

	begin_lock();
	if (fcntl(fds[0], F_OFD_SETLK, &l))
		die("fcntl");
}

static long call_ofd(void)
{
	struct flock l = {.l_type = F_WRLCK};

	return fcntl(fds[1], F_OFD_SETLKW, &l);
}

static void release_ofd(void)
{
	struct flock l = {.l_type = F_UNLCK};

	fcntl(fds[0], F_OFD_SETLK, &l);
}

/* ---- System V, children ---- */

static void begin_msg(void)
{
	if (ipc != -1)
		msgctl(ipc, IPC_RMID, NULL);
	ipc = msgget(IPC_PRIVATE, 0600);
}

static long call_msgrcv(void)
{
	struct {
		long type;
		char c[8];
	} m;

	return msgrcv(ipc, &m, 8, 0, 0);
}

static void release_msg(void)
{
	struct {
		long type;
		char c[8];
	} m = {1, "x"};

	msgsnd(ipc, &m, 1, 0);
	pause_ms(delay_ms);
	msgctl(ipc, IPC_RMID, NULL);
	ipc = -1;
}

static void begin_semop(void)
{
	ipc = semget(IPC_PRIVATE, 1, 0600);
	semctl(ipc, 0, SETVAL, 0);
}

static long call_semop(void)
{
	struct sembuf op = {0, -1, 0};

	return semop(ipc, &op, 1);
}

static long call_semtimedop(void)
{
	struct sembuf op = {0, -1, 0};
	struct timespec ts = {20, 0};

	return semtimedop(ipc, &op, 1, &ts);
}

static void release_semop(void)
{
	struct sembuf op = {0, 1, 0};

	semop(ipc, &op, 1);
	pause_ms(delay_ms);
	semctl(ipc, 0, IPC_RMID);
	ipc = -1;
}

static void begin_child(void)
{
	child = fork();
	if (child == 0)
		for (;;)
			pause();
}

static long call_waitpid(void)
{
	int status;
	long r = waitpid(child, &status, 0);

	return r == child ? 0 : r;
}

static void release_child(void)
{
	kill(child, SIGKILL);
	over(2000);
	waitpid(child, NULL, 0); /* when the thread did not */
}

/* ---- waiting for signals ---- */

static long call_pause(void)
{
	return pause();
}

static long call_sigsuspend(void)
{
	return sigsuspend(&nothing);
}

/* Ends a wait that only a handler ends. */
static void release_by_other(void)
{
	while (!over(0)) {
		pthread_kill(target, OTHER);
		over(3 * delay_ms);
	}
}

static sigset_t awaited(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, AWAITED);
	return set;
}

static long call_sigwait(void)
{
	sigset_t set = awaited();
	int sig = 0;
	long r = sigwait(&set, &sig);

	say_note("got=%d", sig == AWAITED);
	return r;
}

static long call_sigwaitinfo(void)
{
	sigset_t set = awaited();

	return sigwaitinfo(&set, NULL) == AWAITED ? 0 : -1;
}

static long call_sigtimedwait(void)
{
	sigset_t set = awaited();
	struct timespec ts = {20, 0};

	return sigtimedwait(&set, NULL, &ts) == AWAITED ? 0 : -1;
}

static void release_sigwait(void)
{
	pthread_kill(target, AWAITED);
}

const struct wait waits[] = {
	{"self", NULL, call_self, NULL, true},
	{"compute", unset_go, call_compute, set_go, false},
	{"yield", unset_go, call_yield, set_go, false},
	{"malloc", unset_go, call_malloc, set_go, false},
	{"mutex", begin_mutex, call_mutex, release_mutex, false},
	{"mutex_timed", begin_mutex, call_mutex_timed, release_mutex, false},
	{"cond", begin_cond, call_cond, release_cond, false},
	{"cond_timed", begin_cond, call_cond_timed, release_cond, false},
	{"rdlock", begin_rwlock, call_rdlock, release_rwlock, false},
	{"wrlock", begin_rwlock, call_wrlock, release_rwlock, false},
	{"barrier", begin_barrier, call_barrier, release_barrier, false},
	{"join", begin_join, call_join, release_join, false},
	{"once", begin_once, call_pthread_once, release_once, false},
	{"sem", begin_sem, call_sem, release_sem, false},
	{"sem_timed", begin_sem, call_sem_timed, release_sem, false},
	{"futex", begin_futex, call_futex, release_futex, false},
	{"futex_timed", begin_futex, call_futex_timed, release_futex, false},
	{"nanosleep", NULL, call_nanosleep, NULL, false},
	{"clock_nanosleep", NULL, call_clock_nanosleep, NULL, false},
	{"clock_nanosleep_until", NULL, call_clock_nanosleep_until, NULL, false},
	{"usleep", NULL, call_usleep, NULL, false},
	{"sleep", NULL, call_sleep, NULL, false},
	{"thrd_sleep", NULL, call_thrd_sleep, NULL, false},
	{"read", begin_pipe, call_read, release_write, false},
	{"write", begin_full, call_write, release_read, false},
	{"poll", begin_pipe, call_poll, release_write, false},
	{"poll_timed", begin_pipe, call_poll_timed, release_write, false},
	{"ppoll", begin_pipe, call_ppoll, release_write, false},
	{"select", begin_pipe, call_select, release_write, false},
	{"pselect", begin_pipe, call_pselect, release_write, false},
	{"epoll", begin_epoll, call_epoll, release_write, false},
	{"epoll_pwait", begin_epoll, call_epoll_pwait, release_write, false},
	{"ppoll_now", begin_pipe, call_ppoll_now, NULL, true},
	{"ppoll_ready", begin_pipe, call_ppoll_ready, NULL, true},
	{"ppoll_twice", begin_pipe, call_ppoll_twice, NULL, true},
	{"pselect_now", begin_pipe, call_pselect_now, NULL, true},
	{"pselect_ready", begin_pipe, call_pselect_ready, NULL, true},
	{"epoll_pwait_now", begin_epoll, call_epoll_pwait_now, NULL, true},
	{"epoll_pwait_ready", begin_epoll, call_epoll_pwait_ready, NULL, true},
	{"epoll_pwait2_sent", begin_epoll, call_epoll_pwait2_sent, NULL, true},
	{"eventfd", begin_eventfd, call_eventfd, release_eventfd, false},
	{"recv", begin_pair, call_recv, release_write, false},
	{"recv_timed", begin_pair_timed, call_recv, release_write, false},
	{"recv_waitall", begin_half, call_recv_waitall, release_write, false},
	{"accept", begin_listen, call_accept, release_accept, false},
	{"fgets", begin_stream, call_fgets, release_stream, false},
	{"flock", begin_lock, call_flock, release_flock, false},
	{"ofd_lock", begin_ofd, call_ofd, release_ofd, false},
	{"msgrcv", begin_msg, call_msgrcv, release_msg, false},
	{"semop", begin_semop, call_semop, release_semop, false},
	{"semtimedop", begin_semop, call_semtimedop, release_semop, false},
	{"waitpid", begin_child, call_waitpid, release_child, false},
	{"pause", NULL, call_pause, release_by_other, false},
	{"sigsuspend", NULL, call_sigsuspend, release_by_other, false},
	{"sigwait", NULL, call_sigwait, release_sigwait, false},
	{"sigwaitinfo", NULL, call_sigwaitinfo, release_sigwait, false},
	{"sigtimedwait", NULL, call_sigtimedwait, release_sigwait, false},
	{NULL, NULL, NULL, NULL, false},
};
