/*
 * What the kernel keeps of a thread: a thread sets it, and has it at every later look; the threads
 * that were there, and those that others make, do not; the threads that it makes have what the
 * kernel passes on.  One line for each setting, in a process of its own, as the user that runs it and as
 * nobody; one that the user may not make, or this kernel has not, says so.
 */
#include "check.h"
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/fsuid.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int capget(cap_user_header_t h, cap_user_data_t d);
int capset(cap_user_header_t h, const cap_user_data_t d);

enum { OTHERS = 6, LOOKS = 40 };

/* ---- settings: set it (false: not here), and what is it? ------------------------------------- */

static long caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	CHECK_SYS(capget(&h, d));
	return d[0].effective;
}

/* Gives up the first of its capabilities. */
static int drop(int by_number)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];

	CHECK_SYS(capget(&h, d));
	if (!d[0].effective)
		return 0;
	d[0].effective &= d[0].effective - 1;
	return by_number ? syscall(SYS_capset, &h, d) == 0 : capset(&h, d) == 0;
}

static int set_caps(void)
{
	return drop(0);
}

static int set_caps_by_number(void)
{
	return drop(1);
}

static int set_persona(void)
{
	return personality((unsigned)personality(0xffffffff) ^ SHORT_INODE) != -1;
}

static long persona(void)
{
	return personality(0xffffffff);
}

static int set_persona_by_number(void)
{
	return syscall(SYS_personality, syscall(SYS_personality, 0xffffffff) ^ SHORT_INODE) != -1;
}

static long may_read(void)
{
	int fd = open("/etc/passwd", O_RDONLY);

	if (fd >= 0)
		CHECK_SYS(close(fd));
	return fd >= 0;
}

static int set_landlock(void)
{
	enum { CREATE_RULESET = 444, RESTRICT_SELF = 446, READ_FILE = 1 << 2 };
	const unsigned long long handled = READ_FILE;
	long fd = syscall(CREATE_RULESET, &handled, sizeof(handled), 0);
	int done;

	if (fd < 0)
		return 0;
	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	done = syscall(RESTRICT_SELF, fd, 0) == 0;
	CHECK_SYS(close((int)fd));
	return done;
}

static int set_memory(void)
{
	const unsigned long node = 1;

	return syscall(SYS_set_mempolicy, 3 /* interleaved */, &node, 64) == 0;
}

static long memory(void)
{
	int mode = -1;

	return syscall(SYS_get_mempolicy, &mode, NULL, 0, NULL, 0) == 0 ? mode : -1;
}

static int set_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static long privs(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

static int set_slack(void)
{
	return prctl(PR_SET_TIMERSLACK, 77777) == 0;
}

static long slack(void)
{
	return prctl(PR_GET_TIMERSLACK);
}

static int set_keep(void)
{
	return prctl(PR_SET_KEEPCAPS, 1) == 0;
}

static long keep(void)
{
	return prctl(PR_GET_KEEPCAPS);
}

static int set_secure(void)
{
	return prctl(PR_SET_SECUREBITS, prctl(PR_GET_SECUREBITS) | 1 /* root is nobody */) == 0;
}

static long secure(void)
{
	return prctl(PR_GET_SECUREBITS);
}

static int set_bound(void)
{
	return prctl(PR_CAPBSET_DROP, CAP_SYS_PACCT) == 0;
}

static long bound(void)
{
	return prctl(PR_CAPBSET_READ, CAP_SYS_PACCT);
}

static int set_mce(void)
{
	return prctl(PR_MCE_KILL, PR_MCE_KILL_SET, PR_MCE_KILL_EARLY, 0, 0) == 0;
}

static long mce(void)
{
	return prctl(PR_MCE_KILL_GET, 0, 0, 0, 0);
}

static int set_tsc(void)
{
	return prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
}

static long tsc(void)
{
	int how = 0;

	CHECK_SYS(prctl(PR_GET_TSC, &how));
	return how;
}

static int set_death(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGUSR1) == 0;
}

static long death(void)
{
	int sig = 0;

	CHECK_SYS(prctl(PR_GET_PDEATHSIG, &sig));
	return sig;
}

/* acct(2) ends with an error that it never has. */
static int filter(int by_prctl)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_acct, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	return by_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
			: syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static int set_filter(void)
{
	return filter(0);
}

