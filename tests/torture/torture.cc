/*
 * torture: everything a thread believes to be its own, checked while it keeps changing its place.
 *
 *   torture [CHECKS [SEED [TURN,...]]]     default 1000000 checks, seed 1, all turns
 *
 * A list of turns (errno, stdio, fork, ... as in the table below) runs only those: to find a fault.
 *
 * Generations of threads run short "turns" picked by a seeded generator.  A turn sets some state
 * that libc, the C++ runtime, the compiler or the kernel keeps for a thread, goes through one or
 * more migration points (sched_yield, usleep(0), a hand-off of a contended mutex, a condition
 * variable, a pipe), and then checks that the state is this thread's still.  Under 1:1 threads
 * nothing can go wrong, which makes libc the oracle; under M:N each migration point may bring the
 * thread back on another kernel thread.
 *
 * Threads come and go (generations), so control blocks, stacks and TLS are reused; libraries with
 * TLS are loaded while threads live; processes are made by fork (the child makes threads again),
 * popen and posix_spawn.  Ends when CHECKS checks were made, prints "checks CHECKS failures N" (the
 * exact number, which differs from run to run, goes to standard error) and exits 0 when none
 * failed.
 *
 * Must never: take a time as a criterion; leave a file behind; stop at the first failure (the count
 * tells more; the first 20 are printed).
 */
#include <atomic>
#include <cctype>
#include <cerrno>
#include <clocale>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <fenv.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <netdb.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace {

/* ---- Counting: one relaxed counter per thread, added up at the end of its life. */

std::atomic<long> checks, failures;
long wanted = 1000000;

thread_local long my_checks;

void flush_checks()
{
	checks += my_checks;
	my_checks = 0;
}

void failed(const char *what, int line)
{
	if (failures++ < 20)
		fprintf(stderr, "torture: line %d: %s\n", line, what);
}

#define OK(cond)                                                                                   \
	do {                                                                                       \
		my_checks++;                                                                       \
		if (!(cond))                                                                       \
			failed(#cond, __LINE__);                                                   \
	} while (0)

bool done()
{
	return checks >= wanted;
}

/* ---- Random numbers of the thread, in a plain local: nothing under test may feed them. */

struct rng {
	uint64_t s;
	uint32_t next()
	{
		s ^= s << 13;
		s ^= s >> 7;
		s ^= s << 17;
		return (uint32_t)(s >> 32);
	}
	uint32_t below(uint32_t n)
	{
		return next() % n;
	}
};

/* ---- Migration points. */

pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t park_mu = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t park_cv = PTHREAD_COND_INITIALIZER;
long park_round;
int token_pipe[2];
sem_t places;

void hand_off()
{
	pthread_mutex_lock(&baton);
	sched_yield();
	pthread_mutex_unlock(&baton);
}

/* Waits for the next arrival; a time-out keeps the last one from waiting for ever. */
void park()
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	pthread_mutex_lock(&park_mu);
	long round = ++park_round;

	pthread_cond_broadcast(&park_cv);
	while (park_round == round)
		if (pthread_cond_timedwait(&park_cv, &park_mu, &ts) != 0)
			break;
	pthread_mutex_unlock(&park_mu);
}

/* A token goes in and any thread's token comes out: a blocking read. */
void through_pipe()
{
	char c = 't';

	while (read(token_pipe[0], &c, 1) != 1)
		;
	sched_yield();
	while (write(token_pipe[1], &c, 1) != 1)
		;
}

void through_semaphore()
{
	while (sem_wait(&places) != 0)
		;
	sched_yield();
	sem_post(&places);
}

void move(rng &r)
{
	int saved =
		errno; /* the calls below may set it; state under test is checked by turn_errno */

	switch (r.below(12)) {
	case 0:
		hand_off();
		break;
	case 1:
		usleep(0);
		break;
	case 2:
		through_pipe();
		break;
	case 3:
		through_semaphore();
		break;
	case 4:
		if (r.below(8) == 0)
			park();
		else
			sched_yield();
		break;
	default:
		sched_yield();
		break;
	}
	errno = saved;
}

/* ---- TLS of the program: local-exec and initial-exec, C++ objects with destructors. */

thread_local long exec_tls = 11;
thread_local long exec_tls_array[100] = { 22 };
std::atomic<long> objects_made, objects_unmade;

