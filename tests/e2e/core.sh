#!/usr/bin/env bash
# core: a program that crashes in one of its threads ends by the same signal as natively, and its core file shows
# where: the functions of the thread at fault are on the stack that a debugger shows first.

. "$(dirname "$0")/lib.sh"

cat >"$tmp/crash.c" <<'X'
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int *nowhere;
static volatile int zero;
static const char *how;

__attribute__((noinline)) void at_fault(int depth)
{
	if (depth)
		at_fault(depth - 1);
	else if (!strcmp(how, "write"))
		*nowhere = 1;
	else if (!strcmp(how, "divide"))
		zero = (zero + 7) / zero;
	else
		abort();
	__asm__ volatile("");
}

static void *crashes(void *arg)
{
	usleep(20000);
	at_fault(3);
	return arg;
}

/* Some wait, some compute: the one at fault has moved. */
static void *other(void *arg)
{
	while (!arg)
		usleep(500);
	for (volatile int i = 0;; i++)
		if (i % 100000 == 0)
			usleep(1);
	return NULL;
}

/* As a program that tells what happened, and lets it happen. */
static void again(int sig)
{
	signal(sig, SIG_DFL);
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argc;
	how = argv[1];
	if (argv[2])
		signal(SIGSEGV, again);
	for (long i = 0; i < 8; i++)
		pthread_create(&t, NULL, other, (void *)(i % 2));
	pthread_create(&t, NULL, crashes, NULL);
	pthread_join(t, NULL);
	return 0;
}
X
${CC:-cc} -g -O1 -pthread -o "$tmp/crash" "$tmp/crash.c" || exit 2

# Its own directory, for a file named core there; a machine may do something else with it.
run()	# run COMMAND...: the status of a crash, and $core is its file if there is one
{
	rm -rf "$tmp/in" && mkdir "$tmp/in"
	{
		(cd "$tmp/in" && ulimit -c unlimited && exec timeout --foreground -k 5 60 "$@") >"$tmp/out" 2>&1
		status=$?
	} 2>/dev/null # the shell's own word on it
	core=$(find "$tmp/in" -type f -name 'core*')
}

shows()	# shows CORE: the frames of at_fault, four deep, and who called it
{
	gdb -batch -ex bt "$tmp/crash" "$1" >"$tmp/bt" 2>&1
	# The first frame is printed twice: when the file is opened, too.
	sed -n 's/^\(#[0-9]*\) *\(0x[0-9a-f]* in \)\?\([a-z_]*\) (.*/\1 \3/p' "$tmp/bt" | sort -u -k 1.2n |
		awk '{ print $2 }' | grep -A 4 -m 1 at_fault | tr '\n' ' ' >"$tmp/calls"
	[ "$(cat "$tmp/calls")" = "at_fault at_fault at_fault at_fault crashes " ]
}

for how in write divide abort "write handled"; do
	# shellcheck disable=SC2086 # words
	run "$tmp/crash" $how
	native=$status kept=$core
	for procs in 1 2; do
		# shellcheck disable=SC2086
		run "$weft" --procs=$procs -- "$tmp/crash" $how
		[ "$status" = "$native" ] && [ "$status" -gt 128 ]
		verdict $? "$how, procs=$procs: ends as natively" "status $status, natively $native"
		[ -n "$kept" ] || continue
		[ -n "$core" ] && shows "$core"
		verdict $? "$how, procs=$procs: the core file shows where" "$(grep -m 3 '^#' "$tmp/bt")"
	done
done
[ -n "$kept" ] || echo "# no core files in the current directory here (see /proc/sys/kernel/core_pattern)"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
