/*
 * os: os.h on the simulated kernel.
 *
 * Memory is arena.c's.  Futexes, sleeps, signals to threads, epoll, eventfd and clocks are made of tasks that
 * block (kernel.c).  A futex wait may end for no reason, a wake-up may come late, and a call that can fail for want of
 * something may fail (sim_fails()).  What a workload reads and writes are streams: a count of bytes, and an end.
 */
#include "runtime/os/os.h"

#include "runtime/base/atomic.h"
#include "tests/sim/fair.h"
#include "tests/sim/sim.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool os_missing_any;
bool (*os_isapart)(void);

/* ---- what is not there ----------------------------------------------------------------------- */

static unsigned without;

void os_faultinject(unsigned features, unsigned nth)
{
	(void)nth;
	without = features;
}

bool os_has(enum os_feature f)
{
	return !(without & 1u << f);
}

bool os_filter_ask(const void *prog, struct os_forbidden *out)
{
	(void)prog;
	(void)out;
	return false;
}

void os_forbid(const struct os_forbidden *what, bool everywhere)
{
	(void)what;
	(void)everywhere;
}

bool sim_fails(const char *what)
{
	if (opt.measured || sim.fault <= 0 || !sim_chance(200))
		return false;
	sim.fault--;
	sim.refused = true;
	sim_trace("fails: %s", (uintptr_t)what, 0);
	return true;
}

bool os_fault(const char *what)
{
	return sim_fails(what);
}

long os_missing(long nr, long a, long b, long c)
{
	(void)nr;
	(void)a;
	(void)b;
	(void)c;
	return 0;
}

long os_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)e;
	(void)f;
	sim_fail("system call %ld by number", nr);
}

/* ---- memory ---------------------------------------------------------------------------------- */

void *os_alloc(size_t n)
{
	sim_point(POINT_CALL, "mmap");
	return sim_fails("mmap") ? NULL : arena_alloc(n, 4096);
}

void *os_reserve(size_t n)
{
	return os_alloc(n);
}

void *os_reserve_dense(size_t n)
{
	return os_alloc(n);
}

void os_populate(void *p, size_t n)
{
	(void)p;
	(void)n;
	sim_point(POINT_CALL, "populate");
}

int os_free(void *p, size_t n)
{
	sim_point(POINT_CALL, "munmap");
	arena_close(p, n);
	return 0;
}

bool os_memory_is_limited(void)
{
	return false;
}

int os_guard(void *p, size_t n)
{
	(void)p;
	(void)n;
	sim_point(POINT_CALL, "madvise");
	return sim_fails("guard") ? -ENOMEM : 0;
}

bool os_guards(char *p, size_t each, unsigned count, size_t n)
{
	(void)p;
	(void)each;
	(void)count;
	(void)n;
	sim_point(POINT_CALL, "guards");
	return !sim_fails("guards");
}

int os_executable(void *p, size_t n)
{
	(void)p;
	(void)n;
	return 0;
}

void os_guard_init(void)
{
}

bool os_guard_is_cheap(void)
{
	return true;
}

void os_discard(void *p, size_t n)
{
	sim_point(POINT_CALL, "discard");
	madvise(p, n, MADV_DONTNEED);
}

/* ---- time ------------------------------------------------------------------------------------ */

static uint64_t wall = 1600000000000000000; /* ns: CLOCK_REALTIME when CLOCK_MONOTONIC is 0 */

void os_time_notsc(void)
{
}

void os_time_init(void)
{
}

uint64_t os_nanotime(void)
{
	if (!opt.measured)
		sim_charge(25);
	sim_point(POINT_ATOMIC, "clock");
	return sim_now();
}

enum { OWN_CPU = 3, CLOCK_SHIFT = 3 }; /* CLOCK_THREAD_CPUTIME_ID; that of task N is ~N with the kind below it */

