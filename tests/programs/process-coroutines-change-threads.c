/*
 * Coroutines that any thread goes on with: by a switch written by hand and by swapcontext.  Eight
 * threads take them from one queue, run each until it yields and put it back.  In between they
 * lock, allocate, print into memory, block in a pipe and fork; a coroutine's stack and registers
 * are its own, errno, thread-locals and pthread_self those of the thread that runs it.
 */
#include "check.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <ucontext.h>

enum { THREADS = 8, COROUTINES = 64, STEPS = 40, SIZE = 128 * 1024 };

struct coroutine {
	struct coroutine *next;
	void *sp;	/* by hand */
	ucontext_t ctx; /* by libc */
	char *stack;
	int number, steps;
	bool ended;
};

struct worker {
	pthread_t id;
	void *sp;
	ucontext_t ctx;
	struct coroutine *now;
};

static struct coroutine all[COROUTINES], *queue, **tail = &queue;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static int by_hand, left, token[2];
static atomic_int forks;
static _Thread_local struct worker *me;

/* void change(void **save, void *to): what a call must keep, and the stack. */
__asm__(".text\n.type change, @function\nchange:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n.size change, . - change\n");
extern void change(void **save, void *to) __attribute__((visibility("hidden")));

/* Not inlined: whoever comes back may be on another thread. */
static __attribute__((noinline)) struct worker *self(void)
{
	__asm__ volatile("" ::: "memory");
	return me;
}

/* pthread_self() is declared const: a compiler may keep the answer of another thread. */
static __attribute__((noinline)) pthread_t running(void)
{
	__asm__ volatile("" ::: "memory");
	return pthread_self();
}

static __attribute__((noinline)) void yield(struct coroutine *c)
{
	struct worker *w = self();

	if (by_hand)
		change(&c->sp, w->sp);
	else
		CHECK_SYS(swapcontext(&c->ctx, &w->ctx));
}

static __attribute__((noinline)) void set_errno(int e)
{
	errno = e;
}

static __attribute__((noinline)) int get_errno(void)
{
	return errno;
}

static void step(struct coroutine *c, int i)
{
	char text[32], *p = malloc(100 + (size_t)i);
	FILE *f;
	char b;

	CHECK(p);
	CHECK(pthread_equal(self()->id, running()));
	CHECK(self()->now == c);
	set_errno(c->number + 1);
	switch ((c->number + i) % 5) {
	case 0:
		CHECK_OK(pthread_mutex_lock(&mu));
		sched_yield();
		CHECK_OK(pthread_mutex_unlock(&mu));
		break;
	case 1:
		CHECK_EQ(read(token[0], &b, 1), 1);
		CHECK_EQ(write(token[1], &b, 1), 1);
		break;
	case 2:
		CHECK(f = fmemopen(text, sizeof text, "w"));
		CHECK(fprintf(f, "%d %.2f", i, 0.5) > 5);
		fclose(f);
		break;
	case 3:
		usleep(50);
		break;
	case 4:
		if (i % 20 == 4) {
			int status;
			pid_t pid;

			CHECK_SYS(pid = fork());
			if (!pid)
				_exit(c->number);
			CHECK_EQ(waitpid(pid, &status, 0), pid);
			CHECK_EQ(status, c->number << 8);
			forks++;
		}
		break;
	}
	CHECK(pthread_equal(self()->id, running()));
	set_errno(c->number + 1);
	sched_yield();
	CHECK_EQ(get_errno(), c->number + 1);
	free(p);
}

static void body(void)
{
	struct coroutine *c = self()->now;
	volatile double sum = 0;
	volatile char big[20000];

	for (int i = 0; i < STEPS; i++) {
		big[i * 100] = (char)i;
		sum += i * 0.25;
		step(c, i);
		c->steps++;
		yield(c);
		CHECK_EQ(big[i * 100], (char)i);
		CHECK(self()->now == c);
	}
	CHECK(sum == STEPS * (STEPS - 1) / 2 * 0.25);
	c->ended = true;
	yield(c);
	abort();
}

static void make(struct coroutine *c, int number)
{
	void **top;

	*c = (struct coroutine){.number = number};
	CHECK(c->stack = malloc(SIZE));
	if (by_hand) {
		top = (void **)(((uintptr_t)c->stack + SIZE) & ~(uintptr_t)15);
		*--top = NULL; /* body returns to nowhere */
		*--top = (void *)body;
		c->sp = memset(top - 6, 0, 6 * sizeof *top);
	} else {
		CHECK_SYS(getcontext(&c->ctx));
		c->ctx.uc_stack.ss_sp = c->stack;
		c->ctx.uc_stack.ss_size = SIZE;
		makecontext(&c->ctx, body, 0);
	}
	*tail = c;
	tail = &c->next;
}

static struct coroutine *take(void)
{
	struct coroutine *c;

	CHECK_OK(pthread_mutex_lock(&mu));
	while (!queue && left)
		CHECK_OK(pthread_cond_wait(&cv, &mu));
	c = queue;
	if (c && !(queue = c->next))
		tail = &queue;
	CHECK_OK(pthread_mutex_unlock(&mu));
	return c;
}

static void put(struct coroutine *c)
{
	CHECK_OK(pthread_mutex_lock(&mu));
	if (c->ended) {
		free(c->stack);
		left--;
	} else {
		c->next = NULL;
		*tail = c;
		tail = &c->next;
	}
	CHECK_OK(pthread_cond_broadcast(&cv));
	CHECK_OK(pthread_mutex_unlock(&mu));
}

static void *work(void *arg)
{
	struct worker w = {.id = pthread_self()};

	me = &w;
	while ((w.now = take())) {
		if (by_hand)
			change(&w.sp, w.now->sp);
		else
			CHECK_SYS(swapcontext(&w.ctx, &w.now->ctx));
		put(w.now);
	}
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	CHECK_SYS(pipe(token));
	CHECK_EQ(write(token[1], "xyz", 3), 3);
	for (by_hand = 0; by_hand < 2; by_hand++) {
		forks = 0;
		left = COROUTINES;
		for (int i = 0; i < COROUTINES; i++)
			make(&all[i], i);
		for (int i = 0; i < THREADS; i++)
			t[i] = spawn(work, NULL);
		for (int i = 0; i < THREADS; i++)
			join(t[i]);
		for (int i = 0; i < COROUTINES; i++)
			CHECK_EQ(all[i].steps, STEPS);
		passed("%d coroutines of %d steps on %d threads, by %s; %d forks", COROUTINES, STEPS, THREADS,
		       by_hand ? "hand" : "swapcontext", forks);
	}
	return 0;
}
