/*
 * setuid, setgid and their family change all threads at once, also those that are blocked and those
 * made later; called from a thread, while others run, with no thread left behind and no hang.
 * Needs root; without it the calls are made with the ids the process has.
 */
#include "check.h"
#include <semaphore.h>
#include <sys/wait.h>

static sem_t go, ready;
static uid_t want_uid;
static gid_t want_gid;
static int stop;

static void *checks(void *arg)
{
	CHECK_SYS(sem_post(&ready));
	while (sem_wait(&go) == -1)
		CHECK_EQ(errno, EINTR);
	CHECK_EQ(getuid(), want_uid);
	CHECK_EQ(geteuid(), want_uid);
	CHECK_EQ(getgid(), want_gid);
	CHECK_EQ(getegid(), want_gid);
	return arg;
}

static void *runs(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		sched_yield();
	CHECK_EQ(getuid(), want_uid);
	return arg;
}

static void *changes(void *arg)
{
	for (int i = 0; i < 20; i++) {
		CHECK_SYS(setegid(want_gid));
		CHECK_SYS(seteuid(want_uid));
		if (arg) {
			CHECK_SYS(seteuid(0));
			CHECK_SYS(setegid(0));
		}
	}
	CHECK_SYS(setresgid(want_gid, want_gid, want_gid));
	CHECK_SYS(setresuid(want_uid, want_uid, want_uid));
	return arg;
}

static void in_child(int root)
{
	pthread_t t[20], r[4];

	want_uid = root ? 12345 : getuid();
	want_gid = root ? 54321 : getgid();
	CHECK_SYS(sem_init(&go, 0, 0));
	CHECK_SYS(sem_init(&ready, 0, 0));
	for (int i = 0; i < 20; i++)
		t[i] = spawn(checks, NULL);
	for (int i = 0; i < 20; i++)
		CHECK_SYS(sem_wait(&ready));
	for (int i = 0; i < 4; i++)
		r[i] = spawn(runs, NULL);
	join(spawn(changes, root ? "root" : NULL));
	for (int i = 0; i < 21; i++)
		CHECK_SYS(sem_post(&go));
	for (int i = 0; i < 20; i++)
		join(t[i]);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++)
		join(r[i]);
	join(spawn(checks, NULL));
	CHECK_EQ(getuid(), want_uid);
	if (root)
		CHECK_ERR(setuid(0), EPERM);
	_exit(0);
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0)
			in_child(geteuid() == 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		CHECK_EQ(WEXITSTATUS(status), 0);
	}
	passed("26 threads changed together, three times");
	return 0;
}
