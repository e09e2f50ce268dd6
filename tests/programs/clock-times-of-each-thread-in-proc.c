/*
 * /proc/self/task/ID/: what a program reads of each of its threads by the id that gettid() gave: stat,
 * status, comm and schedstat, by open(), openat(), fopen() and syscall(); that the folder is there, and
 * is not when the thread is gone.
 */
#include "check.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MS = 1000000 };

static const char *path_of(pid_t tid, const char *name)
{
	static __thread char path[64];

	snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, name);
	return path;
}

/* By each way to open it. */
static int text(int how, const char *path, char *buf, size_t size)
{
	ssize_t n;
	FILE *f;
	int fd;

	switch (how % 4) {
	case 0:
		CHECK_SYS(fd = open(path, O_RDONLY));
		break;
	case 1:
		CHECK_SYS(fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
		break;
	case 2:
		CHECK_SYS(fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY, 0));
		break;
	default:
		CHECK(f = fopen(path, "r"));
		n = (ssize_t)fread(buf, 1, size - 1, f);
		CHECK_OK(fclose(f));
		buf[n] = '\0';
		return 1;
	}
	CHECK_SYS(n = read(fd, buf, size - 1));
	CHECK_SYS(close(fd));
	buf[n] = '\0';
	return 1;
}

struct stat_line {
	int pid;
	char name[64], state;
	long long user, system; /* ms */
};

static struct stat_line stat_of(int how, pid_t tid)
{
	struct stat_line l;
	char buf[4096], *s;
	long tick = 1000 / sysconf(_SC_CLK_TCK);

	CHECK(text(how, path_of(tid, "stat"), buf, sizeof buf));
	CHECK(s = strrchr(buf, ')'));
	*s = '\0';
	CHECK_EQ(sscanf(buf, "%d (%63[^\n]", &l.pid, l.name), 2);
	CHECK_EQ(sscanf(s + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld", &l.state, &l.user,
			&l.system), 3);
	CHECK_EQ(strchr(s + 2, '\n') != NULL, 1);
	l.user *= tick;
	l.system *= tick;
	return l;
}

/* Of a line of status. */
static void status_of(int how, pid_t tid, const char *what, char *value)
{
	char buf[8192], *s;

	CHECK(text(how, path_of(tid, "status"), buf, sizeof buf));
	CHECK(s = strstr(buf, what));
	CHECK_EQ(sscanf(s + strlen(what), " %63s", value), 1);
}

static pthread_barrier_t gate;
static pid_t ids[3];
static int fd[2];

static void compute(long long amount)
{
	long long end = now_ns(CLOCK_THREAD_CPUTIME_ID) + amount;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void *worker(void *arg)
{
	long me = (long)arg;
	sigset_t set;
	char name[16], c;

	snprintf(name, sizeof name, "worker) %ld", me);
	CHECK_OK(pthread_setname_np(pthread_self(), name));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1 + (me == 1));
	CHECK_OK(pthread_sigmask(SIG_BLOCK, &set, NULL));
	ids[me] = gettid();
	stat_of((int)me, gettid());
	pthread_barrier_wait(&gate);
	if (me == 1)
		compute(200 * MS);
	pthread_barrier_wait(&gate);
	if (me == 2)
		CHECK_EQ(read(fd[0], &c, 1), 1);
	pthread_barrier_wait(&gate);
	return arg;
}

static void *own(void *arg)
{
	struct stat_line a, b;
	char line[64];

	for (int how = 0; how < 4; how++) {
		a = stat_of(how, gettid());
		CHECK_EQ(a.pid, gettid());
		CHECK_EQ(a.state, 'R');
		compute(60 * MS);
		b = stat_of(how, gettid());
		CHECK(b.user + b.system >= a.user + a.system + 40);
		CHECK(b.user >= a.user && b.system >= a.system);
		CHECK(b.user + b.system < 2000);
	}
	snprintf(line, sizeof line, "/proc/%d/task/%d/stat", (int)getpid(), (int)gettid());
	CHECK_OK(access(line, R_OK));
	CHECK(text(3, line, line, sizeof line));
	CHECK_EQ(atoi(line), gettid());
	CHECK(text(0, "/proc/thread-self/stat", line, sizeof line));
	CHECK_EQ(atoi(line), gettid());
	return arg;
}

