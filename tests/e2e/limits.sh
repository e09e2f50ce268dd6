#!/usr/bin/env bash
# limits: weft at the edges of what the kernel grants: threads, memory, descriptors, stacks, no /proc, a chroot.
#
# A limit that a native program feels as EAGAIN, ENOMEM or EMFILE is felt so under weft or, because threads
# are not kernel threads, not at all.  Nobody hangs, nobody is killed, and what could be had works.

. "$(dirname "$0")/lib.sh"

# edge WHAT N: makes N threads that all live at once and each does WHAT; those that cannot be made, or have no
# memory or descriptor, are counted.  Prints "made M of N, F failed; M answered".
cat >"$tmp/edge.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static sem_t go, ready;
static atomic_int answered, lacking;
static const char *what;
static int quiet[2];

static void *thread(void *arg)
{
	char c = 1;
	int fd[2];
	void *volatile p; /* a compiler may do without memory that nobody reads */

	switch (what[0]) {
	case 'b': /* blocks in the kernel, on a kernel thread of its own when nobody polls */
		if (read(quiet[0], &c, 1) != 1)
			_exit(20);
		break;
	case 'm': /* memory */
		p = malloc(1 << 20);
		if (p)
			memset(p, 1, 1 << 20);
		else
			lacking++;
		sem_post(&ready);
		while (sem_wait(&go))
			;
		free(p);
		break;
	case 'd': /* descriptors; two threads pass a byte */
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) {
			if (errno != EMFILE)
				_exit(21);
			lacking++;
			sem_post(&ready);
			while (sem_wait(&go))
				;
			break;
		}
		if (write(fd[1], &c, 1) != 1 || read(fd[0], &c, 1) != 1)
			_exit(22);
		sem_post(&ready);
		while (sem_wait(&go))
			;
		close(fd[0]);
		close(fd[1]);
		break;
	default:
		while (sem_wait(&go))
			;
	}
	answered++;
	return arg;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), made = 0, refused = 0;
	pthread_t *t = calloc((size_t)n, sizeof *t);

	what = argv[1];
	if (!t || sem_init(&go, 0, 0) || sem_init(&ready, 0, 0) || pipe(quiet))
		return 10;
	for (int i = 0; i < n; i++) {
		int e = pthread_create(&t[made], NULL, thread, NULL);

		if (e && e != EAGAIN && e != ENOMEM)
			return 11;
		e ? refused++ : made++;
		if (refused > 3)
			break;
	}
	for (int i = 0; i < made && (what[0] == 'm' || what[0] == 'd'); i++)
		while (sem_wait(&ready))
			;
	if (argc > 3)
		usleep(200000);
	for (int i = 0; i < made; i++) {
		sem_post(&go);
		if (what[0] == 'b' && write(quiet[1], "x", 1) != 1)
			return 12;
	}
	for (int i = 0; i < made; i++)
		if (pthread_join(t[i], NULL))
			return 13;
	printf("%d made, %s; %s answered; %s\n", made == n ? n : -1, refused ? "some refused" : "none refused",
	       answered == made ? "all" : "not all", lacking ? "some lacked" : "none lacked");
	return 0;
}
C
${CC:-cc} -O2 -pthread -o "$tmp/edge" "$tmp/edge.c" || exit 2
chmod 755 "$tmp" "$tmp/edge"

try()	# try NAME REGEX LIMITS COMMAND...: LIMITS is shell code that sets them
{
	local name=$1 want=$2 limits=$3 out status
	shift 3
	out=$( (eval "$limits"; timeout -k 3 40 "$@") 2>&1)
	status=$?
	[ $status -eq 0 ] && grep -Eqx "$want" <<<"$out"
	verdict $? "$name" "status $status: $out"
}

# What make and others hand down to us counts as well.
only_three()
{
	local d

	for d in /proc/self/fd/*; do
		d=${d##*/}
		[ "$d" -le 2 ] || [ "$d" -eq 255 ] || eval "exec $d>&-"
	done 2>/dev/null
}

