/*
 * Named semaphores (created, opened twice, unlinked, used between processes) and unnamed ones in
 * shared memory: two processes with threads take turns strictly.
 */
#include "check.h"
#include <fcntl.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { TURNS = 300 };

static void wait_on(sem_t *s)
{
	while (sem_wait(s) == -1)
		CHECK_EQ(errno, EINTR);
}

struct side {
	sem_t *mine, *other;
	int *count, parity;
};

static void *turns(void *arg)
{
	struct side *s = arg;

	for (int i = 0; i < TURNS; i++) {
		wait_on(s->mine);
		CHECK_EQ(*s->count % 2, s->parity);
		++*s->count;
		CHECK_SYS(sem_post(s->other));
	}
	return NULL;
}

static void play(sem_t *ping, sem_t *pong, int *count, const char *name)
{
	struct side a = { ping, pong, count, 0 }, b = { pong, ping, count, 1 };
	int status;
	pid_t pid;

	*count = 0;
	CHECK_SYS(pid = fork());
	if (pid == 0) {
		join(spawn(turns, &b));
		_exit(0);
	}
	join(spawn(turns, &a));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(*count, 2 * TURNS);
	passed("%s: %d turns between two processes", name, 2 * TURNS);
}

int main(void)
{
	struct {
		sem_t a, b;
		int count;
	} *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char name[2][64];
	sem_t *n[2], *again;

	CHECK(sh != MAP_FAILED);
	CHECK_SYS(sem_init(&sh->a, 1, 1));
	CHECK_SYS(sem_init(&sh->b, 1, 0));
	play(&sh->a, &sh->b, &sh->count, "unnamed");

	for (int i = 0; i < 2; i++) {
		snprintf(name[i], sizeof name[i], "/sem-named-and-shared.%d.%d", (int)getpid(), i);
		n[i] = sem_open(name[i], O_CREAT | O_EXCL, 0600, 1 - i);
		CHECK(n[i] != SEM_FAILED);
	}
	CHECK(sem_open(name[0], O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED && errno == EEXIST);
	again = sem_open(name[0], 0);
	CHECK(again == n[0]);
	CHECK_SYS(sem_close(again));
	CHECK_SYS(sem_unlink(name[0]));
	CHECK_SYS(sem_unlink(name[1]));
	CHECK(sem_open(name[0], 0) == SEM_FAILED && errno == ENOENT);
	passed("names");
	play(n[0], n[1], &sh->count, "named");
	CHECK_SYS(sem_close(n[0]));
	CHECK_SYS(sem_close(n[1]));
	return 0;
}