static int set_filter_by_prctl(void)
{
	return filter(1);
}

static long filtered(void)
{
	errno = 0;
	return syscall(SYS_acct, "/nowhere/at/all") == -1 && errno == EDOM;
}

static int set_fs_user(void)
{
	setfsuid(12345);
	return setfsuid((uid_t)-1) == 12345;
}

static long fs_user(void)
{
	return setfsuid((uid_t)-1);
}

static int set_fs_group(void)
{
	setfsgid(12345);
	return setfsgid((gid_t)-1) == 12345;
}

static long fs_group(void)
{
	return setfsgid((gid_t)-1);
}

static int set_user(void)
{
	return syscall(SYS_setresuid, -1, 12345, -1) == 0;
}

static long user(void)
{
	return geteuid();
}

static int set_groups(void)
{
	const gid_t some[] = { 12345, 12346, 12347, 12348, 12349 };

	return syscall(SYS_setgroups, 5, some) == 0;
}

static long groups(void)
{
	return getgroups(0, NULL) == 5;
}

static int set_folder(void)
{
	return unshare(CLONE_FS) == 0 && chdir("/usr") == 0;
}

static long folder(void)
{
	char path[4096];

	CHECK(getcwd(path, sizeof(path)));
	return strcmp(path, "/usr") == 0;
}

static int set_host(void)
{
	return unshare(CLONE_NEWUTS) == 0 && sethostname("elsewhere", 9) == 0;
}

static long host(void)
{
	char name[128];

	CHECK_SYS(gethostname(name, sizeof(name)));
	return strcmp(name, "elsewhere") == 0;
}

static int set_joined(void)
{
	int fd = open("/proc/thread-self/ns/uts", O_RDONLY), done;

	if (fd < 0 || unshare(CLONE_NEWUTS) || sethostname("elsewhere", 9))
		return 0;
	done = setns(fd, CLONE_NEWUTS) == 0 && unshare(CLONE_NEWUTS) == 0 &&
	       sethostname("elsewhere", 9) == 0;
	CHECK_SYS(close(fd));
	return done;
}

static int set_disk(void)
{
	return syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 7) == 0;
}

static int set_disk_by_id(void)
{
	return syscall(SYS_ioprio_set, 1, gettid(), 2 << 13 | 7) == 0;
}

/* Best effort's lowest; what is never set may read as none, or as what a nice of 0 means. */
static long disk(void)
{
	return syscall(SYS_ioprio_get, 1, 0) == (2 << 13 | 7);
}

static int set_nice(void)
{
	return setpriority(PRIO_PROCESS, 0, 7) == 0;
}

static long nice_value(void)
{
	return getpriority(PRIO_PROCESS, 0);
}

static int set_ring(void)
{
	enum { JOIN_SESSION_KEYRING = 1 };

	return syscall(SYS_keyctl, JOIN_SESSION_KEYRING, NULL) > 0;
}

static long ring(void)
{
	enum { GET_KEYRING_ID = 0, SESSION_KEYRING = -3 };

	return syscall(SYS_keyctl, GET_KEYRING_ID, SESSION_KEYRING, 0);
}

static const struct {
	const char *name;
	int (*set)(void);
	long (*get)(void);
} settings[] = {
	{ "capset()", set_caps, caps },
	{ "capset by number", set_caps_by_number, caps },
	{ "personality()", set_persona, persona },
	{ "personality by number", set_persona_by_number, persona },
	{ "landlock", set_landlock, may_read },
	{ "memory policy", set_memory, memory },
	{ "no new privileges", set_privs, privs },
	{ "timer slack", set_slack, slack },
	{ "keep capabilities", set_keep, keep },
	{ "secure bits", set_secure, secure },
	{ "capability bounding set", set_bound, bound },
	{ "memory failures", set_mce, mce },
	{ "time stamp counter", set_tsc, tsc },
	{ "signal at the parent's death", set_death, death },
	{ "filter", set_filter, filtered },
	{ "filter by prctl", set_filter_by_prctl, filtered },
	{ "user for files", set_fs_user, fs_user },
	{ "group for files", set_fs_group, fs_group },
	{ "effective user by number", set_user, user },
	{ "groups by number", set_groups, groups },
	{ "current directory", set_folder, folder },
	{ "host name", set_host, host },
	{ "namespace joined", set_joined, host },
	{ "priority for disks", set_disk, disk },
	{ "priority for disks by id", set_disk_by_id, disk },
	{ "nice value", set_nice, nice_value },
	{ "session keyring", set_ring, ring },
};

