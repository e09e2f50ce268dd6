/*
 * sigroute: signals that did not find a G running: see sigroute.c.
 */
#ifndef WEFT_SHIM_SIGROUTE_H
#define WEFT_SHIM_SIGROUTE_H

#include <signal.h>
#include <ucontext.h>

#include "shim/direct.h"
#include "shim/thread.h"

enum { NSIG_ = 64, SIGKICK = 32 };

#define SIGBIT(sig) (UINT64_C(1) << ((sig)-1))
#define SIGS_OURS (SIGBIT(32) | SIGBIT(33))

struct sigaction *act_of(int sig) hidden;
void run_handler(int sig, siginfo_t *si, void *uc, const struct sigaction *sa) hidden;
void sigaction_adopt(void) hidden;
/* From a handler that may not run the program: the signal thread takes it. */
void sigroute_defer(int sig, const siginfo_t *si) hidden;
bool sigroute_is_router(void) hidden;
int sigroute_tid(void) hidden; /* kernel id of the signal thread */
struct thread *timer_target(const siginfo_t *si) hidden;
/* The calling G lets these signals in again: the router must see them too. */
void sigroute_unblocked(uint64_t set) hidden;
void sigroute_fork_child(void) hidden;
/* gp's M must look at gp's queue (or cancellation) now. */
void sigroute_kick(struct g *gp) hidden;
/* Something is queued on a G that could not be told yet. */
void sigroute_watch(void) hidden;

#endif