struct object {
	std::string text = "a string too long for the small buffer of std::string";
	pthread_t owner = pthread_self();
	object()
	{
		objects_made++;
	}
	~object()
	{
		OK(pthread_equal(owner, pthread_self()));
		sched_yield();
		OK(text == "a string too long for the small buffer of std::string");
		objects_unmade++;
		flush_checks();
	}
};

thread_local object object_tls;

/* ---- 200 keys. */

constexpr int KEYS = 200;
pthread_key_t keys[KEYS];
std::atomic<long> key_values, key_destroyed;

struct key_value {
	int key;
	pthread_t owner;
};

void destroy_key(void *p)
{
	key_value *v = static_cast<key_value *>(p);

	OK(pthread_equal(v->owner, pthread_self()));
	OK(pthread_getspecific(keys[v->key]) == nullptr);
	if (v->key % 40 == 0)
		sched_yield();
	delete v;
	key_destroyed++;
	flush_checks();
}

/* ---- Libraries with TLS. */

constexpr int LIBS = 4;

struct lib {
	long (*tls)(long);
	long initial, variables;
};

std::atomic<lib *> libs[LIBS];

void load_lib(int n)
{
	char name[64];

	snprintf(name, sizeof name, "$ORIGIN/lib/torture-tls-%d.so", n);
	void *h = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (!h) {
		fprintf(stderr, "torture: %s\n", dlerror());
		failures++;
		return;
	}
	lib *l = new lib;

	l->tls = reinterpret_cast<long (*)(long)>(dlsym(h, "torture_tls"));
	l->initial = reinterpret_cast<long (*)()>(dlsym(h, "torture_tls_initial"))();
	l->variables = reinterpret_cast<long (*)()>(dlsym(h, "torture_tls_variables"))();
	libs[n] = l;
}

locale_t utf8;

/* ---- One thread's view of itself, kept on its stack. */

struct life {
	rng r;
	long number;
	long lib_added[LIBS] = {};
	bool lib_seen[LIBS] = {};
	long exec_value = 11;
	bool own_locale = false;
	int *errno_address = &errno;
	pthread_t self = pthread_self();
};

void turn_errno(life &me)
{
	int mine = 1 + (int)me.r.below(130);

	errno = mine;
	sched_yield();
	OK(errno == mine);
	OK(&errno == me.errno_address);
	errno = mine + 1;
	hand_off();
	OK(errno == mine + 1);
	h_errno = mine;
	move(me.r);
	OK(h_errno == mine);
	OK(pthread_equal(me.self, pthread_self()));
}

void turn_strerror(life &me)
{
	int n = 3000 + (int)me.number;
	char want[64];
	const char *text = strerror(n);

	snprintf(want, sizeof want, "Unknown error %d", n);
	move(me.r);
	OK(strcmp(text, want) == 0);
	text = strsignal(n);
	snprintf(want, sizeof want, "Unknown signal %d", n);
	move(me.r);
	OK(strcmp(text, want) == 0);
}

void turn_stdio(life &me)
{
	FILE *f = tmpfile();
	char line[64], want[64];

	OK(f != nullptr);
	if (!f)
		return;
	for (int i = 0; i < 8; i++) {
		fprintf(f, "%ld %d\n", me.number, i);
		if (i % 3 == 0)
			move(me.r);
	}
	flockfile(f);
	move(me.r);
	fputs("held\n", f);
	funlockfile(f);
	rewind(f);
	for (int i = 0; i < 8; i++) {
		snprintf(want, sizeof want, "%ld %d\n", me.number, i);
		OK(fgets(line, sizeof line, f) && strcmp(line, want) == 0);
	}
	OK(fgets(line, sizeof line, f) && strcmp(line, "held\n") == 0);
	OK(fclose(f) == 0);
}

/* One FILE for all: lines must stay whole, which the reader at the end verifies. */
FILE *common;
std::atomic<long> common_lines;

void turn_common_file(life &me)
{
	for (int i = 0; i < 4; i++) {
		flockfile(common);
		fprintf(common, "%ld", me.number);
		if (i == 0)
			sched_yield();
		fprintf(common, " %ld\n", me.number);
		funlockfile(common);
		common_lines++;
	}
	OK(!ferror(common));
}