fine='[0-9]+ made, none refused; all answered; none lacked'
some='-1 made, some refused; all answered; .*'
for p in 1 2 8; do
	w="$weft --procs=$p"
	# shellcheck disable=SC2086 # words
	{
	try "2000 threads of 8 MB in 4 GB of address space, $p Ps" "($fine|(.*$some))" "ulimit -v 4000000" \
		$w -- "$tmp/edge" wait 2000
	try "memory runs out in the threads, $p Ps" "(.* some refused; all answered; .*|.*; all answered; some lacked)" "ulimit -v 1200000; ulimit -s 128" \
		$w -- "$tmp/edge" memory 1500
	try "no more than 10 MB of data, $p Ps" ".*; all answered; none lacked" "ulimit -d 10000" $w -- "$tmp/edge" wait 20
	try "small stacks, $p Ps" "$fine" "ulimit -s 64" $w -- "$tmp/edge" wait 500
	try "unlimited stacks, $p Ps" "$fine" "ulimit -s unlimited" $w -- "$tmp/edge" wait 200
	try "40 descriptors, $p Ps" "200 made, none refused; all answered; some lacked" "ulimit -n 40" \
		$w -- "$tmp/edge" descriptors 200
	try "4 descriptors, as many as libc needs, $p Ps" "four" only_three prlimit --nofile=4 $w -- /bin/echo four
	try "20 descriptors and 300 that block, $p Ps" "$fine" "ulimit -n 20" $w -- "$tmp/edge" block 300 slow
	try "no signal may be queued, $p Ps" "(weft.[0-9]+.: self-test: no more signals may be queued.*plain pthreads.*|$fine)" "ulimit -i 0" \
		$w -- "$tmp/edge" wait 20
	try "40,000 threads, each guard a mapping, $p Ps" "($fine|$some)" "ulimit -s 64" \
		$w -o without=guard -- "$tmp/edge" wait 40000
	}
done

# ---- as many threads as natively, at each limit and each time of a process's life ----

# count N: threads that live at once; how many can be made at first, when N are wanted, again when they are
# gone, in the child of a fork (one, then N), and in the parent once more.
cat >"$tmp/count.c" <<'C'
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 1000 };

static sem_t go;

static void *thread(void *arg)
{
	while (sem_wait(&go))
		;
	return arg;
}

static void make(const char *when, int n)
{
	pthread_t t[MOST];
	int made = 0;

	while (made < n && !pthread_create(&t[made], NULL, thread, NULL))
		made++;
	for (int i = 0; i < made; i++)
		sem_post(&go);
	for (int i = 0; i < made; i++)
		if (pthread_join(t[i], NULL))
			_exit(11);
	printf("%s %d ", when, made);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int n = atoi(argv[argc - 1]), status;
	pid_t pid;

	if (sem_init(&go, 0, 0))
		return 10;
	make("first", 1);
	make("many", n);
	make("again", n);
	pid = fork();
	if (pid == 0) {
		make("child's-first", 1);
		make("child's-many", n);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 12;
	make("after", n);
	puts("");
	return 0;
}
C
${CC:-cc} -O2 -pthread -o "$tmp/count" "$tmp/count.c" || exit 2

# What weft itself needs: KB of data, as many more of address space for its text, and more for each kernel thread; and
# a page of the first thread's stack, where the frames of its signals go.
share=1700 share_text=900 share_each=150 share_stack=4

cat >"$tmp/limited" <<'S'
#!/usr/bin/env bash
ulimit "$1" "$2" || exit 3
shift 2
exec "$@"
S
chmod 755 "$tmp/limited"

# The environment lies on the first thread's stack: what happens to be in it decides nothing here.
bare=(env -i "PATH=/usr/bin:/bin")

# as_natively NAME N OPTION VALUE P [COMMAND...]: at `ulimit OPTION VALUE` each count under weft is at least what it is
# natively, where a limit of memory is lower by weft's share.
as_natively()
{
	local name=$1 n=$2 opt=$3 value=$4 p=$5 less=0 native limit out status
	shift 5
	case $opt in
	-v) less=$((share + share_text + p * share_each)) ;;
	-d) less=$((share + p * share_each)) ;;
	-s) less=$share_stack ;;
	esac
	native=$value
	[ $less = 0 ] || [ "$value" = unlimited ] || native=$((value - less))
	# timeout itself is outside: it needs a signal that may be queued
	# A limit of memory may end the native run in its midst, too: then that says nothing, and it is asked again.
	limit=$native
	for _ in 1 2 3; do
		native=$(timeout -k 3 40 "${bare[@]}" "$tmp/limited" "$opt" "$limit" "$@" "$tmp/count" "$n" 2>/dev/null)
		[[ $native != *after* ]] || break
	done
	out=$(timeout -k 3 40 "${bare[@]}" "$tmp/limited" "$opt" "$value" "$@" "$weft" --procs="$p" -- "$tmp/count" "$n" 2>&1)
	status=$?
	out=$(sed 's/^weft.*plain pthreads)$//' <<<"$out")
	[ $status -eq 0 ] && awk -v a="$native" -v b="$out" 'BEGIN {
		m = split(b, y, " ")
		# A native run that was ended in its midst each time says nothing of what would have come.
		n = split(a, x, " ")
		for (i = 1; i <= n; i += 2)
			if (x[i] != y[i] || y[i + 1] + 0 < x[i + 1] + 0)
				exit 1
		exit m < 12
	}'
	verdict $? "$name $value, $p Ps: as many threads as natively" "status $status: natively $native; $out"
}

