/*
 * What a process and its first thread may have when the second thread is made: each row sets
 * something before, looks at it in the new thread, and in main when that has ended.  Each row is a
 * process of its own, once for each way in which the first thread can come.
 */
#include "check.h"

#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <threads.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int number; /* what a row wants to remember */
static pthread_t main_thread;
static int pipe_[2];

/* One result: who says it is in the line, and the lines of a row come one after another. */
static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("  %s ", pthread_equal(pthread_self(), main_thread) ? "main" : "thread");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
}

static void nap(void)
{
	let_others_block();
}

/* ---- signals ---- */

static atomic_int handled;
static atomic_int in_main;

static void handler(int sig, siginfo_t *si, void *uc)
{
	(void)uc;
	handled += sig * 1000 + (si->si_code == SI_QUEUE ? si->si_value.sival_int : 0);
	in_main += pthread_equal(pthread_self(), main_thread) != 0;
}

static void handle(int sig, int flags)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};

	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK_SYS(sigaction(sig, &sa, NULL));
}

static void block(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK_OK(pthread_sigmask(how, &set, NULL));
}

static int is_pending(int sig)
{
	sigset_t set;

	CHECK_SYS(sigpending(&set));
	return sigismember(&set, sig);
}

static char altstack[65536];

static void altstack_set(void)
{
	stack_t st = {.ss_sp = altstack, .ss_size = sizeof altstack};

	CHECK_SYS(sigaltstack(&st, NULL));
}

static void altstack_look(void)
{
	stack_t st;

	CHECK_SYS(sigaltstack(NULL, &st));
	say("alternate stack: ours %d flags %d", st.ss_sp == altstack, st.ss_flags);
}

static void on_altstack(int sig)
{
	char here;

	(void)sig;
	in_main = &here >= altstack && &here < altstack + sizeof altstack;
}

static void altstack_use(void)
{
	struct sigaction sa = {.sa_handler = on_altstack, .sa_flags = SA_ONSTACK};

	altstack_look();
	CHECK_SYS(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
	say("a handler runs there: %d", in_main);
}

static void mask_set(void)
{
	block(SIG_BLOCK, SIGUSR1);
	block(SIG_BLOCK, SIGTERM);
}

static void mask_look(void)
{
	sigset_t set;
	int n = 0;

	CHECK_OK(pthread_sigmask(SIG_SETMASK, NULL, &set));
	for (int sig = 1; sig < 32; sig++)
		n += sigismember(&set, sig);
	say("mask: %d signals, USR1 %d, TERM %d", n, sigismember(&set, SIGUSR1), sigismember(&set, SIGTERM));
}

static void pending_process_set(void)
{
	handle(SIGUSR1, 0);
	block(SIG_BLOCK, SIGUSR1);
	CHECK_SYS(kill(getpid(), SIGUSR1));
}

static void pending_look(void)
{
	say("pending: %d", is_pending(SIGUSR1));
}

static void pending_take(void)
{
	pending_look();
	block(SIG_UNBLOCK, SIGUSR1);
	say("handled %d, in main %d, pending %d", handled, in_main, is_pending(SIGUSR1));
}

static void pending_thread_set(void)
{
	handle(SIGUSR1, 0);
	block(SIG_BLOCK, SIGUSR1);
	CHECK_OK(pthread_kill(pthread_self(), SIGUSR1));
}

/* The thread lets it in; but it is main's. */
static void pending_not_its(void)
{
	pending_take();
}

static void pending_queued_set(void)
{
	handle(SIGRTMIN, 0);
	handle(SIGRTMIN + 1, 0);
	block(SIG_BLOCK, SIGRTMIN);
	block(SIG_BLOCK, SIGRTMIN + 1);
	for (int i = 1; i <= 3; i++) {
		CHECK_SYS(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}));
		CHECK_OK(pthread_sigqueue(pthread_self(), SIGRTMIN + 1, (union sigval){.sival_int = i}));
	}
}

static void pending_queued_wait(void)
{
	siginfo_t si;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGRTMIN + 1);
	for (int i = 0; i < 6; i++) {
		int sig = sigtimedwait(&set, &si, &(struct timespec){0, 0});

		say("taken: %d, value %d, code %d", sig, sig > 0 ? si.si_value.sival_int : 0,
		    sig > 0 ? si.si_code : 0);
	}
}

