/*
 * Which CPU a thread runs on, by restartable sequences: libc's (by __rseq_offset, when __rseq_size
 * says that there are some) and, in a second run of this program with libc's switched off, the
 * program's own, registered by every thread with rseq(2) and done without where that fails.  Such a
 * user asks sched_getcpu() when the number is below zero.  Main and its threads are pinned to each
 * CPU in turn, and in between block, yield and run anywhere.
 */
#include "check.h"
#include <stdint.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { THREADS = 16, ROUNDS = 20, SIGNATURE = 0x53053053 };

static _Thread_local struct {
	uint32_t cpu_start, cpu;
	uint64_t sequence;
	uint32_t flags, more[3];
} own __attribute__((aligned(32)));
static int mine;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static cpu_set_t allowed;

static void register_mine(void)
{
	own.cpu = own.cpu_start = (uint32_t)-1;
	if (!mine)
		return;
	/* Without the call, or registered by somebody else: then without. */
	if (syscall(SYS_rseq, &own, 32, 0, SIGNATURE))
		CHECK(errno == ENOSYS || errno == EINVAL || errno == EBUSY || errno == EPERM);
}

/* As libc and others do before a thread's memory goes. */
static void unregister_mine(void)
{
	if (mine && (int32_t)own.cpu >= 0)
		CHECK_SYS(syscall(SYS_rseq, &own, 32, 1, SIGNATURE));
}

static int cpu_now(void)
{
	volatile struct rseq *libcs = (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	int32_t cpu = -1;

	if (mine)
		cpu = (int32_t) * (volatile uint32_t *)&own.cpu;
	else if (__rseq_size)
		cpu = (int32_t)libcs->cpu_id;
	return cpu >= 0 ? cpu : sched_getcpu();
}

static void *asks(void *arg)
{
	cpu_set_t set;

	if (arg)
		register_mine();
	for (int i = 0; i < ROUNDS; i++) {
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &allowed))
				continue;
			CPU_ZERO(&set);
			CPU_SET(cpu, &set);
			CHECK_OK(pthread_setaffinity_np(pthread_self(), sizeof set, &set));
			CHECK_EQ(cpu_now(), cpu);
			usleep(100);
			CHECK_EQ(cpu_now(), cpu);
			CHECK_EQ(sched_getcpu(), cpu);
		}
		CHECK_OK(pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed));
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK(CPU_ISSET(cpu_now(), &allowed));
		CHECK_OK(pthread_mutex_unlock(&mu));
	}
	if (arg)
		unregister_mine();
	return arg;
}

static void all(const char *whose)
{
	pthread_t t[THREADS];

	register_mine();
	asks(NULL);
	passed("%s, before the first thread", whose);
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(asks, (void *)(i + 1));
	asks(NULL);
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	asks(NULL);
	passed("%s, with %d threads", whose, THREADS);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	CHECK_SYS(sched_getaffinity(0, sizeof allowed, &allowed));
	mine = argc > 1;
	all(mine ? "the program's own" : "libc's");
	if (mine)
		return 0;
	CHECK_SYS(pid = fork());
	if (!pid) {
		CHECK_SYS(setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1));
		execl("/proc/self/exe", argv[0], "mine", (char *)NULL);
		_exit(99);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return 0;
}
