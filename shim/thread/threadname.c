/*
 * threadname: the name of a thread is its G's own; main's is the kernel's too, because that is what ps
 * shows for the process.
 */
#include "shim/thread/tid.h"
#include "shim/syscall/usermem.h"

#include <string.h>

/* The kernel's name of the process: that of its first thread, from wherever main happens to run. */
static void show_main(const char *name)
{
	char path[64];
	long fd, pid = direct3(SYS_getpid, 0, 0, 0);

	if (direct3(SYS_gettid, 0, 0, 0) == pid) {
		own3(SYS_prctl, PR_SET_NAME, name, 0);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/task/%ld/comm", pid);
	fd = own4(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	direct3(SYS_write, (int)fd, name, strlen(name));
	direct3(SYS_close, (int)fd, 0, 0);
}

static void rename_g(struct g *gp, const char *name)
{
	g_setname(gp, name);
	if (gp == g_main())
		show_main(name);
}

void threadname_init(void)
{
	char name[16] = "";

	direct3(SYS_prctl, PR_GET_NAME, name, 0);
	g_setname(g_main(), name);
}

void threadname_show(void)
{
	char name[16];

	g_getname(getg(), name);
	own3(SYS_prctl, PR_SET_NAME, name, 0);
}

EXPORT int pthread_setname_np(pthread_t t, const char *name)
{
	struct g *gp = weft_on ? g_of(t) : NULL;

	if (!gp)
		return real.pthread_setname_np(t, name);
	if (strlen(name) > 15)
		return ERANGE;
	if (has_ended(t))
		return ENOENT;
	rename_g(gp, name);
	return 0;
}

EXPORT int pthread_getname_np(pthread_t t, char *buf, size_t n)
{
	struct g *gp = weft_on ? g_of(t) : NULL;
	char name[16];

	if (!gp)
		return real.pthread_getname_np(t, buf, n);
	if (n < sizeof(name))
		return ERANGE;
	if (has_ended(t))
		return ENOENT; /* as libc, which asks /proc */
	g_getname(gp, name);
	memcpy(buf, name, sizeof(name));
	return 0;
}

long sets_name(const char *name)
{
	char own[16] = "";

	if (!user_string(own, name, sizeof(own) - 1))
		return -EFAULT;
	rename_g(getg(), own);
	return 0;
}
