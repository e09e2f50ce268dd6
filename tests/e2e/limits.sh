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
	void *p;

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