void turn_malloc(life &me)
{
	struct {
		unsigned char *p;
		size_t n;
		unsigned char fill;
	} b[16];

	for (auto &x : b) {
		x.n = 1 + me.r.below(me.r.below(4) == 0 ? 100000 : 300);
		x.fill = (unsigned char)me.r.next();
		x.p = static_cast<unsigned char *>(malloc(x.n));
		OK(x.p != nullptr);
		memset(x.p, x.fill, x.n);
	}
	move(me.r);
	for (int i = 0; i < 16; i += 2) {
		b[i].p = static_cast<unsigned char *>(realloc(b[i].p, b[i].n + 50));
		OK(b[i].p != nullptr);
	}
	move(me.r);
	for (auto &x : b) {
		OK(x.p[0] == x.fill && x.p[x.n / 2] == x.fill && x.p[x.n - 1] == x.fill);
		free(x.p);
	}
}

/* Blocks that another thread frees. */
pthread_mutex_t box_mu = PTHREAD_MUTEX_INITIALIZER;
struct boxed {
	long number;
	long *copy;
};
boxed box[32];

void turn_exchange(life &me)
{
	int n = (int)me.r.below(32);
	boxed mine = { me.number, new long(me.number) };

	pthread_mutex_lock(&box_mu);
	std::swap(mine, box[n]);
	pthread_mutex_unlock(&box_mu);
	if (mine.copy) {
		OK(*mine.copy == mine.number);
		delete mine.copy;
	}
}

void turn_locale(life &me)
{
	locale_t was = me.own_locale ? utf8 : LC_GLOBAL_LOCALE;

	OK(uselocale((locale_t)0) == was);
	OK(MB_CUR_MAX == (me.own_locale ? 6u : 1u));
	me.own_locale = !me.own_locale;
	OK(uselocale(me.own_locale ? utf8 : LC_GLOBAL_LOCALE) == was);
	move(me.r);
	OK(MB_CUR_MAX == (me.own_locale ? 6u : 1u));
	OK(strcmp(nl_langinfo(CODESET), me.own_locale ? "UTF-8" : "ANSI_X3.4-1968") == 0);
	OK(isalpha('q') && !isalpha('7') && toupper('k') == 'K' && isspace('\t'));
}

void turn_exec_tls(life &me)
{
	OK(exec_tls == me.exec_value);
	OK(exec_tls_array[0] == 22 &&
	   exec_tls_array[99] == (me.exec_value == 11 ? 0 : me.exec_value));
	me.exec_value = 100 + me.r.below(1000);
	exec_tls = exec_tls_array[99] = me.exec_value;
	long *address = &exec_tls;

	move(me.r);
	OK(address == &exec_tls);
	OK(exec_tls == me.exec_value && exec_tls_array[99] == me.exec_value);
	OK(pthread_equal(object_tls.owner, pthread_self()));
}

void turn_lib_tls(life &me)
{
	for (int n = 0; n < LIBS; n++) {
		lib *l = libs[n];

		if (!l)
			continue;
		if (!me.lib_seen[n]) {
			OK(l->tls(0) == l->initial);
			me.lib_seen[n] = true;
		}
		long add = 1 + me.r.below(50);

		me.lib_added[n] += add;
		OK(l->tls(add) == l->initial + l->variables * me.lib_added[n]);
		move(me.r);
		OK(l->tls(0) == l->initial + l->variables * me.lib_added[n]);
	}
}

void turn_keys(life &me)
{
	int from = (int)me.r.below(KEYS);

	for (int i = 0; i < 20; i++) {
		int k = (from + i) % KEYS;
		key_value *v = static_cast<key_value *>(pthread_getspecific(keys[k]));

		if (!v) {
			v = new key_value{ k, pthread_self() };
			OK(pthread_setspecific(keys[k], v) == 0);
			key_values++;
		}
		if (i % 6 == 0)
			move(me.r);
		OK(v->key == k && pthread_equal(v->owner, pthread_self()));
		OK(pthread_getspecific(keys[k]) == v);
	}
}

struct unwound {
	life &me;
	int expect;
	~unwound()
	{
		OK(std::uncaught_exceptions() == expect);
		move(me.r);
		OK(std::uncaught_exceptions() == expect);
	}
};

[[gnu::noinline]] void throw_deep(life &me, int depth, const std::string &what)
{
	unwound u{ me, 1 };

	if (depth == 0)
		throw std::runtime_error(what);
	throw_deep(me, depth - 1, what);
	u.expect = 0; /* not reached; keeps the frame */
}

