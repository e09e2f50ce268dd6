/*
 * A thread is inside dl_iterate_phdr, and stays there until others have done what does not need the
 * list of objects: create and end threads, open again what is open, fork.  In the children of
 * such a fork nobody will ever leave dl_iterate_phdr, and they still create threads.
 */
#include "check.h"
#include <dlfcn.h>
#include <link.h>
#include <semaphore.h>
#include <sys/wait.h>

static sem_t inside, go_on;

static int stays(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size, (void)arg;
	sem_post(&inside);
	while (sem_wait(&go_on) != 0)
		;
	return 1;
}

static void *iterates(void *arg)
{
	(void)arg;
	dl_iterate_phdr(stays, NULL);
	return NULL;
}

static void *nothing(void *arg)
{
	return arg;
}

static void create_some(void)
{
	for (int i = 0; i < 10; i++)
		join(spawn(nothing, NULL));
}

static void open_again(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	CHECK(libc != NULL);
	CHECK_EQ(dlclose(libc), 0);
	create_some();
}

static void fork_some(void)
{
	for (int i = 0; i < 10; i++) {
		int status;
		pid_t child = fork();

		if (child == 0) {
			create_some();
			if (i % 2)
				open_again();
			_exit(0);
		}
		CHECK(child > 0);
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
	}
}

int main(void)
{
	pthread_t t;

	CHECK_SYS(sem_init(&inside, 0, 0));
	CHECK_SYS(sem_init(&go_on, 0, 0));
	/* $ORIGIN is that of the object that calls. */
	CHECK(dlopen("$ORIGIN/there-is-no-such-object.so", RTLD_NOW) == NULL);
	t = spawn(iterates, NULL);
	while (sem_wait(&inside) != 0)
		;
	create_some();
	passed("threads");
	open_again();
	passed("an object that is open");
	fork_some();
	passed("children");
	sem_post(&go_on);
	join(t);
	return 0;
}
