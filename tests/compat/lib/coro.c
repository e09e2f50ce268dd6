/* coro: see coro.h. */
#include "tests/compat/coro.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int passed, failed;

static struct tcb_stack bounds(const struct coro *c)
{
	return (struct tcb_stack){c->map, CORO_GUARD + c->stack_size, CORO_GUARD};
}

bool coro_new(struct coro *c, uint32_t tid)
{
	size_t align = tcb_area_align();
	struct tcb_stack stk;
	uintptr_t area;

	memset(c, 0, sizeof *c);
	c->map_size = CORO_GUARD + CORO_STACK;
	c->map =
		mmap(NULL, c->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->map == MAP_FAILED)
		return false;
	mprotect(c->map, CORO_GUARD, PROT_NONE);
	area = ((uintptr_t)c->map + c->map_size - tcb_area_size()) & -align;
	c->stack_size = area - (uintptr_t)c->map - CORO_GUARD;
	stk = bounds(c);
	c->tcb = tcb_create((void *)area, &stk, tid);
	return c->tcb != NULL;
}

bool coro_again(struct coro *c, uint32_t tid)
{
	struct tcb_stack stk = bounds(c);

	c->done = c->unwound = false;
	/* As the scheduler: the short way if it can be had; and the long way must do as well. */
	if (tid % 4 && tcb_renew(c->tcb, &stk, tid) == 0)
		return true;
	return tcb_reuse(c->tcb, &stk, tid) == 0;
}

static __attribute__((noinline)) void life(struct coro *c)
{
	/* The buffer is shorter than a jmp_buf: without the signal mask sigsetjmp fills no more. */
	union {
		__pthread_unwind_buf_t unwind;
		sigjmp_buf jmp;
	} buf;

	memset(&buf, 0, sizeof buf);
	if (!sigsetjmp(buf.jmp, 0)) {
		compat_register_cancel(&buf.unwind);
		c->result = c->fn(c, c->arg);
	} else {
		c->unwound = true;
	}
}

static void entry(unsigned lo, unsigned hi)
{
	struct coro *c = (struct coro *)((uintptr_t)hi << 32 | lo);

	tcb_enter();
	life(c);
	compat_call_tls_dtors();
	tcb_leave();
	c->done = true;
	coro_yield(c);
	abort();
}

bool coro_resume(struct coro *c)
{
	c->back_fs = arch_getfs();
	arch_setfs(c->tcb);
	swapcontext(&c->back, &c->self);
	return c->done;
}

bool coro_run(struct coro *c, int (*fn)(struct coro *, void *), void *arg)
{
	uintptr_t p = (uintptr_t)c;

	c->fn = fn;
	c->arg = arg;
	c->result = 0;
	getcontext(&c->self);
	c->self.uc_stack.ss_sp = (char *)c->map + CORO_GUARD;
	c->self.uc_stack.ss_size = c->stack_size;
	c->self.uc_link = NULL;
	makecontext(&c->self, (void (*)(void))entry, 2, (unsigned)p, (unsigned)(p >> 32));
	return coro_resume(c);
}

void coro_yield(struct coro *c)
{
	arch_setfs(c->back_fs);
	swapcontext(&c->self, &c->back);
}

void coro_free(struct coro *c)
{
	tcb_destroy(c->tcb);
	munmap(c->map, c->map_size);
}

bool in_child(int (*fn)(void), unsigned seconds, int *how)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(seconds);
		exit(fn() != 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		*how = -1;
		return false;
	}
	*how = WIFSIGNALED(status) ? WTERMSIG(status) : 256 + WEXITSTATUS(status);
	return status == 0;
}

void report(const char *name, bool ok, const char *detail)
{
	printf("%s %s%s%s\n", ok ? "ok" : "not ok", name, detail[0] ? ": " : "", detail);
	if (ok)
		passed++;
	else
		failed++;
}

int summary(void)
{
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
