#!/usr/bin/env bash
# neighbours: weft beside other preloaded libraries, and beside processes with and without it.
#
# The same programs, with jemalloc, tcmalloc and faketime preloaded as well (before and after weft, where they
# are installed), in pipelines of weft'ed programs, and with children=0, where what a program starts runs
# without weft.

. "$(dirname "$0")/lib.sh"
limit=40

# ---- other libraries ----

# name: says whether weft schedules it.  filter: lines in, the same lines out, by a pool of threads.
cat >"$tmp/tool.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, QUEUE = 16 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *queue[QUEUE];
static long in, out, printed, ended;

static void *worker(void *arg)
{
	pthread_mutex_lock(&mu);
	for (;;) {
		char *line;
		long n;

		while (out == in && !ended)
			pthread_cond_wait(&changed, &mu);
		if (out == in)
			break;
		n = out++;
		line = strdup(queue[n % QUEUE]);
		free(queue[n % QUEUE]);
		pthread_cond_broadcast(&changed);
		while (printed != n)
			pthread_cond_wait(&changed, &mu);
		pthread_mutex_unlock(&mu);
		fputs(line, stdout);
		free(line);
		pthread_mutex_lock(&mu);
		printed++;
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&mu);
	return arg;
}

static int filter(void)
{
	pthread_t t[THREADS];
	char *line = NULL;
	size_t room = 0;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, worker, NULL))
			return 2;
	while (getline(&line, &room, stdin) > 0) {
		pthread_mutex_lock(&mu);
		while (in - printed >= QUEUE)
			pthread_cond_wait(&changed, &mu);
		queue[in++ % QUEUE] = strdup(line);
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mu);
	}
	pthread_mutex_lock(&mu);
	ended = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mu);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	free(line);
	return fflush(stdout) ? 3 : 0;
}

/* On plain pthreads two threads have two kernel ids; a G's is above all of those. */
static void *kernel_id(void *arg)
{
	*(long *)arg = gettid();
	return arg;
}

static const char *scheduler(void)
{
	static long id;
	pthread_t t;

	if (pthread_create(&t, NULL, kernel_id, &id))
		return "nobody";
	pthread_join(t, NULL);
	return id >= 0x10000000 ? "weft" : "libc";
}

static void *allocates(void *arg)
{
	void *p[100] = {0};
	unsigned x = (unsigned)(long)arg * 7919 + 1;

	for (int i = 0; i < 3000; i++) {
		unsigned k = (x = x * 1103515245 + 12345) / 65536 % 100;

		free(p[k]);
		p[k] = malloc(x % 5000 + 1);
		if (!p[k])
			_exit(4);
		memset(p[k], 1, 1);
		if (i % 100 == 0)
			usleep(100);
	}
	for (int i = 0; i < 100; i++)
		free(p[i]);
	return arg;
}

static double kernel_ms(void)
{
	struct timespec ts;

	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void in_ms(clockid_t clock, long ms, struct timespec *ts)
{
	clock_gettime(clock, ts);
	ts->tv_nsec += ms * 1000000;
	if (ts->tv_nsec >= 1000000000)
		ts->tv_sec++, ts->tv_nsec -= 1000000000;
}

/* Each wait until a time that the program's clock will show lasts as long as it should: 30 ms. */
static void *waits(void *arg)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec ts;
	long wrong = 0;
	double start;
	sem_t never;

	sem_init(&never, 0, 0);
	for (int kind = 0; kind < 4; kind++) {
		start = kernel_ms();
		in_ms(kind == 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME, 30, &ts);
		if (kind == 0)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		else if (kind == 1)
			clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL);
		else if (kind == 2)
			sem_timedwait(&never, &ts);
		else {
			pthread_mutex_lock(&m);
			while (pthread_cond_timedwait(&c, &m, &ts) == 0)
				;
			pthread_mutex_unlock(&m);
		}
		if (kernel_ms() - start < 30)
			wrong |= 1 << kind;
	}
	return arg ? (void *)wrong : NULL;
}