int os_clock_gettime(int clock, uint64_t *ns)
{
	if (clock == OWN_CPU || clock < 0) {
		const struct task *t = clock < 0 ? task_by_tid(~(clock >> CLOCK_SHIFT)) : sim.cur;

		sim_point(POINT_CALL, "cpu clock");
		*ns = t ? t->used : 0;
		return t ? 0 : -EINVAL;
	}
	*ns = os_nanotime() + (clock == OS_CLOCK_REALTIME ? wall : 0);
	return 0;
}

void os_usleep(uint32_t us)
{
	sim_point(POINT_CALL, "usleep");
	task_block(sim_now() + us * 1000ULL + 1, WHY_USLEEP);
}

void os_osyield(void)
{
	sim.cur->priority = sim.cur->priority > (1 << 21) ? (1 << 20) + sim_random(1 << 20) : sim.cur->priority;
	/* It gives up its turn, as sched_yield(2) does. */
	if (opt.measured) {
		fair_yield(sim.cur);
		sim.cur->giveway = true;
	} else {
		sim_charge(500);
		sim_yield();
	}
	sim_point(POINT_CALL, "sched_yield");
}

/* ---- kernel threads -------------------------------------------------------------------------- */

int os_gettid(void)
{
	return sim.cur->tid;
}

int os_getpid(void)
{
	return 1000;
}

int os_futex_wait(uint32_t *w, uint32_t v, uint64_t deadline)
{
	static uint64_t order;

	sim_point(POINT_CALL, "futex wait");
	if (load_seqcst(w) != v)
		return -EAGAIN;
	if (deadline && deadline <= sim_now())
		return -ETIMEDOUT;
	if (!opt.measured && sim_chance(100))
		return sim_random(2) ? 0 : -EINTR; /* for no reason */
	sim.cur->futex = w;
	sim.cur->order = ++order;
	return task_block(deadline, WHY_FUTEX);
}

int os_futex_wait_realtime(uint32_t *w, uint32_t v, uint64_t at)
{
	return os_futex_wait(w, v, at > wall ? at - wall : 1);
}

void os_futex_wake(uint32_t *w, int n)
{
	sim_point(POINT_CALL, "futex wake");
	while (n-- > 0) {
		struct task *first = NULL;

		for (unsigned i = 0; i < sim.ntasks; i++) {
			struct task *t = &sim.tasks[i];

			if (t->state == TASK_BLOCKED && t->futex == w && (!first || t->order < first->order))
				first = t;
		}
		if (!first)
			return;
		sim_trace("wakes %s", (uintptr_t)first->name, 0);
		task_wake(first, 0);
	}
}

int os_tgkill(int pid, int tid, int sig)
{
	struct task *t;

	(void)pid;
	sim_point(POINT_CALL, "tgkill");
	t = task_by_tid(tid);
	if (!t)
		return -ESRCH;
	if (sim_fails("tgkill"))
		return -EAGAIN;
	sim_trace("signal %lu to %s", (uintptr_t)sig, (uintptr_t)t->name);
	task_signal(t, sig);
	return 0;
}

unsigned long os_alarm_limit(void)
{
	return 1 << 16;
}

/* One a thread: its number is the thread's. */
int os_alarm_make(int tid, int sig, int *timer)
{
	struct task *t;

	sim_point(POINT_CALL, "timer_create");
	t = task_by_tid(tid);
	if (!t || sim_fails("timer_create"))
		return -EAGAIN;
	t->alarmsig = sig;
	t->alarm = 0;
	*timer = tid;
	return 0;
}

int os_alarm_set(int timer, uint64_t when)
{
	struct task *t;

	sim_point(POINT_CALL, "timer_settime");
	t = task_by_tid(timer);
	if (!t || !t->alarmsig)
		return -EINVAL;
	task_alarm(t, when);
	return 0;
}

void os_alarm_delete(int timer)
{
	struct task *t;

	sim_point(POINT_CALL, "timer_delete");
	t = task_by_tid(timer);
	if (t) {
		task_alarm(t, 0);
		t->alarmsig = 0;
	}
}

