/*
 * Who makes the first thread of a process: each row of the table is a run of this program by itself,
 * in which nobody made a thread before.  The first threads wait for each other in every way; then
 * main makes threads, too.
 */
#include "check.h"

#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <mqueue.h>
#include <netdb.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>

static const char *row; /* NULL: the run that starts the others */
static sem_t done;
static atomic_int calls;

/* ---- what the first threads do ---- */

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static _Thread_local int local = 5;

static void *worker(void *arg)
{
	int me = *(int *)arg, *own = malloc(100);

	CHECK_EQ(local, 5);
	local = me;
	errno = 1000 + me;
	CHECK_OK(pthread_mutex_lock(&mu));
	while (turn != me)
		CHECK_OK(pthread_cond_wait(&changed, &mu));
	turn++;
	CHECK_OK(pthread_cond_broadcast(&changed));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_SYS(usleep(100));
	CHECK_EQ(errno, 1000 + me);
	CHECK_EQ(local, me);
	free(own);
	return arg;
}

static void threads(void)
{
	enum { N = 5 };
	int n[N];
	pthread_t t[N];

	turn = 1;
	for (int i = 0; i < N; i++) {
		n[i] = N - i;
		t[i] = spawn(worker, &n[i]);
	}
	for (int i = 0; i < N; i++)
		CHECK(join(t[i]) == &n[i]);
	calls++;
}

/* ---- callers that begin before main ---- */

static int is(const char *name)
{
	return row && !strcmp(row, name);
}

static int qualified(const char *name, int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], name);
}

/* libc is not initialised: only threads that do not allocate or print. */
static void *returns(void *arg)
{
	calls++;
	return arg;
}

static void preinit(int argc, char **argv)
{
	if (qualified("preinit_array", argc, argv))
		CHECK(join(spawn(returns, &calls)) == &calls);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinits[])(int, char **) = {
	preinit,
};

__attribute__((constructor)) static void constructor(int argc, char **argv)
{
	if (qualified("constructor", argc, argv))
		threads();
}

__attribute__((destructor)) static void destructor(void)
{
	if (is("destructor")) {
		threads();
		passed("destructor: %d", calls);
	}
}

/* ---- callers by name: each makes the first thread and returns ---- */

static void from_main(void)
{
	threads();
}

static int c11_worker(void *arg)
{
	worker(arg);
	return 7;
}

static void from_c11(void)
{
	int one = 1, r = 0;
	thrd_t t;

	turn = 1;
	CHECK_EQ(thrd_create(&t, c11_worker, &one), thrd_success);
	CHECK_EQ(thrd_join(t, &r), thrd_success);
	CHECK_EQ(r, 7);
	calls++;
}

static void at_the_end(void)
{
	threads();
	passed("at the end: %d", calls);
}

static void from_atexit(void)
{
	CHECK_EQ(atexit(at_the_end), 0);
}

static void nothing(void)
{
}

static void at_quick_exit_handler(void)
{
	threads();
	passed("quick_exit: %d", calls);
}

static void from_quick_exit(void)
{
	CHECK_EQ(at_quick_exit(at_quick_exit_handler), 0);
	quick_exit(0);
}

static void handler(int sig)
{
	(void)sig;
	threads();
}

static void from_handler(void)
{
	struct sigaction sa = {.sa_handler = handler};

	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_EQ(raise(SIGUSR1), 0);
}

static void from_handler_elsewhere(void)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK}, dfl = {.sa_handler = SIG_DFL};
	stack_t st = {.ss_size = 65536}, off = {.ss_flags = SS_DISABLE};

	CHECK(st.ss_sp = malloc(st.ss_size));
	CHECK_SYS(sigaltstack(&st, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_SYS(sigaltstack(&off, NULL));
	CHECK_SYS(sigaction(SIGUSR1, &dfl, NULL));
	free(st.ss_sp);
}

static void from_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		threads();
		_exit(calls == 1 ? 5 : 6);
	}
	child_ends(pid, 5);
	threads();
}

static void from_grandchild(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pid = fork();
		if (pid == 0)
			threads();
		else
			child_ends(pid, 5);
		_exit(5);
	}
	child_ends(pid, 5);
	threads();
}

static void from_fork_prepare(void)
{
	pid_t pid;

	CHECK_OK(pthread_atfork(from_main, NULL, NULL));
	pid = fork();
	if (pid == 0)
		_exit(5);
	child_ends(pid, 5);
}

static void from_fork_child(void)
{
	pid_t pid;

	CHECK_OK(pthread_atfork(NULL, NULL, from_main));
	pid = fork();
	if (pid == 0)
		_exit(calls == 1 ? 5 : 6);
	child_ends(pid, 5);
	threads();
}

