/*
 * Mutexes (normal, recursive, errorcheck, robust, inheriting), condition variables, rwlocks,
 * barriers, semaphores, spin locks and record locks shared by processes that are started
 * separately: each one executes this program anew, every other one without the preloaded libraries
 * of its parent.  The threads of all of them hand a turn on, count under each lock, and meet at the
 * barrier.
 */
#include "check.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { PROCESSES = 4, THREADS = 4, ROUNDS = 60, KINDS = 6, ALL = PROCESSES * THREADS };

struct shared {
	pthread_mutex_t mu[KINDS];
	long count[KINDS];
	pthread_rwlock_t rw;
	long a, b;
	pthread_spinlock_t spin;
	long spun, filed;
	sem_t sem;
	int inside;
	pthread_barrier_t bar;
	pthread_mutex_t turn_mu;
	pthread_cond_t turn_cv;
	long turn;
};

static struct shared *sh;
static int fd;

static void locked(int kind)
{
	for (int i = 0; i < ROUNDS; i++) {
		long seen;

		CHECK_OK(pthread_mutex_lock(&sh->mu[kind]));
		if (kind == 1)
			CHECK_OK(pthread_mutex_lock(&sh->mu[kind]));
		seen = sh->count[kind];
		if (i % 8 == 0)
			sched_yield();
		sh->count[kind] = seen + 1;
		if (kind == 1)
			CHECK_OK(pthread_mutex_unlock(&sh->mu[kind]));
		CHECK_OK(pthread_mutex_unlock(&sh->mu[kind]));
	}
}

static void read_and_write(long me)
{
	for (int i = 0; i < ROUNDS; i++) {
		if ((i + me) % 4) {
			CHECK_OK(pthread_rwlock_rdlock(&sh->rw));
			CHECK_EQ(sh->a, sh->b);
		} else {
			CHECK_OK(pthread_rwlock_wrlock(&sh->rw));
			sh->a++;
			if (i % 8 == 0)
				sched_yield();
			sh->b++;
		}
		CHECK_OK(pthread_rwlock_unlock(&sh->rw));
	}
}

static void spin_and_count(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_OK(pthread_spin_lock(&sh->spin));
		sh->spun++;
		CHECK_OK(pthread_spin_unlock(&sh->spin));
		while (sem_wait(&sh->sem))
			CHECK_EQ(errno, EINTR);
		CHECK(__atomic_add_fetch(&sh->inside, 1, __ATOMIC_SEQ_CST) <= 3);
		sched_yield();
		__atomic_sub_fetch(&sh->inside, 1, __ATOMIC_SEQ_CST);
		CHECK_SYS(sem_post(&sh->sem));
	}
}

/* A lock of the open file, one per thread: those of the process do not exclude threads. */
static void lock_file(void)
{
	int own;
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	CHECK_SYS(own = open(path, O_RDWR));
	for (int i = 0; i < ROUNDS / 6; i++) {
		struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

		CHECK_SYS(fcntl(own, F_OFD_SETLKW, &fl));
		sh->filed++;
		fl.l_type = F_UNLCK;
		CHECK_SYS(fcntl(own, F_OFD_SETLK, &fl));
	}
	close(own);
}

static void take_turns(long me)
{
	for (int i = 0; i < ROUNDS / 4; i++) {
		CHECK_OK(pthread_mutex_lock(&sh->turn_mu));
		while (sh->turn % ALL != me) {
			struct timespec ts = after_ms(CLOCK_REALTIME, 60000);

			CHECK_OK(pthread_cond_timedwait(&sh->turn_cv, &sh->turn_mu, &ts));
		}
		sh->turn++;
		CHECK_OK(pthread_cond_broadcast(&sh->turn_cv));
		CHECK_OK(pthread_mutex_unlock(&sh->turn_mu));
	}
}

static void *works(void *arg)
{
	long me = (long)arg;
	int serial = 0;

	for (int k = 0; k < KINDS; k++)
		locked((int)((k + me) % KINDS));
	read_and_write(me);
	spin_and_count();
	lock_file();
	for (int i = 0; i < ROUNDS / 6; i++)
		serial += pthread_barrier_wait(&sh->bar) == PTHREAD_BARRIER_SERIAL_THREAD;
	take_turns(me);
	return (void *)(long)serial;
}