/* ---- the process of one ---------------------------------------------------------------------- */

static long (*get)(void);
static int (*set)(void);
static pthread_barrier_t made, done, over;
static int possible;
static long was;

/* Looks again and again, on whatever it runs on then; they must agree. */
static long look(void)
{
	long first = get();

	for (int i = 0; i < LOOKS; i++) {
		struct timespec ts = { .tv_nsec = 20000 };

		if (i % 4 == 0)
			nanosleep(&ts, NULL);
		else
			sched_yield();
		CHECK_EQ(get(), first);
	}
	return first;
}

static void *other(void *arg)
{
	CHECK_EQ(look(), was);
	pthread_barrier_wait(&made);
	CHECK_EQ(look(), was);
	pthread_barrier_wait(&done);
	CHECK_EQ(look(), was);
	pthread_barrier_wait(&over);
	CHECK_EQ(look(), was);
	return arg;
}

static void *looks(void *arg)
{
	return (void *)look();
}

/* The grandchild is the child's witness. */
static void *inherits(void *arg)
{
	long own = look();

	CHECK_EQ((long)join(spawn(looks, NULL)), own);
	return (void *)own;
}

/* 1: it is passed on; 0: not. */
static void *setter(void *arg)
{
	long now, child[2];

	pthread_barrier_wait(&made);
	possible = set();
	pthread_barrier_wait(&done);
	now = look();
	for (int i = 0; i < 2; i++)
		child[i] = (long)join(spawn(inherits, NULL));
	CHECK_EQ(look(), now);
	CHECK_EQ(child[0], child[1]);
	if (possible) {
		CHECK(now != was);
		CHECK(child[0] == now || child[0] == was);
	}
	pthread_barrier_wait(&over);
	CHECK_EQ(look(), now);
	return (void *)(long)(child[0] == now);
}

/* 0: not here; 1: the setter's alone; 2: its threads have it, too. */
static int process_of(int i)
{
	pthread_t others[OTHERS], t;
	long passed_on;

	get = settings[i].get;
	set = settings[i].set;
	was = get();
	CHECK_OK(pthread_barrier_init(&made, NULL, OTHERS + 2));
	CHECK_OK(pthread_barrier_init(&done, NULL, OTHERS + 2));
	CHECK_OK(pthread_barrier_init(&over, NULL, OTHERS + 2));
	for (int k = 0; k < OTHERS; k++)
		others[k] = spawn(other, NULL);
	t = spawn(setter, NULL);
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&done);
	CHECK_EQ(look(), was);
	CHECK_EQ((long)join(spawn(looks, NULL)), was);
	pthread_barrier_wait(&over);
	passed_on = (long)join(t);
	CHECK_EQ((long)join(spawn(looks, NULL)), was);
	CHECK_EQ(look(), was);
	for (int k = 0; k < OTHERS; k++)
		join(others[k]);
	return !possible ? 0 : passed_on ? 2 : 1;
}

static void become_nobody(void)
{
	if (geteuid())
		return;
	CHECK_SYS(setgroups(0, NULL));
	CHECK_SYS(setresgid(65534, 65534, 65534));
	CHECK_SYS(setresuid(65534, 65534, 65534));
}

int main(void)
{
	static const char *const words[] = { "not to be had here", "its thread's alone",
					     "its thread's, and its threads'" };

	enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

	CHECK_SYS(chdir("/tmp"));
	for (int i = 0; i < 2 * SETTINGS; i++) {
		bool nobody = i >= SETTINGS;
		int status;
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			if (nobody)
				become_nobody();
			_exit(process_of(i % SETTINGS));
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		CHECK(WEXITSTATUS(status) < 3);
		passed("%s%s: %s", settings[i % SETTINGS].name, nobody ? ", as nobody" : "",
		       words[WEXITSTATUS(status)]);
	}
	return 0;
}