static void actions_set(void)
{
	handle(SIGUSR1, SA_RESTART | SA_NODEFER);
	handle(SIGALRM, SA_RESETHAND | SA_ONSTACK);
	signal(SIGPIPE, SIG_IGN);
	handle(SIGCHLD, SA_NOCLDSTOP | SA_NOCLDWAIT);
}

static void actions_look(void)
{
	static const int sigs[] = {SIGUSR1, SIGALRM, SIGPIPE, SIGCHLD, SIGTERM};

	for (size_t i = 0; i < sizeof sigs / sizeof sigs[0]; i++) {
		struct sigaction sa;

		CHECK_SYS(sigaction(sigs[i], NULL, &sa));
		say("signal %d: ours %d ignored %d flags %x mask %d", sigs[i], sa.sa_sigaction == handler,
		    sa.sa_handler == SIG_IGN, (unsigned)sa.sa_flags & ~0x4000000u /* SA_RESTORER */,
		    sigismember(&sa.sa_mask, SIGUSR2));
	}
}

static void actions_use(void)
{
	actions_look();
	CHECK_OK(pthread_kill(pthread_self(), SIGALRM));
	actions_look();
	say("handled %d", handled);
}

/* ---- timers ---- */

static timer_t timer;

static void start_timer(int clock, int notify)
{
	struct sigevent ev = {.sigev_notify = notify, .sigev_signo = SIGUSR1};
	struct itimerspec its = {{0, 0}, {0, 10000000}};

	handle(SIGUSR1, SA_RESTART);
	ev.sigev_notify_thread_id = gettid();
	CHECK_SYS(timer_create(clock, &ev, &timer));
	CHECK_SYS(timer_settime(timer, 0, &its, NULL));
}

static void timer_signal(void)
{
	start_timer(CLOCK_MONOTONIC, SIGEV_SIGNAL);
}

static void timer_main(void)
{
	start_timer(CLOCK_MONOTONIC, SIGEV_THREAD_ID);
}

static void timer_none(void)
{
	start_timer(CLOCK_MONOTONIC, SIGEV_NONE);
}

static void timer_process_clock(void)
{
	start_timer(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL);
}

/* Blocks, so that the handler must not run there though all others sleep. */
static void sleeps(void)
{
	block(SIG_BLOCK, SIGUSR1);
	nap();
}

static void timer_await(void)
{
	struct itimerspec left;

	for (long i = 0; !handled && i < 200000000; i++)
		if (i % 1000 == 0)
			sched_yield();
	CHECK_SYS(timer_gettime(timer, &left));
	say("handled %d, in main %d, left %ld", handled, in_main, left.it_value.tv_nsec);
}

static void timer_ask(void)
{
	struct itimerspec left;

	nap();
	CHECK_SYS(timer_gettime(timer, &left));
	say("handled %d, left %ld", handled, left.it_value.tv_nsec);
	CHECK_SYS(timer_delete(timer));
}

static void itimer(int which)
{
	struct itimerval its = {{0, 0}, {0, 10000}};

	handle(which == ITIMER_REAL ? SIGALRM : which == ITIMER_PROF ? SIGPROF : SIGVTALRM, SA_RESTART);
	CHECK_SYS(setitimer((__itimer_which_t)which, &its, NULL));
}

static void itimer_real(void)
{
	itimer(ITIMER_REAL);
}

static void itimer_virtual(void)
{
	itimer(ITIMER_VIRTUAL);
}

static void itimer_prof(void)
{
	itimer(ITIMER_PROF);
}

static void handled_await(void)
{
	for (long i = 0; !handled && i < 2000000000; i++)
		if (i % 100000 == 0)
			sched_yield();
	say("handled %d", handled);
}

static void alarm_set(void)
{
	alarm(1000);
}

static void alarm_look(void)
{
	say("alarm: %d", alarm(0) > 900);
}

/* ---- what is the thread's ---- */

static void name_set(void)
{
	CHECK_SYS(prctl(PR_SET_NAME, "first-name"));
}

static void name_look(void)
{
	char a[16], b[16];

	CHECK_SYS(prctl(PR_GET_NAME, a));
	CHECK_OK(pthread_getname_np(pthread_self(), b, sizeof b));
	say("name %s, %s", a, b);
}

