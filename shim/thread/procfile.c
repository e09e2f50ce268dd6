/*
 * procfile: what a program reads of a thread in /proc/self/task/ID and its like.
 *
 * The kernel has such a folder for each kernel thread; a G's id names none, and main's names that of M0.
 * Programs read times, names and states of their threads there.  So stat, status, comm and schedstat
 * of a G are made when they are opened: the kernel's text for the M that the G is on (or for a thread
 * of ours that sleeps), with what is the G's own in it, in a file in memory.  Reading it again from the
 * start gives the same text.  Anything else is the file of the M.
 *
 *	/proc/self/task/ID/...	/proc/PID/task/ID/...	/proc/thread-self/...
 *	/proc/ID/...		the process's, as natively in nearly all
 *
 * The path is looked at only after the kernel has answered: then it can be read, and a call that has
 * nothing to do with this has cost nothing.
 *
 * Not seen: paths relative to a folder of /proc; what lists /proc/self/task, where the Ms are
 * (until main is alone: single.c); a name
 * written to comm.
 */
#include "runtime/process.h"
#include "shim/thread/procfile.h"

#include "shim/thread/tid.h"
#include "shim/signal/sigroute.h"

#include <string.h>

enum { STATUS_TEXT = 4096, STAT_TICK = 10000000 }; /* bytes of a status; ns, of the kernel's stat: always 1/100 s */

/* ---- the path -------------------------------------------------------------------------------- */

static bool starts(const char **s, const char *with)
{
	size_t n = strlen(with);

	if (strncmp(*s, with, n))
		return false;
	*s += n;
	return true;
}

static long number(const char **s)
{
	long n = 0;

	while (**s >= '0' && **s <= '9' && n < INT32_MAX)
		n = n * 10 + *(*s)++ - '0';
	return n;
}

enum kind { OF_NOTHING, OF_PROCESS, OF_THREAD };

/* rest: from the slash behind the thread, or the end. */
static enum kind parse(const char *path, struct thread **th, const char **rest)
{
	const char *s = path + sizeof("/proc/") - 1;
	bool by_thread = false;
	long id;

	*rest = s + sizeof("thread-self") - 1;
	if (on_g() && starts(&s, "thread-self/")) {
		*th = &self_thread;
		return OF_THREAD;
	}
	if (!starts(&s, "self")) {
		id = number(&s);
		by_thread = id >= G_ID_MIN && thread_by_id(id);
		if (!by_thread && id != direct3(SYS_getpid, 0, 0, 0))
			return OF_NOTHING;
	}
	*rest = s;
	if (!starts(&s, "/task/"))
		return by_thread && (!*s || *s == '/') ? OF_PROCESS : OF_NOTHING;
	*th = thread_by_id(number(&s));
	*rest = s;
	return *th && (!*s || *s == '/') ? OF_THREAD : OF_NOTHING;
}

bool procfile_lists(const char *path)
{
	const char *s = path + sizeof("/proc/") - 1;

	if (!starts(&s, "self") && number(&s) != direct3(SYS_getpid, 0, 0, 0))
		return false;
	if (!starts(&s, "/task"))
		return false;
	while (*s == '/')
		s++;
	return !*s;
}

/* ---- the text -------------------------------------------------------------------------------- */

struct text {
	struct thread *th;
	struct g *gp;
	int ostid;    /* whose text it begins as */
	bool on;      /* gp is there */
	int fd;
	size_t n;
	char from[STATUS_TEXT];
};

static void put(const struct text *t, const char *s, size_t n)
{
	direct3(SYS_write, t->fd, s, n);
}

#define PUT(t, ...)                                                                                \
	do {                                                                                       \
		char line_[80];                                                                    \
		int n_ = snprintf(line_, sizeof(line_), __VA_ARGS__);                              \
		put(t, line_, n_ < (int)sizeof(line_) ? (size_t)n_ : sizeof(line_) - 1);           \
	} while (0)

static bool slurp(struct text *t, const char *name)
{
	char path[64];
	long fd, r;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", t->ostid, name);
	fd = own4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	for (t->n = 0; (r = direct3(SYS_read, fd, t->from + t->n, STATUS_TEXT - 1 - t->n)) > 0;)
		t->n += (size_t)r;
	t->from[t->n] = '\0';
	direct3(SYS_close, fd, 0, 0);
	return t->n > 0;
}

static char state(const struct text *t, char of_m)
{
	return t->on ? of_m : g_waits(t->gp) ? 'S' : 'R';
}

/* "PID (NAME) STATE ..." and about fifty numbers. */
static bool text_stat(struct text *t)
{
	enum { STATE = 3, USER = 14, SYSTEM = 15 };
	char name[16], *s = strrchr(t->from, ')'), *fields[SYSTEM + 1];
	uint64_t user, system;

	if (!s)
		return false;
	s += 2;
	for (int i = STATE; i <= SYSTEM; i++) {
		fields[i] = s;
		s = strchr(s, ' ');
		if (!s++)
			return false;
	}
	thread_usage(t->th, t->on ? t->ostid : 0, strtoull(fields[SYSTEM], NULL, 10) * STAT_TICK, &user, &system);
	g_getname(t->gp, name);
	PUT(t, "%u (%s) %c ", g_tid(t->gp), name, state(t, *fields[STATE]));
	put(t, fields[STATE + 1], (size_t)(fields[USER] - fields[STATE + 1]));
	PUT(t, "%llu %llu ", (unsigned long long)user / STAT_TICK, (unsigned long long)system / STAT_TICK);
	put(t, s, strlen(s));
	return true;
}

