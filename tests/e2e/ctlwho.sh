#!/usr/bin/env bash
# ctlwho: every verb of weftctl with a process that has closed its descriptors, that is in another root and another
# user's, and with those that it must refuse: another user's, another build's, one without weft, one that has ended.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

cat >"$tmp/waits.c" <<'X'
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
volatile long sum;

static void *computes(void *arg)
{
	for (;;)
		sum++;
	return arg;
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&m);
	pthread_mutex_unlock(&m);
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int pid = getpid();
	pthread_t t;
	char c;

	pthread_mutex_lock(&m);
	if (!strcmp(how, "closed"))
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	if (pthread_create(&t, NULL, waits, NULL) || pthread_create(&t, NULL, computes, NULL))
		return 1;
	if (!strcmp(how, "root") &&
	    (chroot(argv[2]) || chdir("/") || setgroups(0, NULL) || setresgid(65534, 65534, 65534) ||
	     setresuid(65534, 65534, 65534)))
		return 2;
	printf("%d\n", pid);
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
X
"${CC:-gcc}" -g -O1 -pthread -o "$tmp/waits" "$tmp/waits.c" || exit 2
mkdir "$tmp/empty"
chmod 755 "$tmp"


over()
{
	kill -9 "$pid"
	pid=
}

verbs=(dump "profile --threads -o $tmp/out/p" "profile --cpu 200ms -o $tmp/out/p" "profile --block 200ms -o $tmp/out/p"
	"stat" "trace 200ms -o $tmp/out/t" "set" "top")

ask()	# ask VERB ID [PREFIX...]: status and what it said, joined
{
	local verb=${1%% *} rest=() id=$2
	[ "$verb" = "$1" ] || read -ra rest <<<"${1#* }"
	shift 2
	case $verb in
	stat) rest=(50ms 1) ;;
	set) rest=(slice=4ms) ;;
	esac
	rm -rf "$tmp/out"
	mkdir -m 777 "$tmp/out"
	timeout 60 "$@" "$weftctl" "$verb" "$id" "${rest[@]}" >"$tmp/said" 2>&1 </dev/null
	echo "$? $(tr '\n' ' ' <"$tmp/said")"
}

answers()	# answers NAME: each verb with the process
{
	local v
	for v in "${verbs[@]}"; do
		[ "$v" = top ] || matches "$1: $v" '^0 ' "$(ask "$v" "$pid")"
	done
	matches "$1: dump knows the program" "waits|waiting, mutex lock" "$(ask dump "$pid")"
	kill -0 "$pid"
	verdict $? "$1: it goes on"
}

refused()	# refused NAME PATTERN ID [PREFIX...]: each verb, in one line
{
	local name=$1 pattern=$2 id=$3 v
	shift 3
	for v in "${verbs[@]}"; do
		matches "$name: $v" "^1 weftctl: (top: [^:]*no terminal.*|$id: $pattern) $" "$(ask "$v" "$id" "$@")"
		matches "$name: $v: in one line, and no file" "^1 0$" "$(wc -l <"$tmp/said") $(find "$tmp/out" -type f | wc -l)"
	done
}

start "$weft" --procs=2 -- "$tmp/waits" closed
pid=$at
answers "descriptors closed"
over

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	start "$weft" --procs=2 -- "$tmp/waits" root "$tmp/empty"
	pid=$at
	answers "another root and user"
	over
	cp "$weftctl" "$tmp/weftctl"
	weftctl=$tmp/weftctl
	start "$weft" --procs=2 -- "$tmp/waits"
	pid=$at
	refused "not another user's" "is user 0's \\(only that user and root may look\\)" "$pid" setpriv --reuid=65534 --regid=65534 --clear-groups
	over
	weftctl=$build/weftctl
fi

# A name in the table of the library is another: what another build would have.
mkdir "$tmp/other"
sed 's/sched_runqsize/sched_runqsizf/' "$build/libweft.so" >"$tmp/other/libweft.so"
cp "$build/weft" "$tmp/other/"
start "$tmp/other/weft" --procs=2 -- "$tmp/waits"
pid=$at
refused "another build" "runs under another build of weft, [0-9.]* \\(this weftctl is of [0-9.]*\\)" "$pid"
over

start "$tmp/waits"
pid=$at
refused "not under weft" ".*not.* under weft.*" "$pid"
gone=$pid
over
for _ in $(seq 100); do
	kill -0 "$gone" 2>/dev/null || break
	sleep 0.1
done
refused "ended" "no such process.*" "$gone"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
