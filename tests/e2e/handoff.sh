#!/usr/bin/env bash
# handoff: Ms that block unseen give their P away and get it back, the report of where they did, and an idle
# process that does nothing at all.

. "$(dirname "$0")/lib.sh"

if [ "$(uname -m)" != x86_64 ]; then
	echo "0 passed, 0 failed"
	exit 77
fi
${CC:-cc} -O2 -pthread -o "$tmp/unseen" "$top/tests/stress/unseen.c" || exit 2

# ---- no P is lost -------------------------------------------------------------------------------------

# The stress ends with a second and a half in which main alone is alive, and sleeps.  A P that is lost is lost in
# each line of then; in one of them an M may be about to go idle, on a busy machine for long.
for procs in 1 2 8; do
	for chaos in 0 11; do
		timeout 120 "$weft" --procs=$procs -o chaos=$chaos -o schedtrace=250 -- \
			"$tmp/unseen" 3 12 150 >"$tmp/out" 2>"$tmp/err"
		status=$?
		last=$(grep '^SCHED' "$tmp/err" | tail -n 4)
		[ $status -eq 0 ] && grep -q '^ok 12 threads' "$tmp/out" &&
			[[ $last == *"gomaxprocs=$procs idleprocs=$procs "* ]]
		verdict $? "every P is idle again after short unseen blocks, procs=$procs chaos=$chaos" \
			"status $status, $last"
	done
done

# ---- a G that computes without a P -----------------------------------------------------------------------

# One is woken from an unseen block and computes without any call; the other yields all the time, until it had to wait
# for a slice: on one P the two must take turns.  How long one computes until then is the machine's affair.
cat >"$tmp/back.c" <<'X'
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static unsigned word;
static atomic_int away, waited;

static long futex(int op, unsigned v)
{
	register long r10 __asm__("r10") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(SYS_futex), "D"(&word), "S"(op), "d"(v), "r"(r10)
			 : "rcx", "r11", "memory");
	return r;
}

static long ms(clockid_t c)
{
	struct timespec ts;

	clock_gettime(c, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void *compute(void *arg)
{
	away = 1;
	while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == 0)
		futex(FUTEX_WAIT_PRIVATE, 0);
	while (!waited)
		;
	return arg;
}

int main(void)
{
	struct timespec nap = { 0, 50000000 };
	long gap = 0, begin, last, end;
	pthread_t t;

	pthread_create(&t, NULL, compute, NULL);
	while (!away)
		sched_yield();
	nanosleep(&nap, NULL);
	__atomic_store_n(&word, 1, __ATOMIC_RELEASE);
	futex(FUTEX_WAKE_PRIVATE, 1);
	begin = last = ms(CLOCK_MONOTONIC);
	while (gap < 90 && last - begin < 20000) {
		sched_yield();
		end = ms(CLOCK_MONOTONIC);
		gap = end - last > gap ? end - last : gap;
		last = end;
	}
	waited = 1;
	pthread_join(t, NULL);
	printf("%ld\n", gap);
	return 0;
}
X
${CC:-cc} -O2 -pthread -o "$tmp/back" "$tmp/back.c" || exit 2
timeout 60 "$weft" --procs=1 -o slice=100ms -- "$tmp/back" >"$tmp/out" 2>"$tmp/err"
gap=$(cat "$tmp/out")
[ "${gap:-0}" -ge 90 ]
verdict $? "who computes without a P is called back and gets a slice like others" "waited ${gap:-for ever} ms"

# ---- the report --------------------------------------------------------------------------------------------

timeout 60 "$weft" --procs=2 -o blockreport=1 -- "$tmp/unseen" 5 8 60 >"$tmp/out" 2>"$tmp/err"
grep -Eq '^weft\[[0-9]+\]: blockreport: [1-9][0-9]* times a thread blocked unseen, ' "$tmp/err" &&
	grep -Eq 'blockreport: +[1-9][0-9]* times, .* at most: (futex|nanosleep) at unseen\+0x' "$tmp/err"
verdict $? "the report names the call and the place" "$(head -n 3 "$tmp/err")"
timeout 60 "$weft" --procs=2 -- "$tmp/unseen" 5 2 5 >"$tmp/out" 2>"$tmp/err"
[ ! -s "$tmp/err" ]
verdict $? "no report without the option" "$(head -n 1 "$tmp/err")"

timeout 60 "$weft" --procs=2 -o pinreport=1 -- "$tmp/unseen" 5 8 60 >"$tmp/out" 2>"$tmp/err"
[ "$(grep -c ': WEFT: pinreport: is called blockreport now ' "$tmp/err")" = 1 ] && grep -q ': blockreport: [1-9]' "$tmp/err"
verdict $? "the option's old name brings it too, and one line says the new one" "$(head -n 2 "$tmp/err")"

# ---- idle ------------------------------------------------------------------------------------------------------

cat >"$tmp/idle.c" <<'X'
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int fds[2];

static void *waits(void *arg)
{
	for (int i = 0; i < 20; i++) {
		usleep(500);
		sched_yield();
	}
	pthread_mutex_lock(&mu);
	for (;;)
		pthread_cond_wait(&never, &mu);
	return arg;
}

static void *sleeps(void *arg)
{
	sleep(100000);
	return arg;
}

static void *reads(void *arg)
{
	char c;

	return read(fds[0], &c, 1) < 0 ? arg : NULL;
}

/* Unseen. */
static void *reads_raw(void *arg)
{
	long r;
	char c;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(SYS_read), "D"(fds[0]), "S"(&c), "d"(1)
			 : "rcx", "r11", "memory");
	return arg;
}

static void *polls(void *arg)
{
	struct pollfd p = { fds[0], POLLIN, 0 };

	poll(&p, 1, -1);
	return arg;
}

int main(void)
{
	static void *(*const kind[])(void *) = { waits, sleeps, reads, polls, waits };
	pthread_t t;

	if (pipe(fds))
		return 1;
	for (int i = 0; i < 100; i++)
		pthread_create(&t, NULL, kind[i % 5], NULL);
	pthread_create(&t, NULL, reads_raw, NULL);
	puts("ready");
	fflush(stdout);
	sleeps(NULL);
	return 0;
}
X
${CC:-cc} -O2 -pthread -o "$tmp/idle" "$tmp/idle.c" || exit 2

switches()	# of all kernel threads of $pid, and their CPU ticks
{
	cat /proc/"$pid"/task/*/status | awk '/ctxt_switches/ { n += $2 } END { printf "%d switches, ", n }'
	cat /proc/"$pid"/task/*/stat | awk '{ sub(/.*\) /, ""); n += $12 + $13 } END { print n " ticks" }'
}

# It may take a while until the process is at rest (Ms that are not needed leave ten seconds after their last
# work); then a period of nothing must come.
for procs in 1 2 8; do
	"$weft" --procs=$procs -- "$tmp/idle" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	before= after=x
	for ((i = 0; i < 20; i++)); do
		sleep 3
		after=$(switches)
		[ "$before" != "$after" ] || break
		before=$after
	done
	[ -s "$tmp/out" ] && [ "$before" = "$after" ] && kill -0 $pid
	verdict $? "an idle process of 102 threads does not switch once in three seconds, procs=$procs" "$before, $after"
	kill -9 $pid
	wait $pid 2>/dev/null
	pid=
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
