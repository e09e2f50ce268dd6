/*
 * stopping: where a kernel thread is, and what its registers are while it computes.
 *
 * The thread is seized and interrupted (ptrace), its registers and the top of its stack are copied, and it goes on:
 * some tens of microseconds.  Only one that was on a CPU is stopped, for a call that waits in the kernel might end
 * with EINTR.
 *
 * One that has no CPU does not stop in time: each later look lets go what has stopped meanwhile, and the kernel lets go
 * the rest when weftctl ends.
 *
 * Must never: leave a thread stopped; wait for it without bound.
 */
#include "ctl/stackparts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS = 200, BETWEEN = 100 /* us */, LATE_MOST = 256 };

/* Told to stop, and waited for in vain: it had no CPU.  It stops when it has one, and is let go then. */
static pid_t late[LATE_MOST];
static int nlate;

static void let_go_late(void)
{
	for (int i = nlate; i-- > 0;) {
		int status;
		pid_t got = waitpid(late[i], &status, __WALL | WNOHANG);

		if (got == 0)
			continue;
		if (got == late[i] && WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, late[i], NULL, (void *)(long)(status >> 16 ? 0 : WSTOPSIG(status)));
		late[i] = late[--nlate];
	}
}

static bool is_late(pid_t tid)
{
	for (int i = 0; i < nlate; i++)
		if (late[i] == tid)
			return true;
	return false;
}

enum where stopping_where(pid_t pid, pid_t tid, uint64_t *pc, uint64_t *sp)
{
	char path[64], text[256];
	enum where at = WHERE_GONE;
	char *last;
	FILE *f;

	let_go_late();
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, tid);
	f = fopen(path, "re");
	if (!f)
		return WHERE_GONE;
	if (fgets(text, sizeof(text), f)) {
		text[strcspn(text, "\n")] = '\0';
		if (strcmp(text, "running") == 0)
			at = WHERE_CPU;
		else if ((last = strrchr(text, ' ')) && sscanf(last, " %lx", pc) == 1) {
			*last = '\0';
			last = strrchr(text, ' ');
			if (last && sscanf(last, " %lx", sp) == 1)
				at = WHERE_KERNEL;
		}
	}
	fclose(f);
	return at;
}

static void copy_registers(const struct user_regs_struct *u, struct regs *r)
{
	const uint64_t value[REGS] = { u->rax, u->rdx, u->rcx, u->rbx, u->rsi, u->rdi, u->rbp, u->rsp,
				       u->r8,  u->r9,  u->r10, u->r11, u->r12, u->r13, u->r14, u->r15 };

	memcpy(r->value, value, sizeof(value));
	r->known = (1u << 16) - 1;
	r->pc = u->rip;
}

/* *sig: the signal that it stopped to take instead, which it must get; 0: none. */
static bool await_stop(pid_t tid, int *sig)
{
	int status;

	*sig = 0;
	for (int i = 0; i < LOOKS; i++) {
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got == tid && WIFSTOPPED(status)) {
			*sig = status >> 16 ? 0 : WSTOPSIG(status);
			return true;
		}
		if (got == tid)
			return false; /* it has ended */
		if (got < 0 && errno != EINTR)
			return false;
		usleep(BETWEEN);
	}
	return false;
}

bool stopping_regs(struct stacks *s, pid_t tid, struct regs *r)
{
	struct user_regs_struct u;
	bool good;
	int sig;

	if (is_late(tid) || nlate == LATE_MOST || ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 || !await_stop(tid, &sig)) {
		late[nlate++] = tid; /* a thread that runs cannot be let go */
		return false;
	}
	good = ptrace(PTRACE_GETREGS, tid, NULL, &u) == 0;
	if (good) {
		copy_registers(&u, r);
		s->stopped = true;
		s->from = u.rsp;
		s->to = u.rsp + proc_read_some(s->p, u.rsp, s->copy, sizeof(s->copy));
	}
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)sig);
	return good;
}

bool stacks_computes(const struct stacks *s, const struct proc_g *g)
{
	struct proc_m m;
	uint64_t pc, sp;
	pid_t tid;

	let_go_late(); /* here, too: one that stays stopped loses its P, and is not asked where it is */
	return g->status == GRUNNING && proc_m_at(s->p, g->m, &m) && m.curg == g->addr &&
	       (tid = proc_tid(s->p, m.ostid)) && stopping_where(s->p->pid, tid, &pc, &sp) == WHERE_CPU;
}
