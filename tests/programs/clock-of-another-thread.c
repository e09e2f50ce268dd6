/*
 * The CPU clock of another thread, by the number that libc gives and by the one made by hand from the
 * thread's id, through libc and by number: reading it, its resolution, sleeps on it, and timers, relative,
 * absolute, again and again, with each kind of notice.  A timer counts while that thread computes and
 * not while it sleeps.  A timer at an absolute time of the caller's own.
 */
#include "check.h"
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define MS 1000000LL

struct other {
	pthread_t t;
	atomic_int id, computes, ends, idle;
	clockid_t clock;
};

static atomic_int fired;
static _Atomic pthread_t by;

static void on_signal(int sig)
{
	by = pthread_self();
	fired++;
}

static void on_thread(union sigval v)
{
	CHECK_EQ(v.sival_int, 7);
	fired++;
}

static void *body(void *arg)
{
	struct other *o = arg;

	o->id = (int)syscall(SYS_gettid);
	while (!o->ends) {
		o->idle = !o->computes;
		if (o->computes)
			sched_yield();
		else
			usleep(1000);
	}
	return NULL;
}

static void start(struct other *o, bool by_hand)
{
	*o = (struct other){ 0 };
	o->t = spawn(body, o);
	while (!o->id)
		usleep(1000);
	if (by_hand)
		o->clock = (clockid_t)(~(unsigned int)o->id << 3 | 6);
	else
		CHECK_OK(pthread_getcpuclockid(o->t, &o->clock));
}

static void finish(struct other *o)
{
	o->ends = 1;
	join(o->t);
}

/* ---- the clock itself ------------------------------------------------------------------------- */

static long long read_it(clockid_t clock, bool raw)
{
	struct timespec ts;

	if (raw)
		CHECK_SYS(syscall(SYS_clock_gettime, clock, &ts));
	else
		CHECK_SYS(clock_gettime(clock, &ts));
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

static void reads(clockid_t clock, bool raw)
{
	struct timespec ts = { 1, 0 }, bad = { 0, -1 };
	long long before = read_it(clock, raw), now;

	if (raw)
		CHECK_SYS(syscall(SYS_clock_getres, clock, &ts));
	else
		CHECK_SYS(clock_getres(clock, &ts));
	CHECK_EQ(ts.tv_sec, 0);
	CHECK_EQ(ts.tv_nsec, 1);
	ts = (struct timespec){ 0, 20 * MS };
	if (raw)
		CHECK_SYS(syscall(SYS_clock_nanosleep, clock, 0, &ts, NULL));
	else
		CHECK_OK(clock_nanosleep(clock, 0, &ts, NULL));
	now = read_it(clock, raw);
	CHECK(now - before >= 20 * MS);
	now += 20 * MS;
	ts = (struct timespec){ now / (1000 * MS), now % (1000 * MS) };
	if (raw) {
		CHECK_SYS(syscall(SYS_clock_nanosleep, clock, TIMER_ABSTIME, &ts, NULL));
		CHECK_ERR(syscall(SYS_clock_nanosleep, clock, 0, &bad, NULL), EINVAL);
	} else {
		CHECK_OK(clock_nanosleep(clock, TIMER_ABSTIME, &ts, NULL));
		CHECK_EQ(clock_nanosleep(clock, 0, &bad, NULL), EINVAL);
	}
	CHECK(read_it(clock, raw) >= now);
}

/* ---- timers ------------------------------------------------------------------------------------ */

enum notice { SIGNAL, THREAD_ID, THREAD, NOTICES };
static const char *const notices[] = { "a signal", "a signal to a thread", "a thread" };

/* A timer by libc or by number, where it is an int; of the kinds of notice the latter has two. */
struct tm_ {
	timer_t t;
	int nr;
	bool raw;
};

static struct tm_ make(clockid_t clock, enum notice how, bool raw)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct tm_ t = { .raw = raw };

	if (how == THREAD_ID) {
		ev.sigev_notify = SIGEV_THREAD_ID;
		ev.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	} else if (how == THREAD) {
		ev.sigev_notify = SIGEV_THREAD;
		ev.sigev_notify_function = on_thread;
		ev.sigev_value.sival_int = 7;
	}
	if (raw)
		CHECK_SYS(syscall(SYS_timer_create, clock, &ev, &t.nr));
	else
		CHECK_SYS(timer_create(clock, &ev, &t.t));
	return t;
}

