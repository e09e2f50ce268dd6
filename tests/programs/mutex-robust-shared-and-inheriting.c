/*
 * Robust mutexes of every make (private, shared; plain, inheriting) when the owner ends: by
 * returning, by pthread_exit, with its whole process, killed; with nobody, one or several waiting,
 * in the same process and in another.  One of those who wait is told EOWNERDEAD, and nobody hangs.
 * The owner may also be a thread that libc made for a timer.
 */
#include "check.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
	pthread_mutex_t mu;
	sem_t held, go;
	int dead, fine;
};

static struct shared *sh;

static void make(int pshared, int protocol)
{
	pthread_mutexattr_t a;

	CHECK_OK(pthread_mutexattr_init(&a));
	CHECK_OK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK_OK(pthread_mutexattr_setpshared(&a, pshared));
	CHECK_OK(pthread_mutexattr_setprotocol(&a, protocol));
	CHECK_OK(pthread_mutex_init(&sh->mu, &a));
	CHECK_SYS(sem_init(&sh->held, 1, 0));
	CHECK_SYS(sem_init(&sh->go, 1, 0));
	sh->dead = sh->fine = 0;
}

static void wait_sem(sem_t *s)
{
	while (sem_wait(s))
		CHECK_EQ(errno, EINTR);
}

static void *owner(void *arg)
{
	CHECK_OK(pthread_mutex_lock(&sh->mu));
	CHECK_SYS(sem_post(&sh->held));
	wait_sem(&sh->go);
	if (arg)
		pthread_exit(arg);
	return arg;
}

static void *heir(void *arg)
{
	int err = pthread_mutex_lock(&sh->mu);

	if (err == EOWNERDEAD) {
		CHECK_OK(pthread_mutex_consistent(&sh->mu));
		sh->dead++;
	} else {
		CHECK_OK(err);
		sh->fine++;
	}
	CHECK_OK(pthread_mutex_unlock(&sh->mu));
	return arg;
}

static void nobody_hangs(const char *what, int heirs)
{
	CHECK_EQ(sh->dead, 1);
	CHECK_EQ(sh->fine, heirs - 1);
	CHECK_OK(pthread_mutex_destroy(&sh->mu));
	passed("%s, %d in line", what, heirs);
}

/* The owner is a thread; those who wait are threads beside it. */
static void thread_ends(const char *what, int heirs, int early, int how)
{
	pthread_t o = spawn(owner, how ? &sh->held : NULL), t[8];

	wait_sem(&sh->held);
	for (int i = 0; i < heirs && early; i++)
		t[i] = spawn(heir, NULL);
	if (early)
		let_others_block();
	CHECK_SYS(sem_post(&sh->go));
	join(o);
	for (int i = 0; i < heirs && !early; i++)
		t[i] = spawn(heir, NULL);
	for (int i = 0; i < heirs; i++)
		join(t[i]);
	nobody_hangs(what, heirs);
}

static pid_t child(void *(*fn)(void *))
{
	pid_t pid;

	CHECK_SYS(pid = fork());
	if (pid == 0) {
		join(spawn(fn, NULL));
		_exit(0);
	}
	return pid;
}

static void reap(pid_t pid, int want)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, want);
}

/* The owner is a thread of ours; those who wait are other processes. */
static void others_wait(const char *what, int heirs)
{
	pthread_t o = spawn(owner, NULL);
	pid_t pid[8];

	wait_sem(&sh->held);
	for (int i = 0; i < heirs; i++)
		pid[i] = child(heir);
	let_others_block();
	CHECK_SYS(sem_post(&sh->go));
	join(o);
	for (int i = 0; i < heirs; i++)
		reap(pid[i], 0);
	nobody_hangs(what, heirs);
}

static void *owner_killed(void *arg)
{
	owner(NULL);
	raise(SIGKILL);
	return arg;
}

static void *owner_leaves(void *arg)
{
	owner(NULL);
	_exit(5);
	return arg;
}

/* The owner is another process. */
static void process_ends(const char *what, int heirs, void *(*fn)(void *), int status)
{
	pid_t pid = child(fn);
	pthread_t t[8];

	wait_sem(&sh->held);
	for (int i = 0; i < heirs; i++)
		t[i] = spawn(heir, NULL);
	let_others_block();
	CHECK_SYS(sem_post(&sh->go));
	reap(pid, status);
	for (int i = 0; i < heirs; i++)
		join(t[i]);
	nobody_hangs(what, heirs);
}

static void on_timer(union sigval v)
{
	owner(v.sival_ptr);
}

static void timer_ends(const char *what)
{
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_timer};
	struct itimerspec soon = {.it_value.tv_nsec = 1000};
	pthread_t t[4];
	timer_t id;

	CHECK_SYS(timer_create(CLOCK_MONOTONIC, &ev, &id));
	CHECK_SYS(timer_settime(id, 0, &soon, NULL));
	wait_sem(&sh->held);
	for (int i = 0; i < 4; i++)
		t[i] = spawn(heir, NULL);
	let_others_block();
	CHECK_SYS(sem_post(&sh->go));
	for (int i = 0; i < 4; i++)
		join(t[i]);
	CHECK_SYS(timer_delete(id));
	nobody_hangs(what, 4);
}

int main(void)
{
	static const char *const names[2][2] = {{"private", "private inheriting"},
						{"shared", "shared inheriting"}};

	sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(sh != MAP_FAILED);
	for (int ps = 0; ps < 2; ps++) {
		for (int pi = 0; pi < 2; pi++) {
			int shared = ps ? PTHREAD_PROCESS_SHARED : PTHREAD_PROCESS_PRIVATE;
			int proto = pi ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE;
			const char *name = names[ps][pi];
			char text[64];

			for (int heirs = 1; heirs < 4; heirs += 2) {
				for (int how = 0; how < 2; how++) {
					snprintf(text, sizeof text, "%s, %s, they waited", name,
						 how ? "exits" : "returns");
					make(shared, proto);
					thread_ends(text, heirs, 1, how);
					snprintf(text, sizeof text, "%s, %s, they came later", name,
						 how ? "exits" : "returns");
					make(shared, proto);
					thread_ends(text, heirs, 0, how);
				}
			}
			make(shared, proto);
			snprintf(text, sizeof text, "%s, a timer's thread", name);
			timer_ends(text);
			if (!ps)
				continue;
			for (int heirs = 1; heirs < 4; heirs += 2) {
				make(shared, proto);
				snprintf(text, sizeof text, "%s, waiting in other processes", name);
				others_wait(text, heirs);
				make(shared, proto);
				snprintf(text, sizeof text, "%s, the process is killed", name);
				process_ends(text, heirs, owner_killed, SIGKILL);
				make(shared, proto);
				snprintf(text, sizeof text, "%s, the process exits", name);
				process_ends(text, heirs, owner_leaves, 5 << 8);
			}
		}
	}
	return 0;
}
