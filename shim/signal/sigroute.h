/*
 * sigroute: signals that did not find a G running: see sigroute.c.
 */
#ifndef WEFT_SHIM_SIGROUTE_H
#define WEFT_SHIM_SIGROUTE_H

#include <signal.h>
#include <ucontext.h>

#include "shim/syscall/rawsyscall.h"
#include "shim/thread/thread.h"

enum { NSIG_ = 64 };

#define SIGBIT(sig) (UINT64_C(1) << ((sig)-1))
#define SIGS_OURS (SIGBIT(32) | SIGBIT(33))
#define SIGS_NEVER (SIGS_OURS | SIGBIT(SIGKILL) | SIGBIT(SIGSTOP)) /* in no mask */

#define REALTIME (~(SIGBIT(34) - 1))

static inline uint64_t sigs_of(const sigset_t *set)
{
	return *(const uint64_t *)(const void *)set;
}

/* A function of the program's, with or without SA_SIGINFO: both are one word. */
static inline bool is_handler(const struct sigaction *sa)
{
	return sa->sa_handler != SIG_DFL && sa->sa_handler != SIG_IGN;
}

/* sigaction.c: what each signal does. */
void trampoline(int sig, siginfo_t *si, void *ctx) hidden; /* the handler that the kernel has */
void action_get(int sig, struct sigaction *sa) hidden; /* the last handler installed */
void action_put(int sig, const struct sigaction *sa) hidden; /* the same, by the holder of the lock */
/*
 * *sa, a copy of the table's, is about to be run.  SA_RESETHAND: the action is the default one from
 * now on; false: it was already, so the caller has nothing to run.  The caller may be on another M
 * afterwards.
 */
bool action_claim(int sig, const struct sigaction *sa) hidden;
int action_flags(int sig) hidden; /* of the last handler */
void action_default(int sig) hidden; /* SIG_DFL: the process ends of it */
uint64_t action_handled(void) hidden; /* the signals that have a handler */
/* With this action the kernel throws sig away. */
bool action_ignores(int sig, const struct sigaction *sa) hidden;
bool action_is_ignored(int sig) hidden; /* with the action of now */
void action_adopt(void) hidden;
void action_fork_child(void) hidden;
/*
 * Directs a signal at a G that lets it in.  shared: it was sent to the process, and goes to another
 * thread should this one end first.
 */
int thread_signal(struct thread *th, int sig, const siginfo_t *info, bool shared) hidden;
/* sigtarget.c.  A fault of the code that runs: never deferred. */
bool signal_synchronous(int sig, const siginfo_t *si) hidden;
bool signal_by_thread(const siginfo_t *si) hidden; /* by tgkill(2) in this process: raise(), abort(), a guest's */
/*
 * The thread to which it was sent by id, whatever that keeps out; NULL: it was sent to the process, or to a
 * thread that has ended.
 */
struct thread *signal_named(const siginfo_t *si) hidden;
bool signal_names_ended(const siginfo_t *si) hidden; /* after NULL: the latter, so that no thread gets it */
/* What the calling G would handle now, of all that is queued on it: the first; 0: nothing. */
int signals_next(void) hidden;
/*
 * Handlers over a frame that is where it belongs: the mask that it will give back, and the G's noted
 * one, as they were before any ran.  Of several it is the first that interrupted a call, and says
 * whether that goes on.
 */
struct sigframe;
struct delivery {
	struct sigframe *f;
	uint64_t kernel, noted;
	bool any, interrupts;
	uint64_t was; /* noted at first */
};
/* What is queued on the calling G and let in when f is left, which is all that may follow: frame_leave(). */
void signals_rest(struct delivery *d) hidden;
/* The same for a caller that takes the first one from the queue, too.  True: a call must end. */
bool signals_over(struct sigframe *f) hidden;
/* A timer that names th has expired; its signal is queued once, and counts (time/overrun.c). */
int thread_timer(struct thread *th, int slot, const siginfo_t *info) hidden;
void sigroute_blocked(uint64_t set) hidden; /* the caller lets these in no more, or ends */
void sigroute_keep_out(uint64_t set) hidden; /* the same, also of signals that have a handler */
/* What is sent now of set waits in the kernel, behind all that was sent before. */
bool sigroute_kept_out(uint64_t set) hidden;
/* Of set, what may wait in the kernel, where no kernel thread takes it: it has a handler, and all kept it out. */
uint64_t sigroute_waits(uint64_t set) hidden;
/* Of set, what all keep out waits where sigpending finds it. */
void sigroute_settle(uint64_t set) hidden;
/*
 * sigmask.c.  The calling G's mask changes, in the kernel and in the notes; or it has changed, and only keeps out
 * more than before.
 */
void sigroute_mask_change(uint64_t was, uint64_t mask) hidden;
void sigroute_mask_closed(uint64_t set) hidden;
void signals_hand_on(uint64_t out) hidden; /* the calling G keeps these out from now on */
/* Of set, standard signals that wait for the process on a thread that keeps them out. */
uint64_t signals_kept(uint64_t set) hidden;
void signals_recall(uint64_t set) hidden; /* the caller lets these in: others that do not hand them on */
void signals_follow(struct g *gp, int sig) hidden; /* sig was just queued on gp, for the process */
void signals_described(uint64_t set) hidden; /* a signalfd was made for these */
/*
 * The G that takes a signal sent to the process now; here (or NULL) comes before others that are
 * not main.  NULL: all keep it out.
 */