/* Threads allocate, sleep, fork; with `year` it also says which year it is, and waits until times. */
static int work(int year)
{
	time_t now = time(NULL);
	pthread_t t[40];
	struct timespec ts;
	int status;
	sem_t never;
	pid_t pid;

	for (int round = 0; round < 2; round++) {
		for (long i = 0; i < 40; i++)
			if (pthread_create(&t[i], NULL, allocates, (void *)i))
				return 2;
		for (int i = 0; i < 40; i++)
			pthread_join(t[i], NULL);
		if (round == 0 && year) {
			pid = fork();
			if (pid == 0)
				_exit(work(0) + 7); /* 0: threads alone */
			if (waitpid(pid, &status, 0) != pid || status != 7 << 8)
				return 3;
		}
		if (!year)
			return 0;
	}
	sem_init(&never, 0, 0);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 5000000;
	if (ts.tv_nsec >= 1000000000)
		ts.tv_sec++, ts.tv_nsec -= 1000000000;
	if (sem_timedwait(&never, &ts) == 0)
		return 5;
	if (year > 1) {
		void *wrong;

		if (pthread_create(&t[0], NULL, waits, &never) || pthread_join(t[0], &wrong) || wrong)
			return 6;
	}
	printf("%d %s\n", year > 1 ? gmtime(&now)->tm_year + 1900 : 0, scheduler());
	return 0;
}

int main(int argc, char **argv)
{
	if (!strcmp(argv[1], "filter"))
		return filter();
	if (!strcmp(argv[1], "work"))
		return work(1 + (argc > 2));
	printf("%s\n", scheduler());
	fflush(stdout);
	if (argc > 2)
		execvp(argv[2], argv + 2);
	return 0;
}
C
${CC:-cc} -O2 -pthread -o "$tmp/tool" "$tmp/tool.c" || exit 2

# Where ld.so finds a library by this name; nothing when it is not installed.
library()
{
	local path
	for path in /usr/lib/*-linux-gnu/$1 /usr/lib/*-linux-gnu/*/$1 /usr/lib/$1 /usr/lib64/$1; do
		[ -e "$path" ] && { echo "$path"; return; }
	done
}

for p in 1 2 8; do
	for name in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
		lib=$(library $name)
		[ -n "$lib" ] || { echo "# $name is not installed"; continue; }
		got=$(LD_PRELOAD=$lib timeout -k 2 $limit "$weft" --procs=$p -- "$tmp/tool" work 2>&1)
		[ "$got" = "0 weft" ]
		verdict $? "$name after weft, $p Ps" "$got"
		got=$(LD_PRELOAD=$lib:$build/libweft.so WEFT=procs=$p timeout -k 2 $limit "$tmp/tool" work 2>&1)
		[ "$got" = "0 weft" ]
		verdict $? "$name before weft, $p Ps" "$got"
	done
	lib=$(library libfaketimeMT.so.1)
	[ -n "$lib" ] || { echo "# libfaketime is not installed"; continue; }
	for monotonic in 0 1; do
		export FAKETIME="@2001-02-03 04:05:06" DONT_FAKE_MONOTONIC=$monotonic
		got=$(LD_PRELOAD=$lib timeout -k 2 $limit "$weft" --procs=$p -- "$tmp/tool" work year 2>&1)
		[ "$got" = "2001 weft" ]
		verdict $? "faketime after weft, $p Ps, DONT_FAKE_MONOTONIC=$monotonic" "$got"
		unset FAKETIME DONT_FAKE_MONOTONIC
	done
done

# ---- children ----

says()	# says NAME WANTED COMMAND...
{
	local name=$1 want=$2 got
	shift 2
	got=$(timeout -k 2 $limit "$@" 2>&1 | tr '\n' ' ')
	[ "$got" = "$want " ]
	verdict $? "$name" "$got"
}

tool=$tmp/tool
says "a child is weft'ed" "weft weft" "$weft" -- "$tool" name "$tool" name
says "children=1" "weft weft" "$weft" -o children=1 -- "$tool" name "$tool" name
says "children=0" "weft libc" "$weft" -o children=0 -- "$tool" name "$tool" name
says "children=0 through a shell" "libc" "$weft" -o children=0 -- sh -c "$tool name"
says "children=0, and weft again" "weft weft libc" \
	"$weft" -o children=0 -- "$tool" name "$weft" -- "$tool" name "$tool" name
