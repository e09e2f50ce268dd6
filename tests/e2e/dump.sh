#!/usr/bin/env bash
# dump: what the dump signal prints of programs that are stuck, and whether schedtrace's lines are Go's.

. "$(dirname "$0")/lib.sh"

# Two threads that hold one mutex each and want the other's; main joins the first; one reads a pipe,
# one opens a named one.  With
# `spin` one computes, with `block` all of them let no signal in.  Prints the addresses.
cat >"$tmp/stuck.c" <<'X'
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both, ready;
static sem_t sem;
static volatile int turns;

static void name(const char *s)
{
	pthread_setname_np(pthread_self(), s);
}

__attribute__((noinline)) void take_second(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	turns++;
}

static void *left(void *arg)
{
	name("left");
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	take_second(&b);
	return NULL;
}

static void *right(void *arg)
{
	name("right");
	pthread_mutex_lock(&b);
	pthread_rwlock_wrlock(&rw);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&ready);
	take_second(&a);
	return NULL;
}

static void *reader(void *arg)
{
	char c;

	name("reader");
	return (void *)read(*(int *)arg, &c, 1);
}

static void *opener(void *arg)
{
	char fifo[4096];

	name("opener");
	snprintf(fifo, sizeof fifo, "%s.fifo", (char *)arg);
	return (void *)(long)open(fifo, O_RDONLY);
}

static void *rdlock(void *arg)
{
	name("rdlock");
	pthread_rwlock_rdlock(&rw);
	return NULL;
}

static void *semwait(void *arg)
{
	name("semwait");
	sem_wait(&sem);
	return NULL;
}

__attribute__((noinline)) void spin_for_ever(void)
{
	for (;;)
		turns++;
}

static void *spinner(void *arg)
{
	name("spinner");
	spin_for_ever();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t, u;
	int p[2];

	if (pipe(p))
		return 1;
	if (argc > 1 && !strcmp(argv[1], "block")) {
		sigset_t all;

		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, NULL);
	}
	printf("%p %p %p %p\n", (void *)&a, (void *)&b, (void *)&rw, (void *)&sem);
	fflush(stdout);
	sem_init(&sem, 0, 0);
	pthread_barrier_init(&both, NULL, 2);
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&t, NULL, left, NULL);
	pthread_create(&u, NULL, right, NULL);
	pthread_barrier_wait(&ready);
	pthread_create(&u, NULL, reader, p);
	pthread_create(&u, NULL, opener, argv[0]);
	pthread_create(&u, NULL, rdlock, NULL);
	pthread_create(&u, NULL, semwait, NULL);
	if (argc > 1 && !strcmp(argv[1], "spin"))
		pthread_create(&u, NULL, spinner, NULL);
	pthread_join(t, NULL);
	return 0;
}
X
${CC:-cc} -D_GNU_SOURCE -O2 -fomit-frame-pointer -g -pthread -o "$tmp/stuck" "$tmp/stuck.c" || exit 2
mkfifo "$tmp/stuck.fifo" || exit 2

start()	# start [ARG]: the program until it is stuck
{
	"$weft" --procs=2 -o dumpsig=USR1 -- "$tmp/stuck" "$@" >"$tmp/out" 2>"$tmp/err" &
	pid=$!
	sleep 1
}

dump()	# asks for a dump and waits until it is complete
{
	local i before
	before=$(grep -c 'end of dump$' "$tmp/err")
	kill -USR1 "$pid"
	for ((i = 0; i < 200; i++)); do
		[ "$(grep -c 'end of dump$' "$tmp/err")" -gt "$before" ] && return 0
		sleep 0.05
	done
	return 1
}

stop()
{
	kill -9 "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	pid=
}

says()	# says NAME REGEX: some line of the dump is it
{
	grep -Eq "$2" "$tmp/err"
	verdict $? "$1" "no line $2"
}

# A frame of the dump is in the function: addr2line reads the offsets as they are printed.
called_from()	# called_from THREAD FUNCTION
{
	local line
	line=$(grep -E -A 1 "^G[0-9]+ \"$1\"" "$tmp/err" | sed -n 2p)
	grep -o 'stuck+0x[0-9a-f]*' <<<"$line" | sed 's/.*+//' |
		xargs -r addr2line -f -e "$tmp/stuck" | grep -x "$2" >/dev/null
	verdict $? "$mode: $1 was called from $2" "$line"
}

for mode in "" spin block; do
	start ${mode:+"$mode"}
	if ! dump; then
		verdict 1 "${mode:-plain}: a dump comes" "$(tail -n 3 "$tmp/err")"
		stop
		continue
	fi
	read -r a b rw sem <"$tmp/out"
	mode=${mode:-plain}
	verdict 0 "$mode: a dump comes"
	left=$(sed -n 's/^\(G[0-9]*\) "left".*/\1/p' "$tmp/err" | head -n 1)
	right=$(sed -n 's/^\(G[0-9]*\) "right".*/\1/p' "$tmp/err" | head -n 1)
	says "$mode: left waits for b, which right holds" \
		"^$left \"left\" id [0-9]+: waiting, mutex lock: mutex $b, held by $right \"right\""
	says "$mode: right waits for a, which left holds" \
		"^$right \"right\" id [0-9]+: waiting, mutex lock: mutex $a, held by $left \"left\""
	says "$mode: since when" '"left".*, for [0-9]+ ms'
	says "$mode: main joins left" "^G1 \"stuck\" .*waiting, join: $left \"left\""
	says "$mode: the rwlock's writer" "\"rdlock\" .*rwlock read: rwlock $rw, held by $right \"right\""
	says "$mode: the semaphore's value" "\"semwait\" .*semaphore wait: semaphore $sem, which says 0"
	says "$mode: who waits for bytes" '"reader" .*: waiting, IO wait'
	says "$mode: who is in a system call" '"opener" .*: syscall, M[0-9]+ kernel thread [0-9]+'
	if command -v addr2line >/dev/null; then
		called_from left take_second
		called_from left left
		called_from right take_second
		called_from reader reader
		called_from stuck main
		[ "$mode" != spin ] || called_from spinner spin_for_ever
	fi
	dump
	verdict $? "$mode: and once more" "$(tail -n 3 "$tmp/err")"
	kill -0 "$pid"
	verdict $? "$mode: the program lives on"
	stop