int os_blocked(int tid, struct os_where *w)
{
	struct task *t;

	sim_point(POINT_CALL, "blocked?");
	*w = (struct os_where){ .nr = OS_UNKNOWN };
	t = task_by_tid(tid);
	return !t ? -ESRCH : t->state == TASK_BLOCKED;
}

const char *os_syscall_name(long nr)
{
	(void)nr;
	return NULL;
}

int os_thread_cpu(int tid, uint64_t *ns)
{
	struct task *t;

	if (!opt.measured)
		sim_charge(300);
	sim_point(POINT_CALL, "cpu clock");
	t = task_by_tid(tid);
	if (!t)
		return -ESRCH;
	*ns = t->used;
	return 0;
}

void os_file_keep(int fd)
{
	(void)fd;
}

int os_files_leave(void)
{
	return 0;
}

uint64_t os_own_waits(void)
{
	return sim.cur->waits;
}

uint64_t os_own_systime(void)
{
	return 0;
}

uint64_t os_own_cpu(void)
{
	return sim.cur->used;
}

uint64_t os_process_cpu(void)
{
	uint64_t used = 0;

	for (unsigned i = 0; i < sim.ntasks; i++)
		used += sim.tasks[i].used;
	return used;
}

bool os_has_children(void)
{
	return sim.cur->children > 0;
}

void child_made(void)
{
	sim.cur->children++;
}

bool child_waited(void)
{
	return sim.cur->children > 0 && sim.cur->children--;
}

int os_membarrier_start(void)
{
	return 0;
}

int os_membarrier(void)
{
	sim_point(POINT_CALL, "membarrier");
	sim_drain_all();
	return 0;
}

uint64_t os_sigmask(uint64_t mask)
{
	uint64_t old = sim.cur->sigmask;

	sim.cur->sigmask = mask;
	sim_point(POINT_CALL, "sigmask");
	return old;
}

uint64_t os_sigmask_get(void)
{
	return sim.cur->sigmask;
}

void os_sigunblock(int sig)
{
	sim.cur->sigmask &= ~(1ULL << (sig - 1));
	sim_point(POINT_CALL, "sigunblock");
}

int os_sigaltstack(void *sp, size_t size, int flags)
{
	(void)sp;
	(void)size;
	(void)flags;
	return 0;
}

/* sysmon alone asks for one. */
void os_timerslack(uint64_t ns)
{
	sim.cur->slack = ns;
	sim.cur->sysmon = true;
	snprintf(sim.cur->name, sizeof(sim.cur->name), "sysmon");
}

void os_cpuslice(uint64_t ns)
{
	sim.cur->wants = ns;
}

void os_nonewprivs(void)
{
}

void os_setname(const char *name)
{
	snprintf(sim.cur->name, sizeof(sim.cur->name), "%s", name);
}

bool os_is_log(int fd)
{
	return fd == 2;
}

int os_tasks(void)
{
	return 0;
}

void os_rename(int tid, const char *name)
{
	(void)tid;
	(void)name;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

enum fdkind { FD_NONE, FD_EPOLL, FD_EVENT, FD_STREAM, FD_CLOCK };

static struct fd {
	enum fdkind kind;
	unsigned data;         /* bytes, or the counter */
	bool shut;
	int refs;              /* numbers of the same file */
	uint64_t id;
} files[MAXFDS];
static int numbers[MAXFDS];   /* file + 1 */
static bool duplicates[MAXFDS]; /* such a number, made from another: the runtime's, for no workload makes any */
static struct watch {
	bool used, edge, level;
	int fd, file;
	uint32_t events;
	uint64_t data;
} watches[MAXFDS];             /* there is one epoll */

/* A short table where the runs are many: each look goes through all of it. */
static int fds(void)
{
	return opt.measured ? MAXFDS : 256;
}

static int fd_new(enum fdkind kind, int lowest)
{
	static uint64_t made;
	int file = 0, fd = lowest;

	while (file < fds() && files[file].refs)
		file++;
	while (fd < fds() && numbers[fd])
		fd++;
	if (file == fds() || fd == fds())
		return -EMFILE;
	files[file] = (struct fd){ .kind = kind, .refs = 1, .id = ++made };
	numbers[fd] = file + 1;
	return fd;
}

static struct fd *file_of(int fd)
{
	return fd >= 0 && fd < fds() && numbers[fd] ? &files[numbers[fd] - 1] : NULL;
}

static uint32_t ready(const struct fd *f)
{
	uint32_t r = 0;

	if (f->data || f->shut)
		r |= OS_POLLIN;
	if (f->shut)
		r |= OS_POLLRDHUP;
	if (f->kind == FD_STREAM)
		r |= OS_POLLOUT;
	return r;
}

static bool ready_to_read(const struct fd *f)
{
	return f->data || f->shut;
}

static void wake_pollers(void)
{
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].state == TASK_BLOCKED && sim.tasks[i].epoll) {
			task_wake(&sim.tasks[i], 0);
			return; /* the kernel wakes one for an edge */
		}
}