static int set(struct tm_ t, int flags, long long value, long long every, struct itimerspec *old)
{
	struct itimerspec it = { { every / (1000 * MS), every % (1000 * MS) },
				 { value / (1000 * MS), value % (1000 * MS) } };

	return t.raw ? (int)syscall(SYS_timer_settime, t.nr, flags, &it, old)
		     : timer_settime(t.t, flags, &it, old);
}

static long long left(struct tm_ t)
{
	struct itimerspec it;

	CHECK_SYS(t.raw ? (int)syscall(SYS_timer_gettime, t.nr, &it) : timer_gettime(t.t, &it));
	return it.it_value.tv_sec * 1000 * MS + it.it_value.tv_nsec;
}

static void drop(struct tm_ t)
{
	CHECK_SYS(t.raw ? (int)syscall(SYS_timer_delete, t.nr) : timer_delete(t.t));
}

static void wait_fired(int n)
{
	while (fired < n)
		usleep(1000);
}

static void timers(struct other *o, enum notice how, bool raw)
{
	struct itimerspec old;
	struct tm_ t;

	o->computes = 0;
	while (!o->idle)
		usleep(1000);
	fired = 0;
	t = make(o->clock, how, raw);
	CHECK_EQ(left(t), 0);
	CHECK_EQ(set(t, 0, -1, 0, NULL), -1);
	CHECK_SYS(set(t, 0, 200 * MS, 0, NULL));
	CHECK(left(t) > 100 * MS && left(t) <= 200 * MS);
	for (int i = 0; i < 5; i++)
		let_others_block();
	CHECK_EQ(fired, 0); /* it sleeps */
	CHECK_SYS(set(t, 0, 30 * MS, 0, &old));
	CHECK(old.it_value.tv_nsec > 50 * MS);
	long long before = read_it(o->clock, raw);
	o->computes = 1;
	wait_fired(1);
	CHECK(read_it(o->clock, raw) - before >= 29 * MS);
	if (how == THREAD_ID)
		CHECK(pthread_equal(by, pthread_self()));
	CHECK_EQ(left(t), 0);
	CHECK_SYS(set(t, TIMER_ABSTIME, read_it(o->clock, raw) + 30 * MS, 0, NULL));
	CHECK(left(t) <= 30 * MS);
	wait_fired(2);
	CHECK_SYS(set(t, TIMER_ABSTIME, 1, 0, NULL)); /* long ago */
	wait_fired(3);
	CHECK_SYS(set(t, 0, 20 * MS, 20 * MS, NULL));
	wait_fired(6);
	CHECK_SYS(set(t, 0, 0, 0, &old));
	CHECK_EQ(old.it_interval.tv_nsec, 20 * MS);
	CHECK_EQ(left(t), 0);
	drop(t);
}

/* What its thread has used before must not count, whichever kernel thread it was on. */
static void *own(void *arg)
{
	struct tm_ t = make(CLOCK_THREAD_CPUTIME_ID, THREAD_ID, false);
	long long at = read_it(CLOCK_THREAD_CPUTIME_ID, false) + 30 * MS;

	fired = 0;
	CHECK_SYS(set(t, TIMER_ABSTIME, at, 0, NULL));
	while (!fired)
		read_it(CLOCK_THREAD_CPUTIME_ID, false);
	CHECK(read_it(CLOCK_THREAD_CPUTIME_ID, false) >= at - MS); /* sums of several clocks may differ a little */
	drop(t);
	return NULL;
}

int main(void)
{
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct other o;

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	for (int by_hand = 0; by_hand < 2; by_hand++) {
		start(&o, by_hand);
		o.computes = 1;
		reads(o.clock, false);
		reads(o.clock, true);
		passed("read, and slept on, %s", by_hand ? "by hand" : "by libc's number");
		for (int how = 0; how < NOTICES; how++)
			for (int raw = 0; raw < 2; raw++)
				if (how != THREAD || !raw) {
					timers(&o, how, raw);
					passed("a timer, %s%s", notices[how], raw ? ", by number" : "");
				}
		finish(&o);
	}
	for (int i = 0; i < 3; i++)
		join(spawn(own, NULL));
	passed("an absolute time of one's own");
	return 0;
}