void turn_exception(life &me)
{
	std::string what = "exception " + std::to_string(me.number) + " with a long text";

	try {
		throw_deep(me, (int)me.r.below(5), what);
		OK(false);
	} catch (const std::runtime_error &e) {
		OK(what == e.what());
		hand_off();
		through_pipe();
		OK(what == e.what());
		try {
			move(me.r);
			throw me.number;
		} catch (long n) {
			move(me.r);
			OK(n == me.number);
		}
		std::exception_ptr p = std::current_exception();

		OK(p != nullptr);
		try {
			std::rethrow_exception(p);
		} catch (const std::exception &again) {
			usleep(0);
			OK(what == again.what());
		}
	}
	OK(std::uncaught_exceptions() == 0);
	OK(std::current_exception() == nullptr);
}

void turn_float(life &me)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO };
	int mode = modes[me.r.below(4)];
	volatile double x = 1.0 + me.r.below(1000), three = 3.0;

	fesetround(mode);
	double q = x / three;

	feclearexcept(FE_ALL_EXCEPT);
	move(me.r);
	OK(fegetround() == mode);
	OK(x / three == q);
	volatile long double y = x;
	OK((double)(y / 1.0L) == x);
	fesetround(FE_TONEAREST);
	OK(std::abs(std::sin(x) * std::sin(x) + std::cos(x) * std::cos(x) - 1.0) < 1e-9);
}

void turn_mask(life &me)
{
	int sig = SIGRTMIN + (int)me.r.below(16);
	sigset_t set, old, now;

	sigemptyset(&set);
	sigaddset(&set, sig);
	OK(pthread_sigmask(SIG_BLOCK, &set, &old) == 0);
	move(me.r);
	pthread_sigmask(SIG_SETMASK, nullptr, &now);
	for (int i = 0; i < 16; i++)
		OK(sigismember(&now, SIGRTMIN + i) == (SIGRTMIN + i == sig));
	pthread_kill(pthread_self(), sig);
	move(me.r);
	sigpending(&now);
	OK(sigismember(&now, sig) == 1);
	struct timespec zero = { 0, 0 };
	OK(sigtimedwait(&set, nullptr, &zero) == sig);
	OK(pthread_sigmask(SIG_SETMASK, &old, nullptr) == 0);
}

void turn_jump(life &me)
{
	sigjmp_buf here;
	volatile int n = 0;

	if (sigsetjmp(here, 1) < 3) {
		n = n + 1;
		move(me.r);
		siglongjmp(here, n);
	}
	OK(n == 3);
}

void turn_dlerror(life &me)
{
	char name[64];

	snprintf(name, sizeof name, "/nonexistent/torture-%ld.so", me.number);
	OK(dlopen(name, RTLD_NOW) == nullptr);
	move(me.r);
	const char *e = dlerror();

	OK(e && strstr(e, name));
	OK(dlerror() == nullptr);
}

int localhost_answer; /* the resolver's, without threads: a bare system knows no names */

int resolve(struct addrinfo **ai)
{
	struct addrinfo hints = {};

	hints.ai_family = AF_INET;
	hints.ai_socktype = SOCK_STREAM;
	return getaddrinfo("localhost", "80", &hints, ai);
}

/* Here the resolver must load its libraries when threads exist. */
int resolve_in_a_child()
{
	struct addrinfo *ai = nullptr;
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(-resolve(&ai)); /* its errors are small negative numbers */
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return -WEXITSTATUS(status);
}

void turn_resolver(life &me)
{
	struct addrinfo *ai = nullptr;

	OK(resolve(&ai) == localhost_answer);
	move(me.r);
	if (ai) {
		auto *sin = reinterpret_cast<struct sockaddr_in *>(ai->ai_addr);

		OK(sin->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && ntohs(sin->sin_port) == 80);
		freeaddrinfo(ai);
	}
}

void turn_popen(life &me)
{
	char cmd[64], line[64], want[64];

	snprintf(cmd, sizeof cmd, "echo %ld; exit 7", me.number);
	snprintf(want, sizeof want, "%ld\n", me.number);
	FILE *f = popen(cmd, "r");

	OK(f != nullptr);
	if (!f)
		return;
	OK(fgets(line, sizeof line, f) && strcmp(line, want) == 0);
	move(me.r);
	OK(WEXITSTATUS(pclose(f)) == 7);
}

