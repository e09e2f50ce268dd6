/*
 * Many changes of the effective user and group (argument: how many), there and back, from main and
 * from threads, while 64 threads compute and yield, 64 are blocked in every way and others come and
 * go.  After a change every kernel thread of the process has the new ids; files say so too.  Needs
 * root; else the ids are those it has.
 */
#include "check.h"
#include <dirent.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { EACH = 64, LOOK = 10 };

static int rounds = 100;

static atomic_int stop;
static sem_t end;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static int silent[2];
static uid_t uid;
static gid_t gid;

static void *computes(void *arg)
{
	unsigned long x = (unsigned long)arg + 1;

	while (!stop) {
		for (int i = 0; i < 2000; i++)
			x = x * 6364136223846793005 + 1;
		sched_yield();
	}
	return (void *)x;
}

static void *blocks(void *arg)
{
	char c;

	switch ((long)arg % 4) {
	case 0:
		while (sem_wait(&end) == -1)
			;
		break;
	case 1:
		while (read(silent[0], &c, 1) == -1)
			;
		break;
	case 2:
		CHECK_OK(pthread_mutex_lock(&held));
		while (!stop)
			CHECK_OK(pthread_cond_wait(&cv, &held));
		CHECK_OK(pthread_mutex_unlock(&held));
		break;
	case 3:
		while (!stop)
			usleep(20000);
		break;
	}
	return arg;
}

static void *short_lived(void *arg)
{
	CHECK(getuid() == 0 || arg);
	return NULL;
}

static void *come_and_go(void *arg)
{
	while (!stop) {
		join(spawn(short_lived, arg));
		usleep(500);
	}
	return arg;
}

/* All four ids of every kernel thread: only the effective one changes. */
static void look_at(const char *key, unsigned want)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int seen = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		char path[300], line[200];
		unsigned real, effective;
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue; /* it ended */
		while (fgets(line, sizeof line, f)) {
			if (strncmp(line, key, strlen(key)))
				continue;
			CHECK_EQ(sscanf(line + strlen(key), "%u %u", &real, &effective), 2);
			CHECK_EQ(effective, want);
			seen++;
		}
		fclose(f);
	}
	closedir(d);
	CHECK(seen > 0);
}

static void *changes(void *arg)
{
	for (int i = 0; i < rounds / 2; i++) {
		CHECK_SYS(setegid(gid));
		CHECK_SYS(seteuid(uid));
		CHECK_EQ(geteuid(), uid);
		CHECK_EQ(getegid(), gid);
		if (i % LOOK == 0) {
			look_at("Uid:", uid);
			look_at("Gid:", gid);
		}
		CHECK_SYS(seteuid(getuid()));
		CHECK_SYS(setegid(getgid()));
		if (i % LOOK == 0) {
			look_at("Uid:", getuid());
			look_at("Gid:", getgid());
		}
	}
	return arg;
}

int main(int argc, char **argv)
{
	int root = getuid() == 0;
	pthread_t t[2 * EACH], c;

	if (argc > 1)
		rounds = atoi(argv[1]);
	uid = root ? 12345 : getuid();
	gid = root ? 54321 : getgid();
	CHECK_SYS(sem_init(&end, 0, 0));
	CHECK_SYS(pipe(silent));
	for (long i = 0; i < EACH; i++)
		t[i] = spawn(computes, (void *)i);
	for (long i = 0; i < EACH; i++)
		t[EACH + i] = spawn(blocks, (void *)i);
	c = spawn(come_and_go, root ? NULL : "user");
	let_others_block();
	changes(NULL);
	passed("%d changes from main", rounds / 2);
	join(spawn(changes, NULL));
	passed("%d changes from a thread", rounds / 2);

	stop = 1;
	for (int i = 0; i < EACH; i++)
		CHECK_SYS(sem_post(&end));
	for (int i = 0; i < EACH; i++)
		CHECK_EQ(write(silent[1], "x", 1), 1);
	CHECK_OK(pthread_mutex_lock(&held));
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&held));
	for (int i = 0; i < 2 * EACH; i++)
		join(t[i]);
	join(c);
	passed("everybody came to an end");
	return 0;
}