/* Something came on the file: an edge for each watch of it. */
static void changed(int file)
{
	bool any = false;

	for (int i = 0; i < fds(); i++)
		if (watches[i].used && watches[i].file == file) {
			watches[i].edge = true;
			any = true;
		}
	if (any)
		wake_pollers();
	/* Those that wait in an epoll of the program's. */
	for (unsigned i = 0; i < sim.ntasks; i++)
		if (sim.tasks[i].state == TASK_BLOCKED && sim.tasks[i].futex == &files[file])
			task_wake(&sim.tasks[i], 0);
}

/* An epoll of the program's: until it has an event. */
int fd_wait(int fd, uint64_t deadline)
{
	int r = 0;

	sim_point(POINT_CALL, "waits in its own epoll");
	while (r == 0 && file_of(fd) && !ready_to_read(file_of(fd))) {
		if (deadline && deadline <= sim_now())
			return -ETIMEDOUT;
		sim.cur->futex = file_of(fd);
		r = task_block(deadline, WHY_KERNEL);
		if (r == -EINTR)
			sim_fail("a signal of the scheduler's has ended a wait that it was told of");
	}
	return r;
}

int fd_stream(void)
{
	return fd_new(FD_STREAM, 3);
}

int fd_file(int fd)
{
	return numbers[fd] - 1;
}

bool fd_left(bool (*owned)(int fd))
{
	for (int fd = 0; fd < fds(); fd++)
		if (numbers[fd] && duplicates[fd] && !owned(fd))
			return true;
	return false;
}

bool fd_readable(int fd)
{
	struct fd *f;

	sim_point(POINT_CALL, "poll");
	f = file_of(fd);
	return !f || f->data || f->shut;
}

int fd_read(int fd, unsigned most)
{
	struct fd *f;
	unsigned n;

	sim_point(POINT_CALL, "read");
	f = file_of(fd);
	if (!f)
		return -EBADF;
	n = f->data < most ? f->data : most;
	if (!n)
		return f->shut ? 0 : -EAGAIN;
	f->data -= n;
	return (int)n;
}

void fd_write(int file, unsigned n)
{
	sim_point(POINT_CALL, "the peer writes");
	files[file].data += n;
	changed(file);
}

void fd_shut(int file)
{
	sim_point(POINT_CALL, "the peer ends");
	files[file].shut = true;
	changed(file);
}

void fd_shut_open(int file)
{
	if (files[file].refs)
		fd_shut(file);
}

bool fd_any_ready(void)
{
	for (int i = 0; i < fds(); i++)
		if (watches[i].used && (watches[i].level || watches[i].edge) &&
		    files[watches[i].file].kind == FD_STREAM && ready(&files[watches[i].file]) & watches[i].events)
			return true;
	return false;
}

bool fd_event_is_set(void)
{
	for (int i = 0; i < fds(); i++)
		if (files[i].refs && files[i].kind == FD_EVENT && files[i].data)
			return true;
	return false;
}

int os_poll_create(void)
{
	sim_point(POINT_CALL, "epoll_create");
	return sim_fails("epoll") ? -EMFILE : fd_new(FD_EPOLL, 200);
}