void turn_spawn(life &me)
{
	char arg[] = "exit 9", sh[] = "sh", c[] = "-c";
	char *argv[] = { sh, c, arg, nullptr };
	int status = 0;
	pid_t pid;

	OK(posix_spawn(&pid, "/bin/sh", nullptr, nullptr, argv, environ) == 0);
	move(me.r);
	OK(waitpid(pid, &status, 0) == pid);
	OK(WIFEXITED(status) && WEXITSTATUS(status) == 9);
}

void *in_child(void *arg)
{
	long *count = static_cast<long *>(arg);

	if (exec_tls != 11 || errno != 0)
		return nullptr;
	errno = 5;
	void *volatile p = malloc(1000);

	free(p);
	for (int i = 0; i < 3; i++)
		sched_yield();
	if (errno == 5)
		__atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/*
 * On memory that no thread has used before.  A thread on glibc's recycled stacks closes, when it
 * ends, the resolver state of the stack's earlier owner, under a lock of the resolver that fork
 * does not reset: if somebody else held it at the moment of the fork, the child's thread would hang
 * in libc itself.
 */
bool create_on_fresh_memory(pthread_t *t, void *(*fn)(void *), void *arg)
{
	constexpr size_t size = 256 * 1024;
	void *mem = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;

	return mem != MAP_FAILED && pthread_attr_init(&attr) == 0 &&
	       pthread_attr_setstack(&attr, mem, size) == 0 &&
	       pthread_create(t, &attr, fn, arg) == 0;
}

/*
 * libgcc before 12 looks for what an exception passes through under a lock of the loader's (dl_iterate_phdr), which libc
 * does not free in a child: where another thread threw just then, a child that throws waits for ever.
 */
#if defined(__clang__) || __GNUC__ >= 12
constexpr bool child_may_throw = true;
#else
constexpr bool child_may_throw = false;
#endif

void turn_fork(life &me)
{
	long mine = exec_tls;
	int status = 0;

	fflush(stderr);
	pid_t pid = fork();

	OK(pid >= 0);
	if (pid == 0) {
		long count = 0;
		pthread_t t[4];
		bool good = exec_tls == mine && pthread_equal(me.self, pthread_self());

		for (auto &x : t)
			good &= create_on_fresh_memory(&x, in_child, &count);
		for (auto &x : t)
			good &= pthread_join(x, nullptr) == 0;
		try {
			if (child_may_throw)
				throw me.number;
		} catch (long n) {
			sched_yield();
			good &= n == me.number;
		}
		_exit(good && count == 4 ? 12 : 13);
	}
	move(me.r);
	OK(waitpid(pid, &status, 0) == pid);
	OK(WIFEXITED(status) && WEXITSTATUS(status) == 12);
	OK(exec_tls == mine);
}

void *cancelled_one(void *arg)
{
	struct guard {
		std::atomic<int> *n;
		~guard()
		{
			++*n;
		}
	} g{ static_cast<std::atomic<int> *>(arg) };

	for (;;) {
		sched_yield();
		pthread_testcancel();
		usleep(0);
	}
	return nullptr;
}

void turn_cancel(life &me)
{
	std::atomic<int> unwound_frames{ 0 };
	void *value = nullptr;
	pthread_t t;

	if (pthread_create(&t, nullptr, cancelled_one, &unwound_frames) != 0) {
		OK(false);
		return;
	}
	move(me.r);
	OK(pthread_cancel(t) == 0);
	OK(pthread_join(t, &value) == 0);
	OK(value == PTHREAD_CANCELED);
	OK(unwound_frames == 1);
}

/* A registry of turns: common ones many times, those that make processes seldom. */
struct {
	const char *name;
	void (*turn)(life &);
	unsigned weight;
} turns[] = {
	{ "errno", turn_errno, 60 },
	{ "strerror", turn_strerror, 40 },
	{ "stdio", turn_stdio, 20 },
	{ "file", turn_common_file, 20 },
	{ "malloc", turn_malloc, 40 },
	{ "exchange", turn_exchange, 40 },
	{ "locale", turn_locale, 40 },
	{ "tls", turn_exec_tls, 60 },
	{ "libtls", turn_lib_tls, 60 },
	{ "keys", turn_keys, 40 },
	{ "exception", turn_exception, 40 },
	{ "float", turn_float, 40 },
	{ "mask", turn_mask, 30 },
	{ "jump", turn_jump, 30 },
	{ "dlerror", turn_dlerror, 15 },
	{ "resolver", turn_resolver, 6 },
	{ "cancel", turn_cancel, 10 },
	{ "popen", turn_popen, 1 },
	{ "spawn", turn_spawn, 1 },
	{ "fork", turn_fork, 1 },
};

/* Not a local static of live(): its guard waits by futex, which sets the errno that live() looks
 * at. */
unsigned total;

/* Leaves the weight of those in the list (all when there is none); false when it names an unknown
 * one. */
bool choose_turns(const char *list)
{
	std::string left = list ? std::string(list) + "," : "";

	for (auto &t : turns) {
		std::string name = std::string(t.name) + ",";
		auto at = left.find(name);

		while (at != std::string::npos && at > 0 && left[at - 1] != ',')
			at = left.find(name, at + 1);
		if (at != std::string::npos)
			left.erase(at, name.size());
		else if (list)
			t.weight = 0;
		total += t.weight;
	}
	return left.empty() && total > 0;
}

void *live(void *arg)
{
	uint64_t seed = reinterpret_cast<uint64_t>(arg);
	life me{ { seed * 0x9e3779b97f4a7c15ull | 1 }, (long)(seed % 100000) };

	/* What a new thread must find, whoever used its memory before. */
	OK(errno == 0);
	OK(dlerror() == nullptr);
	OK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
	OK(pthread_getspecific(keys[me.r.below(KEYS)]) == nullptr);
	OK(std::uncaught_exceptions() == 0 && std::current_exception() == nullptr);

	unsigned n = 20 + me.r.below(100);
	for (unsigned i = 0; i < n && !done(); i++) {
		unsigned pick = me.r.below(total);

		for (auto &t : turns) {
			if (pick < t.weight) {
				t.turn(me);
				break;
			}
			pick -= t.weight;
		}
		flush_checks();
	}
	if (me.own_locale)
		uselocale(LC_GLOBAL_LOCALE);
	flush_checks();
	if (me.r.below(3) == 0)
		pthread_exit(reinterpret_cast<void *>(me.number));
	return reinterpret_cast<void *>(me.number);
}

void read_common_file()
{
	char line[64];
	long lines = 0, a, b;

	rewind(common);
	while (fgets(line, sizeof line, common)) {
		OK(sscanf(line, "%ld %ld", &a, &b) == 2 && a == b);
		lines++;
	}
	OK(lines == common_lines);
}

} // namespace