for p in 1 2 8; do
	for kb in 50000 100000 300000 1000000; do
		as_natively "address space (KB)" 150 -v $kb $p
	done
	for kb in 20000 50000 100000 500000; do
		as_natively "data (KB)" 80 -d $kb $p
	done
	for kb in 28 64 1024 8192 unlimited; do
		as_natively "stack (KB)" 150 -s $kb $p
	done
	for n in 5 8 12 64; do
		as_natively "descriptors" 150 -n $n $p
	done
	for kb in 0 8 64; do
		as_natively "locked memory (KB)" 150 -l $kb $p
	done
	for n in 0 1; do
		as_natively "queued signals" 150 -i $n $p
	done
	try "the first thread in 10 MB of data, $p Ps" "first 1 .*" "ulimit -d 10240" "$weft" --procs=$p -- "$tmp/count" 2
done

# What a container has: a group of its own with 40 MB.  Each stack that is touched counts, and nothing else does.
group=
for d in /sys/fs/cgroup/memory /sys/fs/cgroup; do
	[ -e "$d/memory.limit_in_bytes" ] || [ -e "$d/memory.max" ] || grep -qw memory "$d/cgroup.subtree_control" 2>/dev/null || continue
	mkdir "$d/weft-limits.$$" 2>/dev/null && group=$d/weft-limits.$$ && break
done
for f in memory.max memory.limit_in_bytes; do
	[ -n "$group" ] && echo 40M >"$group/$f" 2>/dev/null && bounded=yes
done
if [ "${bounded:-}" ] && (echo 0 >"$group/cgroup.procs") 2>/dev/null; then
	# shellcheck disable=SC2016 # the group's own shell expands it
	in_group=(sh -c 'echo 0 >"$0/cgroup.procs" && exec "$@"' "$group")
	for p in 1 2 8; do
		as_natively "a group of 40 MB, stacks (KB)" 900 -s 8192 $p "${in_group[@]}"
		try "2000 threads in a group of 40 MB, $p Ps" "$fine" : "${in_group[@]}" "$weft" --procs=$p -- "$tmp/edge" wait 2000
	done
else
	echo "# no group with a limit of memory here"
fi
[ -n "$group" ] && rmdir "$group"

# A user of its own may have so many kernel threads; 0 is never refused any.
user=54321
cat >"$tmp/as_user" <<S
#!/bin/sh
n=\$1
shift
exec prlimit --nproc=\$n setpriv --reuid=$user --clear-groups "\$@"
S
chmod 755 "$tmp/as_user"
if [ "$(id -u)" = 0 ] && "$tmp/as_user" 5 test -r "$build/libweft.so" 2>/dev/null; then
	for p in 1 2 8; do
		try "12 kernel threads and 500 threads, $p Ps" "$fine" : "$tmp/as_user" 12 "$weft" --procs=$p -- "$tmp/edge" wait 500
		try "12 kernel threads and 100 that block, $p Ps" "$fine" : "$tmp/as_user" 12 "$weft" --procs=$p -- "$tmp/edge" block 100 slow
		for n in 1 2 3 4 5 6; do
			try "$n kernel threads, $p Ps" "(.*: |.*plain pthreads.*)?.*made, .* refused; all answered; none lacked" : \
				"$tmp/as_user" $n "$weft" --procs=$p -- "$tmp/edge" wait 20
		done
	done
	# All wait in the kernel for one that has no kernel thread: weft says so, once, and goes on when other processes of
	# that user end, of which nothing tells it.
	cat >"$tmp/meet.c" <<'C'
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[20][100];

