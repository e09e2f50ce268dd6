/*
 * handlerframe: where a handler of the program runs, and what it sees there: see handlerframe.c.
 */
#ifndef WEFT_SHIM_HANDLERFRAME_H
#define WEFT_SHIM_HANDLERFRAME_H

#include "shim/signal/altstack.h"

#include "runtime/arch/sigframe.h" /* after the shim's own way to include <signal.h> */

typedef void frame_fn(struct sigframe *f, void *arg);

/*
 * Takes f, which lies on a stack of weft's, to where the kernel would have put it for an action with
 * these flags, and calls fn(copy, arg) there.  fn ends with frame_leave(copy).  Returns true when that
 * is all over and f is what is left to return through; false when there is no room: signal_no_room().
 */
bool frame_move(struct sigframe *f, int flags, frame_fn *fn, void *arg) hidden;
/*
 * The same for the caller's own state, as of this call; returns when fn has.  On a G.  fn begins with
 * self_thread.leaving set, as it ends.
 */
void frame_call(int flags, frame_fn *fn, void *arg) hidden;
/*
 * The handlers over f have returned: what they made of uc_stack counts, and what f interrupted goes on,
 * on any M.  On a G it does not return; a native thread returns through f.
 */
void frame_leave(struct sigframe *f) hidden;
/* What the kernel does when there is no room: as soon as f is returned through the process ends by SIGSEGV. */
void frame_none(struct sigframe *f, bool faults_again) hidden;
/*
 * In sighandler.c: sig's handler has none; one of SIGSEGV may.  fault: f has made the signal itself; side:
 * the side stack that f lies on, or NULL.
 */
void signal_no_room(struct sigframe *f, int sig, bool fault, void *side) hidden;
/* Calls fn(arg) over uc on the stack that an action with these flags asks for. */
void frame_on(int flags, void *uc, void (*fn)(void *), void *arg) hidden;

#endif