static void policy_set(void)
{
	struct sched_param sp = {0};

	CHECK_SYS(sched_setscheduler(0, SCHED_BATCH, &sp));
}

static void policy_look(void)
{
	struct sched_param sp;
	int policy;

	CHECK_OK(pthread_getschedparam(pthread_self(), &policy, &sp));
	say("policy %d, %d, priority %d", policy, sched_getscheduler(0), sp.sched_priority);
}

static void nice_set(void)
{
	CHECK_SYS(setpriority(PRIO_PROCESS, 0, 7));
}

static void nice_look(void)
{
	say("nice %d, %d", getpriority(PRIO_PROCESS, 0), getpriority(PRIO_PROCESS, (id_t)gettid()));
}

static void affinity_set(void)
{
	cpu_set_t set;

	CHECK_SYS(sched_getaffinity(0, sizeof set, &set));
	for (number = 0; !CPU_ISSET(number, &set); number++)
		;
	CPU_ZERO(&set);
	CPU_SET(number, &set);
	CHECK_SYS(sched_setaffinity(0, sizeof set, &set));
}

static void affinity_look(void)
{
	cpu_set_t set;

	CHECK_OK(pthread_getaffinity_np(pthread_self(), sizeof set, &set));
	say("%d CPU, the same %d, runs there %d", CPU_COUNT(&set), CPU_ISSET(number, &set) != 0,
	    sched_getcpu() == number);
}

static void slack_set(void)
{
	CHECK_SYS(prctl(PR_SET_TIMERSLACK, 123456));
}

static void slack_look(void)
{
	say("timer slack %d", prctl(PR_GET_TIMERSLACK));
}

