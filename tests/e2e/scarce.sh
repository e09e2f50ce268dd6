#!/usr/bin/env bash
# scarce: weft where something is missing: each modern feature by itself and all of them, by option and by a
# filter that the kernel enforces; each call that gets memory, a descriptor or a kernel thread failing in turn.
#
# A failed call leads to a fallback or to an error that the program is told (EAGAIN), or to one line and a run on
# plain pthreads; never to a signal, a hang or a wrong result.

. "$(dirname "$0")/lib.sh"
limit=60

# Threads that lock, sleep, pass bytes over pipes, read a file, allocate and fork, with a stack that overflows
# in a child.  A thread that cannot be had is done without: with one there must be the same sum.
cat >"$tmp/work.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS = 60, THREADS = 12, MANY = 20 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static int next, done, sum;

/* Nothing comes: in vain, on more descriptors than fit a small stack, and with a high number. */
static void wait_for_many(int fd, int high)
{
	struct pollfd p[MANY];
	struct timeval tv = {0, 1000};
	fd_set in;

	for (int i = 0; i < MANY; i++)
		p[i] = (struct pollfd){fd, POLLIN, 0};
	if (poll(p, MANY, 1) || dup2(fd, high) != high)
		_exit(15);
	FD_ZERO(&in);
	FD_SET(high, &in);
	if (select(high + 1, &in, NULL, NULL, &tv))
		_exit(16);
	close(high);
}

static void job(int n)
{
	struct timespec ts;
	char c = (char)n, *p = malloc(5000);
	int fd[2];

	if (!p || pipe(fd) || write(fd[1], &c, 1) != 1 || read(fd[0], p, 1) != 1 || p[0] != c)
		_exit(10);
	if (n % 10 == 0)
		wait_for_many(fd[0], 70 + n / 10);
	close(fd[0]);
	close(fd[1]);
	usleep(500);
	clock_gettime(CLOCK_REALTIME, &ts);
	pthread_mutex_lock(&mu);
	ts.tv_nsec = (ts.tv_nsec + 1000000) % 1000000000;
	pthread_cond_timedwait(&cv, &mu, &ts);
	sum += n;
	if (++done == JOBS)
		pthread_cond_broadcast(&cv);
	pthread_mutex_unlock(&mu);
	free(p);
}

static void *worker(void *arg)
{
	for (;;) {
		int n;

		pthread_mutex_lock(&mu);
		n = next++;
		pthread_mutex_unlock(&mu);
		if (n >= JOBS)
			return arg;
		job(n);
	}
}

static void *overflow(void *arg)
{
	volatile char big[60000];

	big[0] = 1;
	overflow((void *)&big[0]);
	return (char *)arg + big[0];
}

static void reap(pid_t pid, int signal)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		_exit(11);
	if (signal ? !WIFSIGNALED(status) || WTERMSIG(status) != signal : status != 0)
		_exit(12);
}

static int run(void)
{
	pthread_t t[THREADS];
	int n = 0;

	next = done = sum = 0;
	for (int i = 0; i < THREADS; i++) {
		int e = pthread_create(&t[n], NULL, worker, NULL);

		if (e && e != EAGAIN)
			_exit(13);
		n += !e;
	}
	worker(NULL);
	for (int i = 0; i < n; i++)
		if (pthread_join(t[i], NULL))
			_exit(14);
	return sum;
}

static char clone_stack[65536] __attribute__((aligned(64)));
static int by_clone;

static int beside(void *arg)
{
	int fd[2];
	char c = 'c';

	(void)arg;
	if (pipe(fd) || write(fd[1], &c, 1) != 1 || read(fd[0], &c, 1) != 1 || c != 'c')
		return 1;
	close(fd[0]);
	close(fd[1]);
	usleep(100);
	by_clone++;
	return 0;
}

int main(void)
{
	struct rlimit none = {0, 0};
	pthread_t t;
	pid_t pid;

	setrlimit(RLIMIT_CORE, &none);
	printf("sum %d\n", run());
	fflush(stdout);
	/* In the same memory, beside us; what cannot be had is done here. */
	pid = clone(beside, clone_stack + sizeof clone_stack, CLONE_VM | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, NULL);
	if (pid < 0 && errno != ENOMEM && errno != EAGAIN)
		_exit(17);
	if (pid > 0)
		reap(pid, 0);
	else
		beside(NULL);
	printf("beside %d\n", by_clone);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(run() != JOBS * (JOBS - 1) / 2);
	reap(pid, 0);
	printf("child\n");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (pthread_create(&t, NULL, overflow, NULL)) /* no thread: as it would end */
			raise(SIGSEGV);
		pthread_join(t, NULL);
		_exit(1);
	}
	reap(pid, SIGSEGV);
	printf("overflow\n");
	return 0;
}
C