static void map(void)
{
	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(sh != MAP_FAILED);
}

static int peer(int n)
{
	pthread_t t[THREADS];
	long serial = 0;

	map();
	for (long i = 0; i < THREADS; i++)
		t[i] = spawn(works, (void *)(n * THREADS + i));
	for (int i = 0; i < THREADS; i++)
		serial += (long)join(t[i]);
	return (int)serial;
}

static void init(void)
{
	static const int types[KINDS] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
					 PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_NORMAL,
					 PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_NORMAL};
	pthread_mutexattr_t ma;
	pthread_rwlockattr_t ra;
	pthread_barrierattr_t ba;
	pthread_condattr_t ca;

	for (int k = 0; k < KINDS; k++) {
		CHECK_OK(pthread_mutexattr_init(&ma));
		CHECK_OK(pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED));
		CHECK_OK(pthread_mutexattr_settype(&ma, types[k]));
		if (k == 3 || k == 5)
			CHECK_OK(pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST));
		if (k >= 4)
			CHECK_OK(pthread_mutexattr_setprotocol(&ma, PTHREAD_PRIO_INHERIT));
		CHECK_OK(pthread_mutex_init(&sh->mu[k], &ma));
		if (k == 0)
			CHECK_OK(pthread_mutex_init(&sh->turn_mu, &ma));
	}
	CHECK_OK(pthread_rwlockattr_init(&ra));
	CHECK_OK(pthread_rwlockattr_setpshared(&ra, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_rwlock_init(&sh->rw, &ra));
	CHECK_OK(pthread_barrierattr_init(&ba));
	CHECK_OK(pthread_barrierattr_setpshared(&ba, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_barrier_init(&sh->bar, &ba, ALL));
	CHECK_OK(pthread_condattr_init(&ca));
	CHECK_OK(pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED));
	CHECK_OK(pthread_cond_init(&sh->turn_cv, &ca));
	CHECK_OK(pthread_spin_init(&sh->spin, PTHREAD_PROCESS_SHARED));
	CHECK_SYS(sem_init(&sh->sem, 1, 3));
}

int main(int argc, char **argv)
{
	pid_t pid[PROCESSES];
	int serial = 0, status;

	if (argc == 3) {
		fd = atoi(argv[2]);
		return peer(atoi(argv[1]));
	}
	CHECK_SYS(fd = memfd_create("shared", 0));
	CHECK_SYS(ftruncate(fd, sizeof *sh));
	map();
	init();
	for (int i = 0; i < PROCESSES; i++) {
		char number[2][16];

		CHECK_SYS(pid[i] = fork());
		if (pid[i])
			continue;
		if (i % 2)
			unsetenv("LD_PRELOAD");
		snprintf(number[0], 16, "%d", i);
		snprintf(number[1], 16, "%d", fd);
		execl("/proc/self/exe", argv[0], number[0], number[1], (char *)NULL);
		_exit(99);
	}
	for (int i = 0; i < PROCESSES; i++) {
		CHECK_EQ(waitpid(pid[i], &status, 0), pid[i]);
		CHECK(WIFEXITED(status));
		serial += WEXITSTATUS(status);
	}
	for (int k = 0; k < KINDS; k++)
		CHECK_EQ(sh->count[k], ALL * ROUNDS);
	passed("mutexes of %d kinds", KINDS);
	CHECK_EQ(sh->a, ALL * ROUNDS / 4);
	CHECK_EQ(sh->b, ALL * ROUNDS / 4);
	passed("rwlock");
	CHECK_EQ(sh->spun, ALL * ROUNDS);
	CHECK_EQ(sh->inside, 0);
	passed("spin lock and semaphore");
	CHECK_EQ(sh->filed, ALL * (ROUNDS / 6));
	passed("record locks");
	CHECK_EQ(serial, ROUNDS / 6);
	passed("barrier");
	CHECK_EQ(sh->turn, ALL * (ROUNDS / 4));
	passed("condition variable");
	return 0;
}