struct g *sigroute_choose(int sig, const siginfo_t *si, struct g *here) hidden;
/* true: it is for another thread, which gets it */
bool sigroute_pass_on(int sig, const siginfo_t *si) hidden;
/*
 * sigrequeue.c: pending on the process, as if it had just been sent; and what the kernel gives back
 * of it. False: the user has as many pending as allowed (RLIMIT_SIGPENDING), over all processes.
 */
bool sigroute_requeue(int sig, siginfo_t *si) hidden;
void sigroute_original(siginfo_t *si) hidden;
bool signal_restarts(int sig) hidden; /* siginterrupt() has not said otherwise */
/* sigrun.c: over a frame of the kernel's that is where it belongs: the handler, and what is queued. */
void signal_run(int sig, struct sigframe *f, const struct sigaction *sa) hidden;
/*
 * abort() where no handler may run: the kernel thread is kept here until a G has run the handler.  False:
 * none does.
 */
bool aborted_elsewhere(int sig, const siginfo_t *si) hidden;
void run_handler(int sig, siginfo_t *si, void *uc, const struct sigaction *sa) hidden;
/*
 * From a handler that may not run the program: the signal thread takes it.  True: it is the caller,
 * and has enough for now: the signal must be blocked when the handler returns.
 */
bool sigroute_defer(int sig, const siginfo_t *si) hidden;
/*
 * The same, and it is for the thread of this id alone.  What it came from (a timer, a file) may be gone, or
 * another thread's, when the signal thread takes it.
 */
bool sigroute_defer_at(long named, int sig, const siginfo_t *si) hidden;
void sigroute_flush(void) hidden;
void sigroute_flush_own(void) hidden; /* the same for those that are the caller's */
/* It would be directed at the caller now; named: see sigroute_defer_at(). */
bool signal_for_caller(long named, int sig, const siginfo_t *si) hidden;
/* What the kernel has sent the signal thread before the call is directed, too; bounded as sigroute_flush(). */
void sigroute_catch_up(void) hidden;
bool sigroute_is_sigthread(void) hidden;
/*
 * No handler may run here: the runtime, or the lists of this thread's signals, are in use, or all that
 * is left to do is sigreturn.
 */
static inline bool signals_busy(void)
{
	return runtime_busy() || self_thread.taking || self_thread.leaving || sigroute_is_sigthread();
}
/*
 * The lists of this thread's signals are at rest.  What was kept out for their sake comes in again,
 * as far as its mask, of which this is what it lets in, has not changed meanwhile.
 */
static inline void taking_ends(uint64_t let_in)
{
	uint64_t blocked_meanwhile;

	self_thread.taking = false;
	blocked_meanwhile = self_thread.blocked_meanwhile & let_in;
	if (unlikely(self_thread.blocked_meanwhile)) {
		self_thread.blocked_meanwhile = 0;
		direct4(SYS_rt_sigprocmask, SIG_UNBLOCK, &blocked_meanwhile, NULL, 8);
	}
}
void sigroute_ring(void) hidden; /* the signal thread has something to look at */
void sigroute_stop(void) hidden; /* on main, alone, all signals kept out: the signal thread has ended */
int sigroute_tid(void) hidden; /* kernel id of the signal thread */
bool sigroute_started(void) hidden;
bool sigring_full(void) hidden; /* all but a block, which is left to producers that are on their way */
bool sigroute_drain(void) hidden; /* called by the one thread that takes from the ring */

/* nosigthread.c: without a signal thread. */
void nosigthread_arm(void) hidden;  /* something is in the ring */
void nosigthread_disarm(void) hidden; /* the signal thread is there, or nothing is left */
bool nosigthread_armed(void) hidden;
void nosigthread_drain(void) hidden;
void nosigthread_fork_child(void) hidden;
void sigrequeue_fork_child(void) hidden;
void timer_fork_child(void) hidden;
/* The row of the timer that sent this and names a thread, which may have ended; -1: no such timer. */
int timer_row(const siginfo_t *si) hidden;
struct thread *timer_target(const siginfo_t *si) hidden; /* NULL: ended, or no such timer */
/*
 * Signals with a handler of which the signal thread does not find out by getting one that all keep
 * them out: a timer sends them, and the kernel counts expirations while its signal waits there; or a
 * descriptor is for them, which is read, and polled, in the kernel.
 */
void sigmask_counted(uint64_t set) hidden;
uint64_t sigmask_finds_out(void) hidden; /* all others that have a handler */
void timer_fired(const siginfo_t *si) hidden; /* signal 32 that the signal thread got from a timer */
/* sigchild.c: the thread that made the child whose end this tells; NULL: not known, or no such signal. */
struct thread *sigchild_parent(const siginfo_t *si) hidden;
void sigchild_note(pid_t child) hidden; /* the caller has made it */
/* After lockosthread(LOCK_CHILD) and fork(2)'s result: 0 in a child with memory of its own; < 0: none. */
void child_made(pid_t child) hidden;
/* The calling G lets these signals in again: the signal thread must see them too. */
void sigroute_unblocked(uint64_t set) hidden;
void sigroute_fork_child(void) hidden;
/* gp waits for that reason: would pthread_cancel() end the wait?  Asked by sysmon. */
bool cancel_may_wake(unsigned reason, const struct g *gp) hidden;
/* gp's M must look at gp's queue (or cancellation) now. */
void sigroute_kick(struct g *gp) hidden;
/* Something is queued on a G that could not be told yet. */
void sigroute_watch(void) hidden;

/* For the siginfo of what this process sends. */
uid_t own_uid(void) hidden;

#endif
