/*
 * A library with nested functions asks for executable stacks when it is loaded: main, threads that
 * were there before and threads that are made later run trampolines on theirs.  Guards are still
 * guards.
 */
#include "check.h"
#include <dlfcn.h>
#include <libgen.h>
#include <sys/wait.h>

enum { BEFORE = 70, AFTER = 20 };

static pthread_barrier_t bar;
static long (*nested_add)(long, long);

static void *use(void *arg)
{
	long n = (long)arg;

	for (int i = 0; i < 5; i++) {
		CHECK_EQ(nested_add(n, i), i + 2 * n);
		sched_yield();
	}
	return NULL;
}

static void *lives_through(void *arg)
{
	pthread_barrier_wait(&bar);
	pthread_barrier_wait(&bar); /* main has loaded it */
	return use(arg);
}

static void *overflows(void *arg)
{
	char *base;
	size_t size;
	pthread_attr_t a;

	pthread_getattr_np(pthread_self(), &a);
	pthread_attr_getstack(&a, (void **)&base, &size);
	pthread_attr_destroy(&a);
	*(volatile char *)(base - 1) = 1;
	return arg;
}

/* In a process of its own, for it ends by the guard. */
static void guard_still_there(void)
{
	pid_t pid = fork();
	pthread_t t;
	int status;

	if (pid == 0) {
		pthread_create(&t, NULL, overflows, NULL);
		pthread_join(t, NULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

int main(int argc, char **argv)
{
	pthread_t t[BEFORE];
	char path[4096];
	void *lib;

	(void)argc;
	pthread_barrier_init(&bar, NULL, BEFORE + 1);
	for (long i = 0; i < BEFORE; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, lives_through, (void *)i), 0);
	pthread_barrier_wait(&bar);
	snprintf(path, sizeof(path), "%s/lib/nested.so", dirname(strdup(argv[0])));
	lib = dlopen(path, RTLD_NOW);
	if (!lib) {
		/* glibc 2.41 and later refuse. */
		printf("done\n");
		return 0;
	}
	nested_add = (long (*)(long, long))dlsym(lib, "nested_add");
	use((void *)7);
	pthread_barrier_wait(&bar);
	for (int i = 0; i < BEFORE; i++)
		pthread_join(t[i], NULL);
	for (long i = 0; i < AFTER; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, use, (void *)i), 0);
	for (int i = 0; i < AFTER; i++)
		pthread_join(t[i], NULL);
	guard_still_there();
	printf("done\n");
	return 0;
}