done

# Main alone is one kernel thread, the dump thread gone too; a dump comes there, and after a new thread again.
cat >"$tmp/alone.c" <<'X'
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *ends(void *arg)
{
	return arg;
}

static void *stays(void *arg)
{
	pause();
	return arg;
}

static int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += atoi(e->d_name) > 0;
	closedir(d);
	return n;
}

int main(void)
{
	pthread_t t;

	for (int round = 0; round < 2; round++) {
		pthread_create(&t, NULL, ends, NULL);
		pthread_join(t, NULL);
		for (int i = 0; i < 500 && threads() > 1; i++)
			usleep(10000);
		printf("%d\n", threads());
		fflush(stdout);
		getchar();
	}
	pthread_create(&t, NULL, stays, NULL);
	puts("more");
	fflush(stdout);
	getchar();
	return 0;
}
X
${CC:-cc} -O2 -pthread -o "$tmp/alone" "$tmp/alone.c" || exit 2
mkfifo "$tmp/alone.in" || exit 2
# What an earlier program left there would be taken for this one's.
: >"$tmp/out"
: >"$tmp/err"
"$weft" --procs=2 -o dumpsig=USR1 -- "$tmp/alone" <"$tmp/alone.in" >"$tmp/out" 2>"$tmp/err" &
pid=$!
exec 7>"$tmp/alone.in"
for stage in 1 2 3; do
	for ((i = 0; i < 200 && $(wc -l <"$tmp/out") < stage; i++)); do
		sleep 0.05
	done
	dump
	verdict $? "alone, stage $stage: a dump comes" "$(tail -n 3 "$tmp/err")"
	echo >&7
done
wait "$pid"
verdict $? "alone: the program ends as it would"
pid=
exec 7>&-
[ "$(tr '\n' ' ' <"$tmp/out")" = "1 1 more " ]
verdict $? "alone: main is the only kernel thread" "$(cat "$tmp/out")"

# ---- schedtrace ----

# Each line as Go prints it; $1 is the file.
go_lines()
{
	awk '
	function bad(s) { print "not as Go prints it: " $0; n++ }
	/^SCHED / {
		if ($0 !~ /^SCHED [0-9]+ms: gomaxprocs=[0-9]+ idleprocs=[0-9]+ threads=[0-9]+ spinningthreads=[0-9]+ needspinning=[0-9]+ idlethreads=[0-9]+ runqueue=[0-9]+( \[( [0-9]+)+ \] schedticks=\[( [0-9]+)+ \]| gcwaiting=(true|false) nmidlelocked=[0-9]+ stopwait=[0-9]+ sysmonwait=(true|false))$/)
			bad()
		seen["SCHED"]++
		next
	}
	/^  P/ {
		if ($0 !~ /^  P[0-9]+: status=[0-9] schedtick=[0-9]+ syscalltick=[0-9]+ m=([0-9]+|nil) runqsize=[0-9]+ gfreecnt=[0-9]+ timerslen=[0-9]+$/)
			bad()
		seen["P"]++
		next
	}
	/^  M/ {
		if ($0 !~ /^  M[0-9]+: p=([0-9]+|nil) curg=([0-9]+|nil) mallocing=[0-9]+ throwing=[0-9]+ preemptoff= locks=[0-9]+ dying=[0-9]+ spinning=(true|false) blocked=(true|false) lockedg=([0-9]+|nil)$/)
			bad()
		seen["M"]++
		next
	}
	/^  G/ {
		if ($0 !~ /^  G[0-9]+: status=[0-9]\([a-zA-Z ]*\) m=([0-9]+|nil) lockedm=([0-9]+|nil)$/)
			bad()
		seen["G"]++
		next
	}
	{ bad() }
	END {
		split(want, kinds)
		for (i in kinds)
			if (!seen[kinds[i]]) { print "no line of " kinds[i]; n++ }
		exit n > 0
	}' want="$2" "$1"
}

trace()	# trace NAME KINDS OPTION...: two seconds of a program with work, all lines checked
{
	local name=$1 kinds=$2 why
	shift 2
	timeout 20 "$weft" --procs=2 "$@" -- "$tmp/busy" >/dev/null 2>"$tmp/trace"
	why=$(go_lines "$tmp/trace" "$kinds")
	verdict $? "$name" "$why"
}

cat >"$tmp/busy.c" <<'X'
#include <pthread.h>
#include <unistd.h>

static void *work(void *arg)
{
	for (int i = 0; i < 100; i++)
		usleep(10000);
	return NULL;
}

int main(void)
{
	pthread_t t[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
X
${CC:-cc} -O2 -pthread -o "$tmp/busy" "$tmp/busy.c" || exit 2
trace "schedtrace: every line is Go's" SCHED -o schedtrace=100
trace "scheddetail: every line is Go's" "SCHED P M G" -o schedtrace=100 -o scheddetail=1
n=$(grep -c '^SCHED' "$tmp/trace")
[ "$n" -ge 3 ]
verdict $? "it comes again and again" "$n times in a second"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
