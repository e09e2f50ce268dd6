/*
 * A mutex and a condition variable that the program itself builds on futex, the way Rust's library
 * does: 60 threads on 2 counters; and the same word shared between processes (no PRIVATE flag).
 */
#include "check.h"
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct lock {
	_Atomic uint32_t word; /* 0 free, 1 held, 2 held and waited for */
	int op_flag;
};

static void take(struct lock *l)
{
	uint32_t c = 0;

	if (atomic_compare_exchange_strong(&l->word, &c, 1))
		return;
	while (atomic_exchange(&l->word, 2) != 0)
		syscall(SYS_futex, &l->word, FUTEX_WAIT | l->op_flag, 2, NULL, NULL, 0);
}

static void drop(struct lock *l)
{
	if (atomic_exchange(&l->word, 0) == 2)
		CHECK_SYS(syscall(SYS_futex, &l->word, FUTEX_WAKE | l->op_flag, 1, NULL, NULL, 0));
}

struct cond {
	_Atomic uint32_t seq;
};

static void wait_cond(struct cond *c, struct lock *l)
{
	uint32_t seq = c->seq;

	drop(l);
	syscall(SYS_futex, &c->seq, FUTEX_WAIT | l->op_flag, seq, NULL, NULL, 0);
	take(l);
}

static void wake_cond(struct cond *c, struct lock *l)
{
	c->seq++;
	CHECK_SYS(syscall(SYS_futex, &c->seq, FUTEX_WAKE | l->op_flag, INT_MAX, NULL, NULL, 0));
}

struct shared {
	struct lock lock;
	struct cond cond;
	long count, turn;
};

static void *count(void *arg)
{
	struct shared *s = arg;

	for (int i = 0; i < 300; i++) {
		take(&s->lock);
		long seen = s->count;

		if (i % 16 == 0)
			sched_yield();
		s->count = seen + 1;
		drop(&s->lock);
	}
	return NULL;
}

static struct shared private_one = { .lock.op_flag = FUTEX_PRIVATE_FLAG };

static void *turns(void *arg)
{
	struct shared *s = &private_one;

	for (int i = 0; i < 50; i++) {
		take(&s->lock);
		while (s->turn % 20 != (long)arg)
			wait_cond(&s->cond, &s->lock);
		CHECK_EQ(s->turn, i * 20 + (long)arg);
		s->turn++;
		wake_cond(&s->cond, &s->lock);
		drop(&s->lock);
	}
	return NULL;
}

int main(void)
{
	struct shared *sh =
		mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t t[60];

	CHECK(sh != MAP_FAILED);
	for (int i = 0; i < 60; i++)
		t[i] = spawn(count, &private_one);
	for (int i = 0; i < 60; i++)
		join(t[i]);
	CHECK_EQ(private_one.count, 60 * 300);
	passed("%ld steps", private_one.count);
	for (long i = 0; i < 20; i++)
		t[i] = spawn(turns, (void *)i);
	for (int i = 0; i < 20; i++)
		join(t[i]);
	CHECK_EQ(private_one.turn, 20 * 50);
	passed("%ld turns in order", private_one.turn);
	for (int p = 0; p < 3; p++) {
		pid_t pid;

		CHECK_SYS(pid = fork());
		if (pid == 0) {
			pthread_t other = spawn(count, sh);

			count(sh);
			join(other);
			_exit(0);
		}
	}
	for (int p = 0; p < 3; p++) {
		int status;

		CHECK(wait(&status) > 0);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	CHECK_EQ(sh->count, 3 * 2 * 300);
	passed("%ld steps of three processes", sh->count);
	return 0;
}