static void from_fork_parent(void)
{
	pid_t pid;

	CHECK_OK(pthread_atfork(NULL, from_main, NULL));
	pid = fork();
	if (pid == 0)
		_exit(5);
	child_ends(pid, 5);
}

static void from_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	CHECK_OK(pthread_once(&once, from_main));
}

static int compare(const void *a, const void *b)
{
	if (!calls)
		threads();
	return *(const int *)a - *(const int *)b;
}

static void from_qsort(void)
{
	int v[] = {3, 1, 2};

	qsort(v, 3, sizeof v[0], compare);
	CHECK(v[0] == 1 && v[1] == 2 && v[2] == 3);
}

static int object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	threads();
	return 1;
}

static void from_phdr(void)
{
	CHECK_EQ(dl_iterate_phdr(object, NULL), 1);
}

static ssize_t cookie_write(void *cookie, const char *buf, size_t n)
{
	(void)cookie, (void)buf;
	threads();
	return (ssize_t)n;
}

static void from_stream(void)
{
	cookie_io_functions_t io = {.write = cookie_write};
	FILE *f = fopencookie(NULL, "w", io);

	CHECK(f);
	CHECK_EQ(fprintf(f, "x"), 1);
	CHECK_EQ(fclose(f), 0);
}

static void from_library(void)
{
	void *h = dlopen("$ORIGIN/lib/ctor-threads.so", RTLD_NOW);
	int (*made)(void) = h ? (int (*)(void))dlsym(h, "ctor_threads_made") : NULL;

	if (!made) {
		printf("%s\n", dlerror());
		exit(1);
	}
	CHECK_EQ(made(), 2);
	calls++;
}

/* ---- threads of libc's own ---- */

static void called(union sigval v)
{
	(void)v;
	if (calls)
		return; /* a timer's second tick */
	threads();
	CHECK_SYS(sem_post(&done));
}

static struct sigevent by_thread(void)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD};

	ev.sigev_notify_function = called;
	return ev;
}

static void await_call(void)
{
	while (sem_wait(&done) == -1)
		CHECK_EQ(errno, EINTR);
}

static void from_timer(void)
{
	struct sigevent ev = by_thread();
	struct itimerspec its = {{0, 0}, {0, 1000000}};
	timer_t timer;

	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
	await_call();
	CHECK_SYS(timer_delete(timer));
}

/* Main waits for what a thread of the callback's tells it. */
static void called_for_main(union sigval v)
{
	(void)v;
	threads();
	CHECK_OK(pthread_mutex_lock(&mu));
	turn = 100;
	CHECK_OK(pthread_cond_broadcast(&changed));
	CHECK_OK(pthread_mutex_unlock(&mu));
}