int os_poll_add(int ep, int fd, uint32_t events, uint64_t data)
{
	struct fd *f;
	int at = -1;

	(void)ep;
	sim_point(POINT_CALL, "epoll_ctl add");
	f = file_of(fd);
	if (!f)
		return -EBADF;
	if (sim_fails("epoll_ctl"))
		return -ENOMEM;
	for (int i = 0; i < fds(); i++) {
		if (watches[i].used && watches[i].fd == fd && watches[i].file == numbers[fd] - 1)
			at = i;
		else if (at < 0 && !watches[i].used)
			at = i;
	}
	watches[at] = (struct watch){ .used = true, .level = !(events & OS_POLLEDGE), .fd = fd, .file = numbers[fd] - 1,
				      .events = events, .data = data, .edge = (ready(f) & events) != 0 };
	if (watches[at].edge)
		wake_pollers();
	return 0;
}

int os_poll_change(int ep, int fd, uint32_t events, uint64_t data)
{
	(void)ep;
	sim_point(POINT_CALL, "epoll_ctl mod");
	for (int i = 0; i < fds(); i++)
		if (watches[i].used && watches[i].fd == fd && fd < fds() && watches[i].file == numbers[fd] - 1) {
			watches[i].events = events;
			watches[i].data = data;
			watches[i].edge = (ready(&files[watches[i].file]) & events) != 0;
			if (watches[i].edge)
				wake_pollers();
			return 0;
		}
	return -ENOENT;
}

int os_poll_del(int ep, int fd)
{
	(void)ep;
	sim_point(POINT_CALL, "epoll_ctl del");
	for (int i = 0; i < fds(); i++)
		if (watches[i].used && watches[i].fd == fd && fd < fds() && watches[i].file == numbers[fd] - 1) {
			watches[i].used = false;
			return 0;
		}
	return -ENOENT;
}

static int collect(struct os_event *ev, int n)
{
	static int turn;
	int found = 0;

	for (int k = 0; k < fds() && found < n; k++) {
		struct watch *w = &watches[(turn + k) % fds()];
		uint32_t r = w->used && w->events ? ready(&files[w->file]) & (w->events | OS_POLLERR | OS_POLLHUP) : 0;

		if (!r || (!w->level && !w->edge))
			continue;
		w->edge = false;
		if (w->events & OS_POLLONCE)
			w->events = 0;
		ev[found++] = (struct os_event){ r, w->data };
	}
	turn++;
	return found;
}

int os_poll_wait(int ep, struct os_event *ev, int n, uint64_t deadline, const uint64_t *mask)
{
	uint64_t was = sim.cur->sigmask;
	int found, r = 0;

	sim_point(POINT_CALL, deadline == OS_NOWAIT ? "epoll look" : "epoll wait");
	found = collect(ev, n);
	if (found || deadline == OS_NOWAIT || (deadline && deadline <= sim_now()))
		return found;
	if (mask)
		sim.cur->sigmask = *mask;
	while (!found && !r) {
		sim.cur->epoll = ep + 1;
		r = task_block(deadline, WHY_EPOLL);
		found = collect(ev, n);
	}
	if (mask)
		sim.cur->sigmask = was;
	return found ? found : r == -ETIMEDOUT ? 0 : r;
}

int os_eventfd(void)
{
	return sim_fails("eventfd") ? -EMFILE : fd_new(FD_EVENT, 200);
}

int os_clockfd(void)
{
	return sim_fails("clockfd") ? -EMFILE : fd_new(FD_CLOCK, 200);
}

uint64_t clock_now(void)
{
	return sim_now() + wall;
}

void clock_set(int64_t ns)
{
	sim_point(POINT_CALL, "clock_settime");
	wall += (uint64_t)ns;
	for (int i = 0; i < fds(); i++)
		if (files[i].refs && files[i].kind == FD_CLOCK) {
			files[i].data = 1; /* until it is read, which the runtime does not */
			changed(i);
		}
}

