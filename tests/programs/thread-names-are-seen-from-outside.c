/*
 * The name that threads gave themselves, or got, is that of kernel threads of the process while they
 * compute, and while they block in the kernel; ps and top look there.  The process keeps its own.
 */
#include "check.h"
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static _Atomic int stop;

/* So many but the first are called name. */
static int called(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int n = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		char path[300], text[32] = "";
		FILE *f;

		if (e->d_name[0] == '.' || atoi(e->d_name) == getpid())
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue; /* it has just ended */
		if (fgets(text, sizeof text, f))
			text[strcspn(text, "\n")] = '\0';
		fclose(f);
		n += !strcmp(text, name);
	}
	CHECK_SYS(closedir(d));
	return n;
}

static void *spins(void *arg)
{
	CHECK_SYS(prctl(PR_SET_NAME, "spins"));
	while (!stop)
		;
	return arg;
}

static char path[64];

/* On a kernel thread of its own: opening a named pipe has no other way. */
static void *blocks(void *arg)
{
	int fd;

	CHECK_SYS(prctl(PR_SET_NAME, "blocks"));
	CHECK_SYS(fd = open(path, O_RDONLY));
	CHECK_SYS(close(fd));
	return arg;
}

static void await(const char *name)
{
	while (!called(name))
		usleep(10000);
}

enum { BLOCKED = 3, SPINNING = 4 };

int main(void)
{
	pthread_t b[BLOCKED], t[SPINNING];
	char name[32] = "", mine[16];
	int fd;
	FILE *f;

	CHECK_SYS(prctl(PR_GET_NAME, mine));
	snprintf(path, sizeof path, "fifo.%d", (int)getpid());
	unlink(path);
	CHECK_SYS(mkfifo(path, 0600));
	for (int i = 0; i < BLOCKED; i++)
		b[i] = spawn(blocks, NULL);
	await("blocks");
	passed("threads that block have their name");
	for (int i = 0; i < SPINNING; i++)
		t[i] = spawn(spins, NULL);
	await("spins");
	passed("so have those that compute");
	for (int i = 0; i < SPINNING; i++)
		CHECK_OK(pthread_setname_np(t[i], "renamed"));
	await("renamed");
	passed("and the next that they are given");
	CHECK(f = fopen("/proc/self/comm", "r"));
	CHECK(fgets(name, sizeof name, f));
	name[strcspn(name, "\n")] = '\0';
	CHECK_EQ(strcmp(name, mine), 0);
	CHECK_OK(fclose(f));
	passed("the process keeps its own");
	stop = 1;
	CHECK_SYS(fd = open(path, O_WRONLY));
	for (int i = 0; i < BLOCKED; i++)
		join(b[i]);
	CHECK_SYS(close(fd));
	for (int i = 0; i < SPINNING; i++)
		join(t[i]);
	CHECK_SYS(unlink(path));
	return 0;
}
