#!/usr/bin/env bash
# gdb: what its commands for threads under weft say of a live process, of a core file, of very many threads.

. "$(dirname "$0")/lib.sh"
gdb -batch -ex 'python print(1)' 2>/dev/null | grep -qx 1 || {
	echo "no gdb with Python"
	exit 77
}

cat >"$tmp/shop.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static int sv[2];
volatile long sum;

__attribute__((noinline)) static void takes_stock(int mine)
{
	pthread_mutex_lock(&stock);
	sum += mine;
	pthread_mutex_unlock(&stock);
}

static void *wants(void *arg)
{
	takes_stock((int)(long)arg + 1000);
	return arg;
}

static void *reads(void *arg)
{
	char c;

	return read(sv[0], &c, 1) < 0 ? arg : NULL;
}

__attribute__((noinline)) static void crunches(void)
{
	for (;;)
		sum++;
}

static void *computes(void *arg)
{
	crunches();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
	pthread_mutex_lock(&stock);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t, &attr, wants, (void *)i))
			return 1;
	pthread_create(&t, NULL, reads, NULL);
	pthread_create(&t, NULL, computes, NULL);
	usleep(200000);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pause();
	return 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/shop" "$tmp/shop.c" || exit 2


asks()	# asks WHAT COMMAND...: gdb of WHAT (-p ID, or a core file), each command; its answers in $tmp/answer, its errors too
{
	local what=$1 args=()
	shift
	for c in "$@"; do args+=(-ex "$c"); done
	# shellcheck disable=SC2086
	timeout 240 gdb -q -nx -batch -iex 'set debuginfod enabled off' -iex "add-auto-load-safe-path $build" -iex 'set width 0' \
		$what "${args[@]}" >"$tmp/answer" 2>&1 </dev/null
}

line()	# line PATTERN: the lines of the answer with it, joined
{
	grep -E -- "$1" "$tmp/answer" | tr '\n' ' '
}

looks()	# looks NAME WHAT: of a process or core file with three that want the stock
{
	asks "$2" 'info weft threads' 'echo thread:\n' 'weft thread 3' 'bt' 'up' 'weft thread off' 'echo over:\n' 'bt 1'
	matches "$1: all" "6 threads: " "$(line '^[0-9]* threads:')"
	matches "$1: a mutex" "^G[0-9]+ +shop +waiting, mutex lock, 0x" "$(line 'mutex lock, 0x')"
	matches "$1: a socket" "waiting, IO wait" "$(line 'IO wait')"
	matches "$1: one's stack, with its arguments" "takes_stock \(mine=.*\) at .*wants \(arg=0x1\) at " \
		"$(sed -n '/^thread:/,/^over:/p' "$tmp/answer" | grep -E '^#' | tr '\n' ' ')"
	matches "$1: the kernel thread's again" "^$" "$(sed -n '/^over:/,$p' "$tmp/answer" | grep takes_stock)"
	asks "$2" 'weft apply all bt' 'weft apply 2 G4 bt' 'weft apply -max 2 all bt'
	matches "$1: apply all: each that waits" "^6$" "$(grep -c '^#.*takes_stock' "$tmp/answer")"
	matches "$1: apply all: one that computes" "crunches \(\)" "$(line '^#.*crunches')"
	matches "$1: apply all: one that reads" "reads \(" "$(line '^#.*reads ')"
	matches "$1: apply all: main" "main \(argc" "$(line '^#.* main ')"
	matches "$1: -max" "and 4 more" "$(line '^and 4 more')"
	asks "$2" 'weft thread 99999'
	matches "$1: none of that number" "weft: no thread G99999 \(info weft threads lists them\)" "$(cat "$tmp/answer")"
	asks "$2" 'weft apply word bt'
	matches "$1: no number" "weft apply \[-max N\]" "$(cat "$tmp/answer")"
}

cd "$tmp" || exit 2
ulimit -c unlimited
for p in 1 2; do
	start "$weft" --procs=$p -- "$tmp/shop" 3
	pid=$at
	looks "procs=$p: live" "-p $pid"
	kill -ABRT "$pid"
	for _ in $(seq 300); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	pid=
	core=$(find . -maxdepth 1 -name 'core*')
	if [ -n "$core" ]; then
		looks "procs=$p: core" "$tmp/shop $core"
	else
		echo "# no core files in the current directory here (see /proc/sys/kernel/core_pattern)"
	fi
	rm -f core*
	# gdb's own copies a megabyte at a time, and none of one with a page that it cannot read (launcher/weft.1.in).
	start "$weft" --procs=$p -o without=guard -- "$tmp/shop" 3
	pid=$at
	gcore -o core "$pid" >/dev/null 2>&1
	kill -9 "$pid"
	looks "procs=$p: gcore" "$tmp/shop core.$pid"
	rm -f core*
	pid=
done

# A library without symbols says as much: its table is found by its own mark.
mkdir "$tmp/bare"
strip -o "$tmp/bare/libweft.so" "$build/libweft.so"
cp "$build/weft" "$tmp/bare/"
start "$tmp/bare/weft" --procs=2 -- "$tmp/shop" 3
pid=$at
asks "-p $pid" "source $build/libweft.so-gdb.py" 'info weft threads' 'weft apply all bt'
matches "stripped" "6 threads: .* takes_stock" "$(line '^[0-9]* threads:|takes_stock')"
kill -9 "$pid"
pid=

start "$weft" --procs=2 -- "$tmp/shop" 100000
pid=$at
asks "-p $pid" 'info weft threads' 'weft thread 77777' 'bt' 'weft apply -max 20 all bt'
matches "100,000 threads" "^[0-9]+ more.*100003 threads: 100000 waiting, mutex lock; " \
	"$(line '^and [0-9]* more|^[0-9]* threads:' | sed 's/^and //')"
matches "100,000 threads: any of them" "wants \(arg=0x1[0-9a-f]{4}\)" "$(line '^#.*wants')"
kill -9 "$pid"
pid=

sleep 600 &
pid=$!
asks "-p $pid" "source $build/libweft.so-gdb.py" 'info weft threads'
matches "a process that is not under weft" "weft: this process does not run under weft" "$(cat "$tmp/answer")"
kill "$pid"
pid=

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