int os_dup_above(int fd, int lowest)
{
	int file = fd >= 0 && fd < fds() ? numbers[fd] : 0;

	sim_point(POINT_CALL, "dup");
	if (!file)
		return -EBADF;
	if (sim_fails("dup"))
		return -EMFILE;
	if (lowest >= fds())
		lowest = 128;
	if (lowest <= 2)
		lowest = 3; /* the first three are the program's own, and os_write() takes them for a message */
	while (lowest < fds() && numbers[lowest])
		lowest++;
	if (lowest == fds())
		return -EMFILE;
	numbers[lowest] = file;
	duplicates[lowest] = true;
	files[file - 1].refs++;
	return lowest;
}

int os_close(int fd)
{
	struct fd *f;

	sim_point(POINT_CALL, "close");
	f = file_of(fd);
	if (!f)
		return -EBADF;
	numbers[fd] = 0;
	duplicates[fd] = false;
	if (--f->refs == 0)
		for (int i = 0; i < fds(); i++)
			if (watches[i].used && watches[i].file == (int)(f - files))
				watches[i].used = false;
	return 0;
}

int os_fileid(int fd, uint64_t id[2])
{
	sim_point(POINT_CALL, "fstat");
	if (!file_of(fd))
		return -EBADF;
	id[0] = 1;
	id[1] = file_of(fd)->id;
	return 0;
}

unsigned long os_fdlimit(void)
{
	return fds();
}

static char said[256]; /* the runtime's last line */

ssize_t os_write(int fd, const void *p, size_t n)
{
	struct fd *f = file_of(fd);

	if (fd <= 2) {
		sim_trace("says: %s", (uintptr_t)strncpy(arena_alloc(n, 1), p, n - 1), 0);
		snprintf(said, sizeof(said), "%.*s", (int)n - (n > 0), (const char *)p);
		if (!f || opt.trace)
			printf("%.*s", (int)n, (const char *)p);
		return (ssize_t)n;
	}
	sim_point(POINT_CALL, "write");
	f = file_of(fd);
	if (!f)
		return -EBADF;
	f->data = 1;
	changed(numbers[fd] - 1);
	return (ssize_t)n;
}

ssize_t os_read(int fd, void *p, size_t n)
{
	struct fd *f;

	sim_point(POINT_CALL, "read");
	f = file_of(fd);
	if (!f || !f->data)
		return f ? -EAGAIN : -EBADF;
	f->data = 0;
	memset(p, 0, n);
	return (ssize_t)n;
}

/* ---- machine --------------------------------------------------------------------------------- */

unsigned os_ncpu(void)
{
	/* A second has passed: sysmon asks again, and an administrator may have changed it. */
	return opt.procs;
}

size_t os_memory(size_t ours)
{
	(void)ours;
	return (size_t)16 << 30;
}

long os_cgroup_limit(const char *root, enum os_granted what)
{
	(void)root;
	(void)what;
	return -1;
}

unsigned os_ncpu_of(unsigned cpus, long quota)
{
	(void)quota;
	return cpus;
}

size_t os_pagesize(void)
{
	return 4096;
}

size_t os_stacklimit(void)
{
	return 8 << 20;
}

/* There are no files. */
void *os_claim_file(const char *path, size_t n, const void *head, size_t len, bool (*taken)(const void *there),
		    long *err)
{
	(void)path, (void)n, (void)head, (void)len, (void)taken;
	*err = -ENOENT;
	return NULL;
}

ssize_t os_slurp(const char *path, char *buf, size_t n)
{
	(void)path;
	(void)buf;
	(void)n;
	return -ENOENT;
}

bool os_peek_gently(const void *from, void *to, size_t n)
{
	return os_peek(from, to, n);
}

bool os_peek(const void *from, void *to, size_t n)
{
	memcpy(to, from, n);
	return true;
}

void os_exit(int code)
{
	sim_fail("exit(%d)", code);
}

void os_abort(void)
{
	sim_fail("abort: %s", said);
}