static void *reader(void *p)
{
	return (void *)(long)close(open(p, O_RDONLY));
}

static void *writer(void *n)
{
	for (long i = 0; i < (long)n; i++)
		close(open(path[i], O_WRONLY));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[21];
	int n = atoi(argv[1]);

	for (int i = 0; i < n; i++) {
		snprintf(path[i], sizeof(path[i]), "%s.%d", argv[2], i);
		if (mkfifo(path[i], 0600) || pthread_create(&t[i], NULL, reader, path[i]))
			return 1;
	}
	usleep(100000);
	if (pthread_create(&t[n], NULL, writer, (void *)(long)n))
		return 2;
	for (int i = 0; i <= n; i++)
		pthread_join(t[i], NULL);
	puts("met");
	return argc != 3;
}
C
	${CC:-cc} -O2 -pthread -o "$tmp/meet" "$tmp/meet.c" || exit 2
	mkdir -m 1777 "$tmp/fifos"
	for p in 1 2 8; do
		# Those of the run before may need long to end: counted now, they would give what they hold later.
		for ((i = 0; i < 100; i++)); do
			pgrep -u $user cat >/dev/null || break
			sleep 0.1
		done
		# 20 others, for as long as this end of the pipe is open
		exec {others}> >("$tmp/as_user" 30 sh -c 'exec 3<&0; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; do cat <&3 & done; cat' )
		for ((i = 0; i < 100; i++)); do
			[ "$(pgrep -c -u $user cat)" = 20 ] && break
			sleep 0.1
		done
		timeout -k 3 60 "$tmp/as_user" 32 "$weft" --procs=$p -- "$tmp/meet" 20 "$tmp/fifos/$p" >"$tmp/met" 2>&1 {others}>&- &
		under=$!
		for ((i = 0; i < 300; i++)); do
			grep -q 'gives no more' "$tmp/met" && break
			sleep 0.1
		done
		exec {others}>&-
		wait $under
		status=$?
		[ $status -eq 0 ] && [ "$(grep -c 'gives no more' "$tmp/met")" = 1 ] && grep -qx met "$tmp/met"
		verdict $? "all kernel threads wait, $p Ps: one line, and it goes on when there are more" \
			"status $status: $(cat "$tmp/met")"
	done
else
	echo "# no limit of kernel threads without root"
fi

out=$(timeout -k 3 40 "$weft" --procs=2 -o maxthreads=20 -- "$tmp/edge" wait 2000 2>&1)
[ $? -eq 0 ] && grep -Eqx "$fine" <<<"$out"
verdict $? "maxthreads=20 bounds kernel threads, not threads" "$out"

out=$(timeout -k 3 40 "$weft" --procs=2 -o threads=20 -- "$tmp/edge" wait 100 2>&1)
[ $? -eq 0 ] && grep -qxe '-1 made, some refused; all answered; none lacked' <<<"$out"
verdict $? "threads=20 refuses the others" "$out"

if unshare -m true 2>/dev/null; then
	try "no /proc" "$fine" : unshare -m sh -c 'umount -l /proc && exec "$@"' sh \
		env LD_PRELOAD="$build/libweft.so" "$tmp/edge" descriptors 100
	try "no /proc, a launcher" "$fine" : unshare -m sh -c 'umount -l /proc && cd "$1" && shift && exec "$@"' sh "$build" \
		env LD_PRELOAD="$build/libweft.so" WEFT=procs=2,without=proc "$tmp/edge" block 100
else
	echo "# no mount namespaces here"
fi

mkdir "$tmp/root" &&
	for f in "$tmp/edge" "$build/libweft.so" $(ldd "$tmp/edge" | grep -o '/[^ ]*'); do
		mkdir -p "$tmp/root/$(dirname "$f")" && cp -L "$f" "$tmp/root/$f"
	done
if chroot "$tmp/root" "$tmp/edge" wait 1 >/dev/null 2>&1; then
	try "a chroot with nothing in it" "$fine" : chroot "$tmp/root" "$tmp/edge" wait 1
	out=$( (export LD_PRELOAD=$build/libweft.so; exec timeout -k 3 40 chroot "$tmp/root" "$tmp/edge" wait 300) 2>&1)
	grep -Eqx "$fine" <<<"$out"
	verdict $? "weft in a chroot with nothing in it" "$out"
else
	echo "# no chroot here"
fi

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