int main(int argc, char **argv)
{
	constexpr int THREADS = 64;
	uint64_t seed = 1;
	pthread_t t[THREADS];

	if (argc > 1)
		wanted = atol(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], nullptr, 0);
	if (wanted <= 0 || !choose_turns(argc > 3 ? argv[3] : nullptr)) {
		fprintf(stderr, "usage: torture [CHECKS [SEED [TURN,...]]]\n");
		return 2;
	}
	localhost_answer = resolve_in_a_child();
	utf8 = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	common = tmpfile();
	if (!utf8 || !common || pipe(token_pipe) != 0 || sem_init(&places, 0, 5) != 0 ||
	    write(token_pipe[1], "tttt", 4) != 4) {
		perror("torture: set-up");
		return 2;
	}
	for (auto &k : keys)
		if (pthread_key_create(&k, destroy_key) != 0)
			return 2;

	unsigned long number = 0;

	for (auto &x : t)
		if (pthread_create(&x, nullptr, live,
				   reinterpret_cast<void *>(seed * 1000003 + number++)))
			return 2;
	for (int loaded = 0; !done() || loaded < LIBS;) {
		for (auto &x : t) {
			void *value = nullptr;

			OK(pthread_join(x, &value) == 0);
			if (pthread_create(&x, nullptr, live,
					   reinterpret_cast<void *>(seed * 1000003 + number++)))
				return 2;
			if (loaded < LIBS && number % 16 == 0)
				load_lib(loaded++);
		}
	}
	for (auto &x : t)
		OK(pthread_join(x, nullptr) == 0);
	for (auto &b : box)
		delete b.copy;
	read_common_file();
	OK(objects_unmade >= objects_made - 1); /* main's own lives on, if it was made */
	OK(key_destroyed == key_values);
	flush_checks();
	OK(checks >= wanted);
	fprintf(stderr, "torture: %ld checks by %lu threads\n", checks.load(), number);
	printf("checks %ld failures %ld\n", wanted, failures.load());
	return failures ? 1 : 0;
}