for name in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
	lib=$(library $name)
	[ -n "$lib" ] || continue
	for list in "$lib:$build/libweft.so" "$build/libweft.so:$lib" "$build/libweft.so $lib" "$lib::$build/libweft.so:"; do
		got=$(LD_PRELOAD=$list WEFT=children=0 sh -c 'echo "$LD_PRELOAD"')
		[ "$got" = "$lib" ]
		verdict $? "children=0 leaves the rest of \"$(sed "s#[^ :]*/##g" <<<"$list")\"" "$got"
	done
done
got=$(LD_PRELOAD=$build/libweft.so WEFT=children=0 sh -c 'env | grep -c LD_PRELOAD')
[ "$got" = 0 ]
verdict $? "children=0 leaves no empty LD_PRELOAD" "$got"

# ---- pipelines ----

seq 1 20000 >"$tmp/lines"
for p in 1 2 8; do
	f="$weft --procs=$p -- $tool filter"
	# shellcheck disable=SC2086 # words
	timeout -k 2 $limit $f <"$tmp/lines" | timeout -k 2 $limit $f | timeout -k 2 $limit "$tool" filter | timeout -k 2 $limit $f |
		cmp -s - "$tmp/lines"
	verdict $? "a pipeline with and without weft, $p Ps"
	timeout -k 2 $limit "$weft" --procs=$p -- sh -c "\"$tool\" filter <\"$tmp/lines\" | \"$tool\" filter | \"$tool\" filter" |
		cmp -s - "$tmp/lines"
	verdict $? "a pipeline below one weft, $p Ps"
done

# ---- a Python that starts processes and threads in each other ----

if command -v python3 >/dev/null; then
	cat >"$tmp/both.py" <<'P'
import multiprocessing, threading, queue, sys, time
# What multiprocessing would import in two threads at once: python before 3.9.3 and 3.8.9 takes that for a circular import.
import multiprocessing.forkserver, multiprocessing.pool, multiprocessing.popen_fork, multiprocessing.popen_forkserver
import multiprocessing.popen_spawn_posix, multiprocessing.queues, multiprocessing.resource_tracker, multiprocessing.synchronize

def square(n):
    out = queue.Queue()
    ts = [threading.Thread(target=lambda i=i: out.put(i * n)) for i in range(8)]
    for t in ts: t.start()
    for t in ts: t.join()
    return sum(out.get() for _ in ts)

def one(method, results, lock):
    ctx = multiprocessing.get_context(method)
    with ctx.Pool(3) as pool:
        r = sum(pool.map(square, range(20)))
    q = ctx.Queue()
    ps = [ctx.Process(target=put, args=(q, i)) for i in range(4)]
    for p in ps: p.start()
    r += sum(q.get() for _ in ps)
    for p in ps: p.join()
    # start() in another thread collects everybody's children: between its wait and its note of the result there is none.
    while any(p.exitcode is None for p in ps): time.sleep(0.01)
    # The same in forkserver: who reads the status second finds none, which is 255, natively too.
    good = (0, 255) if method == 'forkserver' else (0,)
    assert all(p.exitcode in good for p in ps), [p.exitcode for p in ps]
    with lock: results.append(r)

def put(q, i):
    q.put(square(i))

if __name__ == '__main__':
    lock, results = threading.Lock(), []
    for method in ('fork', 'spawn', 'forkserver'):
        ts = [threading.Thread(target=one, args=(method, results, lock)) for _ in range(2)]
        for t in ts: t.start()
        for t in ts: t.join()
        print(method, results[-2:])
    sys.stdout.flush()
P
	want=$(timeout -k 2 $limit python3 "$tmp/both.py" 2>&1)
	for p in 1 2 8; do
		got=$(timeout -k 2 $limit "$weft" --procs=$p -- python3 "$tmp/both.py" 2>&1)
		[ "$got" = "$want" ]
		verdict $? "multiprocessing and threading, $p Ps" "$(tail -n 3 <<<"$got")"
	done
else
	echo "# python3 is not installed"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