static bool text_status(struct text *t)
{
	for (const char *s = t->from, *end; *s; s = end) {
		const char *line = s;
		char name[16], is = s[sizeof("State:\t") - 1];

		end = strchr(s, '\n');
		end = end ? end + 1 : s + strlen(s);
		if (starts(&s, "Name:")) {
			g_getname(t->gp, name);
			PUT(t, "Name:\t%s\n", name);
		} else if (starts(&s, "State:") && state(t, is) != is) {
			PUT(t, "State:\t%s\n", g_waits(t->gp) ? "S (sleeping)" : "R (running)");
		} else if (starts(&s, "Pid:")) {
			PUT(t, "Pid:\t%u\n", g_tid(t->gp));
		} else if (starts(&s, "SigBlk:")) {
			PUT(t, "SigBlk:\t%016llx\n", (unsigned long long)sigmask_of(t->gp));
		} else {
			put(t, line, (size_t)(end - line));
		}
	}
	return true;
}

static bool text_comm(struct text *t)
{
	char name[16];

	g_getname(t->gp, name);
	PUT(t, "%s\n", name);
	return true;
}

/* ns on a CPU, ns waiting for one, times: the last two are the M's. */
static bool text_schedstat(struct text *t)
{
	const char *rest = strchr(t->from, ' ');

	if (!rest)
		return false;
	PUT(t, "%llu", (unsigned long long)g_cputime(t->gp, NULL));
	put(t, rest, strlen(rest));
	return true;
}

static bool (*writer(const char *name))(struct text *t)
{
	static const struct {
		const char *name;
		bool (*write)(struct text *t);
	} texts[] = {
		{ "stat", text_stat },
		{ "status", text_status },
		{ "comm", text_comm },
		{ "schedstat", text_schedstat },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(name, texts[i].name))
			return texts[i].write;
	return NULL;
}

/* A number far up: the lowest is for what the program is about to open. */
static int memory_file(const char *name)
{
	enum { HIGH = 512 };
	long low = own3(SYS_memfd_create, name, 1 /* MFD_CLOEXEC */, 0), high;

	if (low < 0)
		return -1;
	high = own3(SYS_fcntl, low, F_DUPFD_CLOEXEC, HIGH);
	if (high < 0)
		return (int)low;
	direct3(SYS_close, low, 0, 0);
	return (int)high;
}

/* Far down the stack only while it is needed. */
static __attribute__((noinline)) int write_text(struct thread *th, int ostid, bool on, const char *name)
{
	struct text t;
	bool (*write)(struct text *t) = writer(name);

	t.th = th;
	t.gp = th->g;
	t.ostid = ostid;
	t.on = on;
	if (!slurp(&t, name))
		return -1;
	/* The G left that M in between: an M without work sleeps, while the G may be about to run. */
	if (on && th != &self_thread && g_m(th->g).ostid != ostid)
		t.on = false;
	t.fd = memory_file(name);
	if (t.fd >= 0 && !write(&t)) {
		direct3(SYS_close, t.fd, 0, 0);
		t.fd = -1;
	}
	return t.fd;
}

/* ---- both ------------------------------------------------------------------------------------ */

bool procfile_find(const char *path, struct procfile *pf)
{
	struct thread *th = NULL;
	const char *rest;
	int ostid;

	pf->fd = -1;
	switch (parse(path, &th, &rest)) {
	case OF_NOTHING:
		return false;
	case OF_PROCESS:
		return snprintf(pf->path, sizeof(pf->path), "/proc/self%s", rest) < (int)sizeof(pf->path);
	case OF_THREAD:
		break;
	}
	ostid = th == &self_thread ? (int)direct3(SYS_gettid, 0, 0, 0) : g_m(th->g).ostid;
	/* A filter may forbid the calls that it takes: then the text is the M's. */
	if (*rest && writer(rest + 1))
		pf->fd = write_text(th, ostid ? ostid : sigroute_tid(), ostid != 0, rest + 1);
	if (pf->fd >= 0) {
		snprintf(pf->path, sizeof(pf->path), "/proc/self/fd/%d", pf->fd);
		return true;
	}
	if (g_tid(th->g) < G_ID_MIN)
		return false; /* main's folder is there */
	return snprintf(pf->path, sizeof(pf->path), "/proc/self/task/%d%s", ostid ? ostid : sigroute_tid(),
			rest) < (int)sizeof(pf->path);
}

void procfile_end(const struct procfile *pf)
{
	if (pf->fd >= 0)
		direct3(SYS_close, pf->fd, 0, 0);
}