int main(void)
{
	struct stat_line l;
	pthread_t t[3];
	struct stat st;
	char buf[4096];
	long long ns, one;
	DIR *d;

	join(spawn(own, NULL));
	passed("a thread reads its own times and state");
	CHECK_SYS(pipe(fd));
	CHECK_OK(pthread_barrier_init(&gate, NULL, 4));
	for (long i = 0; i < 3; i++)
		t[i] = spawn(worker, (void *)i);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	let_others_block();
	for (int how = 0; how < 4; how++) {
		char name[16], value[64];

		for (int i = 0; i < 3; i++) {
			snprintf(name, sizeof name, "worker) %d", i);
			l = stat_of(how, ids[i]);
			CHECK_EQ(l.pid, ids[i]);
			CHECK_EQ(strcmp(l.name, name), 0);
			CHECK_EQ(l.state, 'S');
			CHECK(i == 1 ? l.user + l.system >= 150 : l.user + l.system < 100);
			CHECK(text(how, path_of(ids[i], "comm"), buf, sizeof buf));
			CHECK_EQ(strncmp(buf, name, strlen(name)), 0);
			CHECK_EQ(buf[strlen(name)], '\n');
			status_of(how, ids[i], "\nPid:", value);
			CHECK_EQ(atoi(value), ids[i]);
			status_of(how, ids[i], "\nTgid:", value);
			CHECK_EQ(atoi(value), getpid());
			status_of(how, ids[i], "\nState:", value);
			CHECK_EQ(value[0], 'S');
			status_of(how, ids[i], "\nSigBlk:", value);
			CHECK_EQ(strtoull(value, NULL, 16), 1ull << (SIGUSR1 + (i == 1) - 1));
		}
		CHECK(text(how, path_of(ids[1], "schedstat"), buf, sizeof buf));
		ns = atoll(buf);
		CHECK(text(how, path_of(ids[2], "schedstat"), buf, sizeof buf));
		one = atoll(buf);
		CHECK(ns >= 200LL * MS && one < 100LL * MS);
	}
	passed("another reads times, names, states and masks of each");
	for (int i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof path, "/proc/self/task/%d", (int)ids[i]);
		CHECK_SYS(stat(path, &st));
		CHECK(S_ISDIR(st.st_mode));
		CHECK_SYS(access(path, R_OK));
		CHECK(d = opendir(path));
		CHECK(readdir(d));
		CHECK_OK(closedir(d));
		CHECK(text(i, path_of(ids[i], "maps"), buf, sizeof buf));
		CHECK(strstr(buf, "-"));
	}
	CHECK_SYS(readlink(path_of(ids[0], "exe"), buf, sizeof buf));
	passed("its folder is there");
	CHECK_EQ(write(fd[1], "x", 1), 1);
	pthread_barrier_wait(&gate);
	for (int i = 0; i < 3; i++)
		join(t[i]);
	CHECK_ERR(open(path_of(0x3fffffff, "stat"), O_RDONLY), ENOENT);
	CHECK_ERR(access("/proc/self/task/1x/stat", R_OK), ENOENT);
	CHECK_ERR(open((const char *)16, O_RDONLY), EFAULT);
	CHECK(!fopen(path_of(0x3fffffff, "stat"), "r"));
	for (int i = 0; i < 100 && !access(path_of(ids[0], "stat"), R_OK); i++)
		usleep(10000);
	CHECK_ERR(open(path_of(ids[0], "stat"), O_RDONLY), ENOENT);
	passed("and is gone with it");
	return 0;
}
