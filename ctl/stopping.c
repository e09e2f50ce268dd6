/*
 * stopping: where a kernel thread is, and what its registers are while it computes.
 *
 * The thread is seized and interrupted (ptrace), its registers and the top of its stack are copied, and it goes on:
 * some tens of microseconds.  Only one that was on a CPU is stopped, for a call that waits in the kernel might end
 * with EINTR.
 *
 * One that has no CPU does not stop in time; it stops when it has one, perhaps much later.  So a process of its own,
 * made with the first question, does the stopping: it lets go a late one within a millisecond, also while weftctl is
 * busy with its answer, waits for a second or is stopped itself by ^Z.  It ends with weftctl, and the kernel then lets
 * go what is left.
 *
 * Must never: leave a thread stopped; wait for it without bound.
 */
#include "ctl/stackparts.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOKS = 200, BETWEEN = 100 /* us */, LATE_MOST = 256 };

/* ---- where it is ----------------------------------------------------------------------------- */

enum where stopping_where(pid_t pid, pid_t tid, uint64_t *pc, uint64_t *sp)
{
	char path[64], text[256];
	enum where at = WHERE_GONE;
	char *last;
	FILE *f;

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

bool stacks_computes(const struct stacks *s, const struct proc_g *g)
{
	struct proc_m m;
	uint64_t pc, sp;
	pid_t tid;

	return g->status == GRUNNING && proc_m_at(s->p, g->m, &m) && m.curg == g->addr &&
	       (tid = proc_tid(s->p, m.ostid)) && stopping_where(s->p->pid, tid, &pc, &sp) == WHERE_CPU;
}

/* ---- in the process that stops --------------------------------------------------------------- */

struct wish {
	pid_t pid, tid;
};

/* What both see. */
static struct answer {
	bool good;
	struct user_regs_struct regs;
	size_t n;                   /* of the stack, from the stack pointer up */
	char copy[COPY];
} *answer;

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

static bool stop_one(const struct wish *w)
{
	struct proc target = { .pid = w->pid };
	int sig;

	if (is_late(w->tid) || nlate == LATE_MOST || ptrace(PTRACE_SEIZE, w->tid, NULL, NULL) != 0)
		return false;
	if (ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL) != 0 || !await_stop(w->tid, &sig)) {
		late[nlate++] = w->tid; /* a thread that runs cannot be let go */
		return false;
	}
	answer->good = ptrace(PTRACE_GETREGS, w->tid, NULL, &answer->regs) == 0;
	if (answer->good)
		answer->n = proc_read_some(&target, answer->regs.rsp, answer->copy, sizeof(answer->copy));
	ptrace(PTRACE_DETACH, w->tid, NULL, (void *)(long)sig);
	return answer->good;
}

static void stopper_main(int asks)
{
	struct wish w;

	/* No signal of weftctl's terminal, and nothing of its files: a reader of its output waits for nobody. */
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(asks, 0);
	close_range(1, ~0U, 0);
	for (;;) {
		struct pollfd p = { 0, POLLIN, 0 };

		if (poll(&p, 1, nlate ? 1 : -1) > 0) {
			if (recv(0, &w, sizeof(w), 0) != sizeof(w))
				_exit(0);
			answer->good = stop_one(&w);
			send(0, "", 1, MSG_NOSIGNAL);
		}
		let_go_late();
	}
}

/* ---- asking it ------------------------------------------------------------------------------- */

static int stopper = -1; /* a socket */

static bool stopper_start(void)
{
	int pair[2];
	pid_t pid;

	if (stopper >= 0)
		return true;
	answer = mmap(NULL, sizeof(*answer), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (answer == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	pid = fork();
	if (pid == 0)
		stopper_main(pair[1]);
	close(pair[1]);
	stopper = pair[0];
	return pid > 0;
}

bool stopping_regs(struct stacks *s, pid_t tid, struct regs *r)
{
	struct wish w = { s->p->pid, tid };
	ssize_t got;
	char c;

	if (!stopper_start() || send(stopper, &w, sizeof(w), MSG_NOSIGNAL) != sizeof(w))
		return false;
	while ((got = recv(stopper, &c, 1, 0)) < 0 && errno == EINTR)
		;
	if (got != 1 || !answer->good)
		return false;
	copy_registers(&answer->regs, r);
	s->stopped = true;
	s->from = answer->regs.rsp;
	s->to = s->from + answer->n;
	memcpy(s->copy, answer->copy, answer->n);
	return true;
}