static void from_timer_main_waits(void)
{
	struct sigevent ev = by_thread();
	struct itimerspec its = {{0, 0}, {0, 1000000}};
	timer_t timer;

	ev.sigev_notify_function = called_for_main;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
	CHECK_OK(pthread_mutex_lock(&mu));
	while (turn != 100)
		CHECK_OK(pthread_cond_wait(&changed, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_SYS(timer_delete(timer));
}

/* The callback waits for main, who makes the first thread meanwhile. */
static void called_waits(union sigval v)
{
	(void)v;
	CHECK_OK(pthread_mutex_lock(&mu));
	turn = 200;
	CHECK_OK(pthread_cond_broadcast(&changed));
	while (turn != 300)
		CHECK_OK(pthread_cond_wait(&changed, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	CHECK_SYS(sem_post(&done));
}

static void *tells_the_callback(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	turn = 300;
	CHECK_OK(pthread_cond_broadcast(&changed));
	CHECK_OK(pthread_mutex_unlock(&mu));
	calls++;
	return arg;
}

static void from_main_callback_waits(void)
{
	struct sigevent ev = by_thread();
	struct itimerspec its = {{0, 0}, {0, 1000000}};
	timer_t timer;

	ev.sigev_notify_function = called_waits;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
	CHECK_OK(pthread_mutex_lock(&mu));
	while (turn != 200)
		CHECK_OK(pthread_cond_wait(&changed, &mu));
	CHECK_OK(pthread_mutex_unlock(&mu));
	join(spawn(tells_the_callback, NULL));
	await_call();
	CHECK_SYS(timer_delete(timer));
}

static char buffer[8] = "xxxxxxx";

static struct aiocb request(int fd)
{
	struct aiocb cb = {.aio_fildes = fd, .aio_buf = buffer, .aio_nbytes = sizeof buffer};

	cb.aio_sigevent = by_thread();
	return cb;
}

static void from_aio(int (*start)(struct aiocb *))
{
	struct aiocb cb = request(fileno(tmpfile()));

	CHECK_SYS(start(&cb));
	await_call();
	CHECK_EQ(aio_error(&cb), 0);
}

static void from_aio_read(void)
{
	from_aio(aio_read);
}

static void from_aio_write(void)
{
	from_aio(aio_write);
}

static int sync_it(struct aiocb *cb)
{
	return aio_fsync(O_SYNC, cb);
}

static void from_aio_fsync(void)
{
	from_aio(sync_it);
}

static void from_lio(void)
{
	struct aiocb cb = request(fileno(tmpfile())), *list[] = {NULL, &cb};
	struct sigevent ev = by_thread();

	cb.aio_sigevent.sigev_notify = SIGEV_NONE;
	cb.aio_lio_opcode = LIO_WRITE;
	CHECK_SYS(lio_listio(LIO_NOWAIT, list, 2, &ev));
	await_call();
	CHECK_EQ(aio_error(&cb), 0);
}

static void from_lio_part(void)
{
	struct aiocb cb = request(fileno(tmpfile())), *list[] = {&cb};

	cb.aio_lio_opcode = LIO_WRITE;
	CHECK_SYS(lio_listio(LIO_WAIT, list, 1, NULL));
	await_call();
	CHECK_EQ(aio_error(&cb), 0);
}

static void from_mq(void)
{
	struct mq_attr attr = {.mq_maxmsg = 1, .mq_msgsize = 8};
	struct sigevent ev = by_thread();
	char name[40];
	mqd_t q;

	snprintf(name, sizeof name, "/start-first-%d", (int)getpid());
	q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	CHECK_SYS(q);
	CHECK_SYS(mq_unlink(name));
	CHECK_SYS(mq_notify(q, &ev));
	CHECK_SYS(mq_send(q, "x", 1, 0));
	await_call();
	CHECK_SYS(mq_close(q));
}

static void from_resolver(void)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
	struct gaicb one = {.ar_name = "127.0.0.1", .ar_request = &hints}, *list[] = {&one};
	struct sigevent ev = by_thread();

	CHECK_EQ(getaddrinfo_a(GAI_NOWAIT, list, 1, &ev), 0);
	await_call();
	CHECK_EQ(gai_error(&one), 0);
}

static int cloned(void *arg)
{
	threads();
	CHECK_SYS(sem_post(arg));
	for (;;)
		pause(); /* its end would be a return into libc, which does not know it */
}

static void from_clone(void)
{
	enum { SIZE = 1 << 20 };
	char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_SYS(stack);
	CHECK_SYS(clone(cloned, stack + SIZE,
			CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
			&done));
	await_call();
}

static const struct {
	const char *name;
	void (*run)(void);
} rows[] = {
	{"preinit_array", nothing},
	{"constructor", nothing},
	{"main", from_main},
	{"c11", from_c11},
	{"atexit", from_atexit},
	{"destructor", nothing},
	{"quick_exit", from_quick_exit},
	{"handler", from_handler},
	{"handler-on-its-own-stack", from_handler_elsewhere},
	{"child", from_child},
	{"grandchild", from_grandchild},
	{"fork-prepare", from_fork_prepare},
	{"fork-parent", from_fork_parent},
	{"fork-child", from_fork_child},
	{"once", from_once},
	{"qsort", from_qsort},
	{"dl_iterate_phdr", from_phdr},
	{"stream", from_stream},
	{"library", from_library},
	{"timer", from_timer},
	{"timer-main-waits", from_timer_main_waits},
	{"timer-callback-waits", from_main_callback_waits},
	{"aio_read", from_aio_read},
	{"aio_write", from_aio_write},
	{"aio_fsync", from_aio_fsync},
	{"lio_listio", from_lio},
	{"lio_listio-part", from_lio_part},
	{"mq_notify", from_mq},
	{"getaddrinfo_a", from_resolver},
	{"clone", from_clone},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static int run(int i)
{
	row = rows[i].name;
	CHECK(getenv("START_ROW") && !strcmp(getenv("START_ROW"), row));
	CHECK_SYS(sem_init(&done, 0, 0));
	rows[i].run();
	printf("%s: %d\n", row, calls);
	fflush(stdout);
	if (is("atexit") || is("destructor"))
		return 0;
	threads();
	printf("%s: and main: %d\n", row, calls);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 0; argc > 1 && i < ROWS; i++)
		if (!strcmp(argv[1], rows[i].name))
			return run(i);
	for (int i = 0; i < ROWS; i++) {
		pid_t pid = fork();
		int status;

		CHECK_SYS(pid);
		if (pid == 0) {
			alarm(20);
			CHECK_SYS(setenv("START_ROW", rows[i].name, 1));
			execl("/proc/self/exe", argv[0], rows[i].name, (char *)NULL);
			_exit(3);
		}
		CHECK_SYS(waitpid(pid, &status, 0));
		printf("%s %s: status %x\n", status ? "FAILED" : "ok", rows[i].name, status);
		fflush(stdout);
	}
	return 0;
}
