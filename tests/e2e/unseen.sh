#!/usr/bin/env bash
# unseen: a thread that blocks in a system call made in line is found whatever the kernel tells of it; where the kernel
# tells too little, weft says so and does not start.

. "$(dirname "$0")/lib.sh"

if [ "$(uname -m)" != x86_64 ]; then
	echo "0 passed, 0 failed"
	exit 77
fi

# Four threads read an empty pipe by a system call that no library sees; main, which feeds it, needs a turn.
cat >"$tmp/inline.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2];

static void *reader(void *arg)
{
	char c;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(SYS_read), "D"(ends[0]), "S"(&c), "d"(1)
			 : "rcx", "r11", "memory");
	return r == 1 ? NULL : arg;
}

int main(void)
{
	pthread_t t[4];
	void *r;
	int bad = 0;

	if (pipe(ends))
		return 2;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reader, t);
	for (int i = 0; i < 50; i++)
		usleep(2000);
	if (write(ends[1], "abcd", 4) != 4)
		return 2;
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &r);
		bad += r != NULL;
	}
	printf("%d not read\n", bad);
	return bad;
}
X
${CC:-cc} -O2 -pthread -o "$tmp/inline" "$tmp/inline.c" || exit 2

for procs in 1 2; do
	for without in "" proc membarrier membarrier+proc cpuclock; do
		timeout 60 "$weft" --procs=$procs ${without:+-o without=$without} -- "$tmp/inline" >"$tmp/out" 2>"$tmp/err"
		status=$?
		[ $status -eq 0 ] && grep -q '^0 not read' "$tmp/out" && [ ! -s "$tmp/err" ]
		verdict $? "system calls in line, procs=$procs${without:+, without $without}" "status $status $(head -n 1 "$tmp/err")"
	done
	for without in membarrier+cpuclock proc+cpuclock; do
		timeout 60 "$weft" --procs=$procs -o without=$without -- "$tmp/inline" >"$tmp/out" 2>"$tmp/err"
		status=$?
		[ $status -eq 0 ] && grep -q '^0 not read' "$tmp/out" &&
			[ "$(grep -c '^weft.*: start: .*(running with plain pthreads)$' "$tmp/err")" = 1 ]
		verdict $? "one line and plain threads, procs=$procs, without $without" "status $status $(head -n 1 "$tmp/err")"
	done
done

# A thread that computes after a call in line, in which it lost its P, has one again, though all others wait.
cat >"$tmp/late.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long sum;

static void *computes(void *arg)
{
	struct timespec t = {0, 300000000};
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "0"(SYS_nanosleep), "D"(&t), "S"(0) : "rcx", "r11", "memory");
	for (;;)
		sum++;
	return arg;
}

int main(void)
{
	pthread_t t;
	char c;

	if (pthread_create(&t, NULL, computes, NULL))
		return 2;
	printf("%d\n", getpid());
	fflush(stdout);
	return read(0, &c, 1) < 0;
}
X
${CC:-cc} -O1 -pthread -o "$tmp/late" "$tmp/late.c" || exit 2
for without in "" proc; do
	start "$weft" --procs=2 ${without:+-o without=$without} -- "$tmp/late"
	sleep 0.6
	for _ in $(seq 200); do
		said=$("$build/weftctl" dump "$at" | head -n 1)
		[[ $said == *"(1 idle)"* ]] && break
		sleep 0.1
	done
	[[ $said == *"(1 idle)"* ]]
	verdict $? "one that computes after a call in line has a P${without:+, without $without}" "$said"
	kill -9 "$at"
done

# The report of where threads blocked is as complete.
timeout 60 "$weft" --procs=1 -o pinreport,without=membarrier -- "$tmp/inline" >"$tmp/out" 2>"$tmp/err"
grep -q 'read' "$tmp/err"
verdict $? "pinreport names the call, without membarrier" "$(head -n 3 "$tmp/err" | tr '\n' ' ')"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