static void privs_set(void)
{
	CHECK_SYS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void privs_look(void)
{
	say("no new privileges %d", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static void fsuid_set(void)
{
	setfsuid(65534);
}

static void fsuid_look(void)
{
	int id = setfsuid((uid_t)-1);

	say("fsuid as set %d", id == 65534 || id == (int)getuid());
}

static void ids_look(void)
{
	say("main's id %d, process %d", pthread_equal(pthread_self(), main_thread), gettid() == getpid());
}

static void cpu_look(void)
{
	int before = sched_getcpu(), n = (int)sysconf(_SC_NPROCESSORS_CONF);

	say("a CPU there is %d", before >= 0 && before < n);
}

static void rounding_set(void)
{
	unsigned int mxcsr = __builtin_ia32_stmxcsr() | 0x4000; /* up */
	unsigned short word;

	__builtin_ia32_ldmxcsr(mxcsr);
	__asm__ volatile("fnstcw %0" : "=m"(word));
	word |= 0x800;
	__asm__ volatile("fldcw %0" : : "m"(word));
}

static void rounding_look(void)
{
	unsigned short word;

	__asm__ volatile("fnstcw %0" : "=m"(word));
	say("rounds %x, %x", __builtin_ia32_stmxcsr() & 0x6000, word & 0xc00);
}

static _Thread_local int local = 5;

static void local_set(void)
{
	local = 6;
	errno = 77;
}

static void local_look(void)
{
	int e = errno;

	say("local %d errno %d", local, e);
}

static void locale_set(void)
{
	locale_t l = newlocale(LC_ALL_MASK, "C.UTF-8", NULL);

	CHECK(l);
	CHECK(uselocale(l) == LC_GLOBAL_LOCALE);
}

static void locale_look(void)
{
	say("global locale %d, characters of %zu", uselocale(NULL) == LC_GLOBAL_LOCALE, MB_CUR_MAX);
}

static pthread_key_t key, deleted;

static void destroyed(void *value)
{
	say("destroyed %s", (char *)value);
}

static void key_set(void)
{
	CHECK_OK(pthread_key_create(&key, destroyed));
	CHECK_OK(pthread_key_create(&deleted, destroyed));
	CHECK_OK(pthread_setspecific(key, "first"));
	CHECK_OK(pthread_setspecific(deleted, "deleted"));
	CHECK_OK(pthread_key_delete(deleted));
}

static void key_look(void)
{
	say("value %d", pthread_getspecific(key) != NULL);
	CHECK_OK(pthread_setspecific(key, "second"));
}

static void key_ends(void)
{
	say("value %s", (char *)pthread_getspecific(key));
	pthread_exit(NULL);
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle;

static void tls_destructor_set(void)
{
	CHECK_EQ(__cxa_thread_atexit_impl(destroyed, "thread-local", &__dso_handle), 0);
}

static void ends(void)
{
	pthread_exit(NULL);
}

/* ---- cancellation ---- */

static void cancel_state_set(void)
{
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
}

static void cancel_state_look(void)
{
	int state, type;

	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state));
	CHECK_OK(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type));
	CHECK_OK(pthread_setcanceltype(type, NULL));
	CHECK_OK(pthread_setcancelstate(state, NULL));
	say("disabled %d asynchronous %d", state == PTHREAD_CANCEL_DISABLE,
	    type == PTHREAD_CANCEL_ASYNCHRONOUS);
}

static void cancel_pending_set(void)
{
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	CHECK_OK(pthread_cancel(pthread_self()));
}

static void cancel_pending_acts(void)
{
	char c;

	say("goes on, disabled");
	CHECK_OK(pthread_key_create(&key, destroyed));
	CHECK_OK(pthread_setspecific(key, "by cancellation"));
	CHECK_OK(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	CHECK_EQ(read(pipe_[0], &c, 1), 1);
	say("not cancelled");
}

/* ---- locks that are held ---- */

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static pthread_cond_t cond;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_spinlock_t spin;

static void mutex_hold(int type, int protocol, int robust, int shared)
{
	pthread_mutexattr_t a;

	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_settype(&a, type));
	CHECK_OK(pthread_mutexattr_setprotocol(&a, protocol));
	CHECK_OK(pthread_mutexattr_setrobust(&a, robust));
	CHECK_OK(pthread_mutexattr_setpshared(&a, shared));
	CHECK_OK(pthread_mutex_init(&mutex, &a));
	CHECK_OK(pthread_mutex_lock(&mutex));
	if (type == PTHREAD_MUTEX_RECURSIVE)
		CHECK_OK(pthread_mutex_lock(&mutex));
}

static void mutex_normal(void)
{
	mutex_hold(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
}

static void mutex_recursive(void)
{
	mutex_hold(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
}

static void mutex_errorcheck(void)
{
	mutex_hold(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 0);
}

static void mutex_inherit(void)
{
	mutex_hold(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, 0);
}

static void mutex_robust(void)
{
	mutex_hold(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 0);
}

static void mutex_shared(void)
{
	mutex_hold(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, 1);
}

static void mutex_shared_robust(void)
{
	mutex_hold(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, 1);
}

static void mutex_shared_inherit(void)
{
	mutex_hold(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, 1);
}

static void mutex_look(void)
{
	struct timespec soon = after_ms(CLOCK_REALTIME, 20);

	say("trylock %d", pthread_mutex_trylock(&mutex));
	say("timedlock %d", pthread_mutex_timedlock(&mutex, &soon));
}

static void *takes_mutex(void *arg)
{
	int e = pthread_mutex_lock(&mutex);

	say("taken %d", e);
	if (e == EOWNERDEAD)
		CHECK_OK(pthread_mutex_consistent(&mutex));
	CHECK_OK(pthread_mutex_unlock(&mutex));
	return arg;
}

/* Unlocked while another waits: then that one has it. */
static void mutex_unlock(void)
{
	pthread_t t = spawn(takes_mutex, NULL);
	int n = 0;

	nap();
	while (pthread_mutex_unlock(&mutex) == 0 && ++n < 2 && mutex.__data.__count)
		;
	join(t);
	say("unlocked %d times", n);
	CHECK_OK(pthread_mutex_lock(&mutex));
	CHECK_OK(pthread_mutex_unlock(&mutex));
}

/* Main ends with it. */
static void mutex_dies(void)
{
	spawn(takes_mutex, NULL);
	nap();
	pthread_exit(NULL);
}

static void rwlock_read(void)
{
	CHECK_OK(pthread_rwlock_init(&rwlock, NULL));
	CHECK_OK(pthread_rwlock_rdlock(&rwlock));
}

static void rwlock_write(void)
{
	CHECK_OK(pthread_rwlock_init(&rwlock, NULL));
	CHECK_OK(pthread_rwlock_wrlock(&rwlock));
}

static void rwlock_look(void)
{
	int r = pthread_rwlock_tryrdlock(&rwlock), w = pthread_rwlock_trywrlock(&rwlock);

	say("reads %d writes %d", r, w);
	if (!r)
		CHECK_OK(pthread_rwlock_unlock(&rwlock));
}

static void *takes_rwlock(void *arg)
{
	CHECK_OK(pthread_rwlock_wrlock(&rwlock));
	say("taken");
	CHECK_OK(pthread_rwlock_unlock(&rwlock));
	return arg;
}

static void rwlock_unlock(void)
{
	pthread_t t = spawn(takes_rwlock, NULL);

	nap();
	CHECK_OK(pthread_rwlock_unlock(&rwlock));
	join(t);
}

static void objects_set(void)
{
	pthread_condattr_t a;

	CHECK_OK(pthread_condattr_init(&a));
	CHECK_OK(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
	CHECK_OK(pthread_cond_init(&cond, &a));
	CHECK_OK(pthread_cond_signal(&cond));
	CHECK_OK(pthread_mutex_init(&mutex, NULL));
	CHECK_OK(pthread_mutex_lock(&mutex));
	CHECK_EQ(pthread_cond_timedwait(&cond, &mutex, &(struct timespec){1, 0}), ETIMEDOUT);
	CHECK_OK(pthread_mutex_unlock(&mutex));
	CHECK_OK(pthread_barrier_init(&barrier, NULL, 1));
	CHECK_EQ(pthread_barrier_wait(&barrier), PTHREAD_BARRIER_SERIAL_THREAD);
	CHECK_SYS(sem_init(&sem, 0, 2));
	CHECK_SYS(sem_wait(&sem));
	CHECK_OK(pthread_spin_init(&spin, 0));
	CHECK_OK(pthread_spin_lock(&spin));
}

static void objects_look(void)
{
	struct timespec soon = after_ms(CLOCK_MONOTONIC, 20);
	int value;

	CHECK_OK(pthread_mutex_lock(&mutex));
	say("cond %d", pthread_cond_timedwait(&cond, &mutex, &soon));
	CHECK_OK(pthread_mutex_unlock(&mutex));
	say("barrier %d", pthread_barrier_wait(&barrier));
	CHECK_SYS(sem_getvalue(&sem, &value));
	say("sem %d, spin %d", value, pthread_spin_trylock(&spin));
}

static void objects_end(void)
{
	objects_look();
	CHECK_OK(pthread_spin_unlock(&spin));
	CHECK_OK(pthread_cond_destroy(&cond));
	CHECK_OK(pthread_barrier_destroy(&barrier));
	CHECK_OK(pthread_mutex_destroy(&mutex));
	say("destroyed");
}

static FILE *file;

static void file_set(void)
{
	file = tmpfile();
	CHECK(file);
	flockfile(file);
	flockfile(file);
	CHECK(fputs("x", file) >= 0);
}

static void file_look(void)
{
	say("ftrylockfile %d", ftrylockfile(file) != 0);
}

static void *writes_file(void *arg)
{
	CHECK(fputs("y", file) >= 0);
	return arg;
}

static void file_unlock(void)
{
	pthread_t t = spawn(writes_file, NULL);

	nap();
	CHECK(fputs("z", file) >= 0);
	funlockfile(file);
	funlockfile(file);
	join(t);
	rewind(file);
	say("%c", fgetc(file));
	say("%c", fgetc(file));
	say("%c", fgetc(file));
}

/* ---- the process ---- */

static void fork_line(const char *what)
{
	number++;
	say("%d %s", number, what);
}

static void prepare_a(void)
{
	fork_line("prepare a");
}

static void prepare_b(void)
{
	fork_line("prepare b");
}

static void parent_a(void)
{
	fork_line("parent a");
}

/* Beside its parent: told by the status. */
static void child_a(void)
{
	number += 10;
}

static void atfork_set(void)
{
	CHECK_OK(pthread_atfork(prepare_a, parent_a, child_a));
	CHECK_OK(pthread_atfork(prepare_b, NULL, NULL));
}

static void atfork_use(void)
{
	pid_t pid = fork();
	int status;

	CHECK_SYS(pid);
	if (pid == 0)
		_exit(number);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	say("child %d", WEXITSTATUS(status));
}

static pid_t child;

static void child_set(void)
{
	child = fork();
	CHECK_SYS(child);
	if (child == 0) {
		char c;

		_exit(read(pipe_[0], &c, 1) == 1 ? 9 : 1);
	}
}

static void child_look(void)
{
	say("not yet: %d", waitpid(child, NULL, WNOHANG));
}

static void child_await(void)
{
	int status;

	CHECK_EQ(write(pipe_[1], "x", 1), 1);
	CHECK_EQ(waitpid(child, &status, 0), child);
	say("child %d", WEXITSTATUS(status));
}

static void *library;

static void library_set(void)
{
	long *(*counter)(void);

	library = dlopen("$ORIGIN/lib/tls-gd.so", RTLD_NOW);
	CHECK(library);
	counter = (long *(*)(void))dlsym(library, "tls_gd_counter");
	number = counter != NULL;
}

static void library_look(void)
{
	say("known %d", dlsym(library, "no such name") == NULL);
	say("error %d", dlerror() != NULL);
}

static void stack_set(void)
{
	struct rlimit r;

	CHECK_SYS(getrlimit(RLIMIT_STACK, &r));
	r.rlim_cur = 1 << 20;
	CHECK_SYS(setrlimit(RLIMIT_STACK, &r));
}

static void default_set(void)
{
	pthread_attr_t a;

	CHECK_OK(pthread_attr_init(&a));
	CHECK_OK(pthread_attr_setstacksize(&a, 3 << 20));
	CHECK_OK(pthread_attr_setguardsize(&a, 8192));
	CHECK_OK(pthread_setattr_default_np(&a));
}

static void stack_look(void)
{
	pthread_attr_t a;
	size_t size, guard;

	CHECK_OK(pthread_getattr_np(pthread_self(), &a));
	CHECK_OK(pthread_attr_getstacksize(&a, &size));
	CHECK_OK(pthread_attr_getguardsize(&a, &guard));
	say("stack %zu guard %zu", pthread_equal(pthread_self(), main_thread) ? 0 : size, guard);
}

static void files_set(void)
{
	umask(027);
	CHECK_SYS(chdir("/proc"));
}

static void files_look(void)
{
	char dir[100];
	mode_t was = umask(0);

	umask(was);
	CHECK(getcwd(dir, sizeof dir));
	say("umask %o in %s", was, dir);
}

/* ---- descriptors ---- */

static int socks[2];

static void socket_set(void)
{
	CHECK_SYS(socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
}

static void lowat_set(void)
{
	int ten = 10;

	socket_set();
	CHECK_SYS(setsockopt(socks[0], SOL_SOCKET, SO_RCVLOWAT, &ten, sizeof ten));
	CHECK_EQ(write(socks[1], "12345", 5), 5);
}

static void *writes_five(void *arg)
{
	nap();
	CHECK_EQ(write(socks[1], "67890", 5), 5);
	return arg;
}

static void lowat_look(void)
{
	pthread_t t = spawn(writes_five, NULL);
	char buf[100];

	say("read %zd", read(socks[0], buf, sizeof buf));
	join(t);
	CHECK_EQ(write(socks[1], "12345", 5), 5);
}

static void timeout_set(void)
{
	struct timeval tv = {0, 20000};

	socket_set();
	CHECK_SYS(setsockopt(socks[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv));
}

static void nonblock_set(void)
{
	socket_set();
	CHECK_SYS(fcntl(socks[0], F_SETFL, O_NONBLOCK));
}

static void read_fails(void)
{
	char c;
	ssize_t n = read(socks[0], &c, 1);

	say("read %zd, errno %d", n, errno);
}

static void epoll_set(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = 17};

	socket_set();
	number = epoll_create1(0);
	CHECK_SYS(epoll_ctl(number, EPOLL_CTL_ADD, socks[0], &ev));
}

static void epoll_look(void)
{
	struct epoll_event ev = {0};

	say("events %d", epoll_wait(number, &ev, 1, 10));
	CHECK_EQ(write(socks[1], "x", 1), 1);
	say("events %d", epoll_wait(number, &ev, 1, 1000));
	say("events %x data %u", (unsigned)ev.events, ev.data.u32);
	say("events %d", epoll_wait(number, &ev, 1, 10));
	ev = (struct epoll_event){.events = EPOLLIN | EPOLLONESHOT, .data.u32 = 18};
	CHECK_EQ(read(socks[0], &ev.data.u64, 1), 1);
	CHECK_SYS(epoll_ctl(number, EPOLL_CTL_MOD, socks[0], &ev));
}

static void signalfd_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	block(SIG_BLOCK, SIGUSR1);
	number = signalfd(-1, &set, 0);
	CHECK_SYS(number);
	CHECK_SYS(kill(getpid(), SIGUSR1));
}

static void signalfd_look(void)
{
	struct signalfd_siginfo si;

	CHECK_EQ(read(number, &si, sizeof si), sizeof si);
	say("signal %u", si.ssi_signo);
	CHECK_SYS(kill(getpid(), SIGUSR1));
}

static void timerfd_set(void)
{
	struct itimerspec its = {{0, 1000000}, {0, 1000000}};

	number = timerfd_create(CLOCK_MONOTONIC, 0);
	CHECK_SYS(number);
	CHECK_SYS(timerfd_settime(number, 0, &its, NULL));
}

static void timerfd_look(void)
{
	uint64_t n;

	say("read %zd", read(number, &n, sizeof n));
}

static struct aiocb cb;
static char byte;

static void request_set(void)
{
	cb = (struct aiocb){.aio_fildes = pipe_[0], .aio_buf = &byte, .aio_nbytes = 1};
	cb.aio_sigevent.sigev_notify = SIGEV_NONE;
	CHECK_SYS(aio_read(&cb));
}

static void request_look(void)
{
	say("in progress %d", aio_error(&cb) == EINPROGRESS);
}

static void request_await(void)
{
	const struct aiocb *list[] = {&cb};

	CHECK_EQ(write(pipe_[1], "q", 1), 1);
	while (aio_error(&cb) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	say("read %zd %c", aio_return(&cb), byte);
}

static clockid_t clock_;

static void clock_set(void)
{
	CHECK_OK(pthread_getcpuclockid(pthread_self(), &clock_));
}

static void clock_look(void)
{
	struct timespec ts;

	say("main's clock %d", clock_gettime(clock_, &ts) == 0 && ts.tv_sec < 100);
}

static void nothing(void)
{
}

/* ---- the table ---- */

static const struct {
	const char *name;
	void (*set)(void), (*thread)(void), (*after)(void);
	int ends; /* main does; then libc's thread for timers must not be there, which never ends */
} rows[] = {
	{"alternate stack", altstack_set, altstack_look, altstack_use},
	{"signal mask", mask_set, mask_look, mask_look},
	{"signal pending for the process", pending_process_set, pending_look, pending_take},
	{"signal pending for the process, taken by the thread", pending_process_set, pending_take, pending_look},
	{"signal pending for main", pending_thread_set, pending_look, pending_take},
	{"signal pending for main, the thread lets it in", pending_thread_set, pending_not_its, pending_take},
	{"queued signals", pending_queued_set, nothing, pending_queued_wait},
	{"queued signals, the thread waits first", pending_queued_set, pending_queued_wait, pending_queued_wait},
	{"actions", actions_set, actions_look, actions_use},
	{"timer with a signal", timer_signal, sleeps, timer_await},
	{"timer with a signal for main", timer_main, nap, timer_await},
	{"timer with a signal for main, all else blocks it", timer_main, sleeps, timer_await},
	{"timer without", timer_none, nap, timer_ask},
	{"timer on the process's clock", timer_process_clock, nothing, timer_await},
	{"interval timer", itimer_real, nothing, handled_await},
	{"interval timer, virtual", itimer_virtual, nothing, handled_await},
	{"interval timer, profiling", itimer_prof, nothing, handled_await},
	{"alarm", alarm_set, nothing, alarm_look},
	{"name", name_set, name_look, name_look},
	{"policy", policy_set, policy_look, policy_look},
	{"nice", nice_set, nice_look, nice_look},
	{"affinity", affinity_set, affinity_look, affinity_look},
	{"timer slack", slack_set, slack_look, slack_look},
	{"no new privileges", privs_set, privs_look, privs_look},
	{"file system id", fsuid_set, fsuid_look, fsuid_look},
	{"ids", nothing, ids_look, ids_look},
	{"rseq", cpu_look, cpu_look, cpu_look},
	{"rounding", rounding_set, rounding_look, rounding_look},
	{"thread-local", local_set, nothing, local_look},
	{"locale", locale_set, locale_look, locale_look},
	{"key", key_set, key_look, key_ends, 1},
	{"thread-local destructor", tls_destructor_set, nothing, ends, 1},
	{"cancellation state", cancel_state_set, cancel_state_look, cancel_state_look},
	{"cancellation pending", cancel_pending_set, nothing, cancel_pending_acts, 1},
	{"mutex", mutex_normal, mutex_look, mutex_unlock},
	{"mutex, recursive", mutex_recursive, mutex_look, mutex_unlock},
	{"mutex, errorcheck", mutex_errorcheck, mutex_look, mutex_unlock},
	{"mutex, inheriting", mutex_inherit, mutex_look, mutex_unlock},
	{"mutex, robust", mutex_robust, mutex_look, mutex_unlock},
	{"mutex, robust, main ends", mutex_robust, nothing, mutex_dies, 1},
	{"mutex, shared", mutex_shared, mutex_look, mutex_unlock},
	{"mutex, shared robust", mutex_shared_robust, mutex_look, mutex_unlock},
	{"mutex, shared robust, main ends", mutex_shared_robust, nothing, mutex_dies, 1},
	{"mutex, shared robust inheriting", mutex_shared_inherit, mutex_look, mutex_unlock},
	{"rwlock, read", rwlock_read, rwlock_look, rwlock_unlock},
	{"rwlock, written", rwlock_write, rwlock_look, rwlock_unlock},
	{"other objects", objects_set, objects_look, objects_end},
	{"file", file_set, file_look, file_unlock},
	{"atfork handlers", atfork_set, nothing, atfork_use},
	{"child", child_set, child_look, child_await},
	{"library", library_set, library_look, library_look},
	{"stack limit", stack_set, stack_look, nothing},
	{"default attributes", default_set, stack_look, nothing},
	{"umask and directory", files_set, files_look, files_look},
	{"SO_RCVLOWAT", lowat_set, lowat_look, lowat_look},
	{"SO_RCVTIMEO", timeout_set, read_fails, read_fails},
	{"O_NONBLOCK", nonblock_set, read_fails, read_fails},
	{"epoll", epoll_set, epoll_look, epoll_look},
	{"signalfd", signalfd_set, signalfd_look, signalfd_look},
	{"timerfd", timerfd_set, timerfd_look, timerfd_look},
	{"request", request_set, request_look, request_await},
	{"clock of main", clock_set, clock_look, clock_look},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- how the first thread comes ---- */

static void *thread(void *arg)
{
	((void (*)(void))arg)();
	return NULL;
}

static int c11_thread(void *arg)
{
	thread(arg);
	return 0;
}

static void by_pthread_create(void (*fn)(void))
{
	join(spawn(thread, fn));
}

static void by_thrd_create(void (*fn)(void))
{
	thrd_t t;

	CHECK_EQ(thrd_create(&t, c11_thread, fn), thrd_success);
	CHECK_EQ(thrd_join(t, NULL), thrd_success);
}

static void called(union sigval v)
{
	(void)v;
}

/* A timer that calls the program needs a thread before there is any. */
static void by_timer(void (*fn)(void))
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD};
	timer_t t;

	ev.sigev_notify_function = called;
	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &t));
	by_pthread_create(fn);
	CHECK_SYS(timer_delete(t));
}

static const struct {
	const char *name;
	void (*start)(void (*fn)(void));
} ways[] = {
	{"pthread_create", by_pthread_create},
	{"thrd_create", by_thrd_create},
	{"timer_create", by_timer},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void run(int r, int w)
{
	int status;
	pid_t pid = fork();

	CHECK_SYS(pid);
	if (pid == 0) {
		main_thread = pthread_self();
		CHECK_SYS(pipe(pipe_));
		rows[r].set();
		ways[w].start(rows[r].thread);
		rows[r].after();
		_exit(0);
	}
	for (int i = 0; i < 2000 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		usleep(10000);
		if (i < 1999)
			continue;
		printf("  hangs\n");
		CHECK_SYS(kill(pid, SIGKILL));
		CHECK_EQ(waitpid(pid, &status, 0), pid);
	}
	printf("%s, %s: status %x\n", rows[r].name, ways[w].name, status);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (int r = 0; r < ROWS; r++)
		if (argc < 2 || !strcmp(argv[1], rows[r].name))
			for (int w = 0; w < WAYS; w++)
				if (!rows[r].ends || ways[w].start != by_timer)
					run(r, w);
	return 0;
}