# deny WORD... -- COMMAND: a filter that answers ENOSYS or EPERM (argument 1) to what the words stand for.
cat >"$tmp/deny.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const struct { const char *name; unsigned nr; } known[] = {
		{"clone3", 435}, {"rseq", SYS_rseq}, {"membarrier", SYS_membarrier},
		{"process_vm_readv", SYS_process_vm_readv}, {"epoll_pwait2", 441},
		{"preadv2", SYS_preadv2}, {"openat2", 437}, {"close_range", 436}, {"faccessat2", 439},
		{"futex_waitv", 449}, {"statx", SYS_statx}, {"getrandom", SYS_getrandom},
		{"sched_setscheduler", SYS_sched_setscheduler}, {"madvise-guard", SYS_madvise},
		{"pidfd_open", 434},
	};
	struct sock_filter f[128];
	struct sock_fprog prog = {0, f};
	unsigned err = !strcmp(argv[1], "EPERM") ? EPERM : ENOSYS;
	int i, n = 0;

	for (i = 2; i < argc && strcmp(argv[i], "--"); i++) {
		for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
			if (strcmp(argv[i], known[k].name))
				continue;
			f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
			if (known[k].nr == SYS_madvise) {
				f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3);
				f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
				f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 102, 0, 1);
				f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL);
			} else {
				f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, known[k].nr, 0, 1);
				f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | err);
			}
		}
	}
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 77;
	execv(argv[i + 1], argv + i + 1);
	return 126;
}
C
for p in work deny; do
	${CC:-cc} -O1 -pthread -o "$tmp/$p" "$tmp/$p.c" || exit 2
done
"$tmp/work" >"$tmp/want" || exit 2

same()	# same NAME COMMAND...: output and status are those of the native run, and weft did run
{
	local name=$1 status
	shift
	timeout -k 5 $limit "$@" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status -eq 0 ] && cmp -s "$tmp/want" "$tmp/out" && ! grep -q 'plain pthreads' "$tmp/err"
	verdict $? "$name" "status $status; $(diff "$tmp/want" "$tmp/out" | sed -n 2p) $(head -n 2 "$tmp/err" | tr '\n' ' ')"
}

# ---- features ----

features=$("$weft" --options | awk -F '\t' '$1 == "without" { gsub(/\+/, " ", $3); print $3 }')
# With neither of these it says that it does not start (unseen.sh).
most=${features/cpuclock/}
for f in $features $(echo $most | tr ' ' +); do
	same "without=$f" "$weft" --procs=2 -o without="$f" -- "$tmp/work"
done

"$tmp/deny" ENOSYS -- /bin/true
if [ $? -ne 77 ]; then
	filters="clone3 rseq membarrier process_vm_readv epoll_pwait2 preadv2 madvise-guard close_range getrandom
		sched_setscheduler"
	for err in ENOSYS EPERM; do
		for f in $filters; do
			# libc itself takes only ENOSYS for a missing clone3.
			[ "$f$err" = clone3EPERM ] && continue
			same "a filter: $err to $f" "$tmp/deny" $err $f -- "$weft" --procs=2 -- "$tmp/work"
		done
	done
	# shellcheck disable=SC2086 # words
	same "a filter: ENOSYS to all of them" "$tmp/deny" ENOSYS $filters -- "$weft" --procs=2 -- "$tmp/work"
else
	echo "# no filters on this machine"
fi

# ---- failures ----

# Nothing is left of the failure but one thread less.
for more in "" without=guard,dumpsig=USR2; do
	for ((n = 1; n <= 2000; n++)); do
		timeout -k 5 $limit "$weft" --procs=2 -o fail=$n${more:+,$more} -- "$tmp/work" >"$tmp/out" 2>"$tmp/err"
		status=$?
		what=$(sed -n 's/^weft: fail: \(.*\): fails as asked/\1/p' "$tmp/err" | sort | uniq | tr '\n' ' ')
		[ -n "$what" ] || break
		[ $status -eq 0 ] && cmp -s "$tmp/want" "$tmp/out"
		verdict $? "fail=$n $more (${what% })" \
			"status $status; $(diff "$tmp/want" "$tmp/out" | sed -n 2p) $(tail -n 2 "$tmp/err" | tr '\n' ' ')"
	done
	[ $n -gt 20 ] && [ $n -le 2000 ]
	verdict $? "after $((n - 1)) calls that can fail there is no other${more:+, $more}" "$n"
done

# A child of another thread is not main's, though the thread began on M0 and the kernel refused another M once.
cat >"$tmp/childof.c" <<'C'
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static sem_t made, looked;

static void *maker(void *arg)
{
	pid_t child = fork();

	if (child < 0)
		exit(2);
	if (child == 0)
		for (;;)
			pause();
	*(pid_t *)arg = child;
	sem_post(&made);
	sem_wait(&looked);
	return NULL;
}

int main(void)
{
	pthread_t t;
	pid_t child;
	int mine;

	sem_init(&made, 0, 0);
	sem_init(&looked, 0, 0);
	if (pthread_create(&t, NULL, maker, &child))
		return puts("none"), 0;
	sem_wait(&made);
	mine = waitpid(-1, NULL, WNOHANG | __WNOTHREAD) == 0;
	kill(child, SIGKILL);
	sem_post(&looked);
	pthread_join(t, NULL);
	waitpid(child, NULL, 0);
	puts(mine ? "main's" : "none");
	return mine;
}
C
"${CC:-gcc}" -O2 -pthread -o "$tmp/childof" "$tmp/childof.c" || exit 2
wrong=
for ((n = 1; n <= 100; n++)); do
	got=$(timeout -k 5 $limit "$weft" --procs=1 -o fail=$n -- "$tmp/childof" 2>"$tmp/err")
	[ "$got" = none ] || wrong+=" fail=$n: ${got:-nothing}, $(tail -n 1 "$tmp/err");"
	grep -q 'fails as asked' "$tmp/err" || break
done
[ -z "$wrong" ] && [ $n -gt 20 ]
verdict $? "whose a child is, with each of $((n - 1)) calls failing once" "$wrong"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
