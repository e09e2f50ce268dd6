#!/usr/bin/env bash
# api: what the functions of weft.h do in a program under weft, before its first thread, and without weft.

. "$(dirname "$0")/lib.sh"
weftctl=$build/weftctl

cat >"$tmp/api.c" <<'X'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <weft.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;
static volatile int over, same = 1;

static void *works(void *arg)
{
	weft_label((const char *)arg);
	pthread_barrier_wait(&all);
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return NULL;
}

static void *computes(void *arg)
{
	weft_label("crunching");
	pthread_barrier_wait(&all);
	while (!over)
		;
	return arg;
}

static void *stays(void *arg)
{
	long tid;

	weft_lock_thread();
	weft_lock_thread();
	weft_unlock_thread();
	tid = syscall(SYS_gettid);
	pthread_barrier_wait(&all);
	for (int i = 0; i < 200; i++) {
		weft_yield();
		usleep(100);
		same &= tid == syscall(SYS_gettid);
	}
	weft_unlock_thread();
	return arg;
}

int main(int argc, char **argv)
{
	struct weft_counters c;
	pthread_t t[6];
	char before;

	(void)argv;
	memset(&c, 255, sizeof(c));
	printf("before: %d %d %zu %d", weft_threads(), weft_procs(0), weft_counters(&c, sizeof(c)), weft_dump(2));
	printf(" %lx\n", c.threads & 15);
	weft_label("main");
	weft_yield();
	pthread_barrier_init(&all, NULL, 7);
	pthread_mutex_lock(&gate);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, works, i % 2 ? (void *)"odd\n" : (void *)"even");
	pthread_create(&t[4], NULL, computes, NULL);
	pthread_create(&t[5], NULL, stays, NULL);
	pthread_barrier_wait(&all);
	weft_label("the first");
	printf("then: %d %d\n", weft_threads(), weft_procs(0));
	printf("procs: %d", weft_procs(3));
	printf(" %d", weft_procs(0));
	printf(" %d\n", weft_procs(2));
	printf("part: %zu\n", weft_counters(&c, sizeof(c.threads)));
	printf("counters: %d", weft_counters(&c, sizeof(c)) == sizeof(c));
	if (weft_threads())
		printf(" %lu %lu %d %d", c.threads, c.procs, c.kernel_threads >= 2, c.runs > 6);
	putchar('\n');
	fflush(stdout);
	weft_dump(1);
	weft_dump(-1);
	printf("id %d\n", (int)getpid());
	fflush(stdout);
	if (argc > 1 && read(0, &before, 1) < 0)
		return 1;
	pthread_mutex_unlock(&gate);
	over = 1;
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	printf("same kernel thread: %d\n", same);
	return 0;
}
X
options="-Wall -Wextra -Werror -pedantic -O2 -pthread -I$top/include"
# shellcheck disable=SC2086
"${CC:-gcc}" -std=gnu11 $options -o "$tmp/api" "$tmp/api.c"
verdict $? "builds as C" "see above"
cp "$tmp/api.c" "$tmp/api.cc"
# shellcheck disable=SC2086
${CXX:-g++} -std=gnu++17 $options -o "$tmp/api++" "$tmp/api.cc"
verdict $? "builds as C++" "see above"

for program in api api++; do
	said=$(timeout 60 "$tmp/$program" 2>&1 | sed '/^id /d' | tr '\n' ';')
	matches "$program without weft" "^before: 0 0 0 -1 f;then: 0 0;procs: 0 0 0;part: 0;counters: 0;same kernel thread: 1;$" "$said"
	for p in 1 2 8; do
		timeout 60 "$weft" --procs=$p -- "$tmp/$program" >"$tmp/out" 2>&1
		matches "$program, procs=$p: numbers" \
			"^0 before: 0 0 0 -1 f;then: 7 $p;procs: $p 3 3;part: 8;counters: 1 7 2 1 1;" "$? $(tr '\n' ';' <"$tmp/out")"
		matches "$program, procs=$p: locked" "^same kernel thread: 1$" "$(tail -n 1 "$tmp/out")"
		matches "$program, procs=$p: a dump with labels" "^2 2 1 1$" \
			"$(for l in even 'odd.012' crunching 'the first'; do grep -cF "[$l]" <(sed 's/\\/./g' "$tmp/out"); done | tr '\n' ' ' | sed 's/ $//')"
	done
done

mkfifo "$tmp/end"
exec 5<>"$tmp/end"
: >"$tmp/out"
"$weft" --procs=2 -- "$tmp/api" wait <"$tmp/end" >"$tmp/out" 2>&1 5>&- &
for _ in $(seq 600); do
	pid=$(sed -n 's/^id //p' "$tmp/out")
	[ -z "$pid" ] || break
	sleep 0.1
done
for label in even 'odd?' crunching 'the first'; do
	# Its thread may still be on its way.
	for _ in $(seq 100); do
		"$weftctl" dump "$pid" >"$tmp/dump" 2>&1
		grep -qF "[$label] " "$tmp/dump" && break
		sleep 0.1
	done
	matches "weftctl dump: $label" "threads \(G|G[0-9]+ " "$(grep -F "[$label] " "$tmp/dump")"
done
if command -v go >/dev/null; then
	for _ in $(seq 10); do
		"$weftctl" profile "$pid" --cpu 1s -o "$tmp/cpu" >"$tmp/err" 2>&1
		go tool pprof -tags "$tmp/cpu" >"$tmp/tags" 2>&1
		grep -q crunching "$tmp/tags" && break
	done
	matches "a CPU profile" "crunching" "$(cat "$tmp/err" "$tmp/tags")"
fi
echo >&5
wait
pid=

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
