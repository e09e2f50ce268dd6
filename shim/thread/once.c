/*
 * once: pthread_once and call_once.
 *
 *	0		not yet, or the initialiser was left by cancellation or an exception
 *	forks << 2 | 1	a thread runs it, in the process with this count of forks
 *	2		done
 *
 * 0 and 2 are libc's values.  A fork child has no such thread, and the next caller starts over: so
 * the count of forks is in the value, as in libc, which does not show its own.  Because of that, and
 * because an initialiser may itself make the first thread and so start weft, this code is used from
 * the beginning and never libc's.
 *
 * Rejected: the process id in place of the count.  In a namespace of its own a child may have its
 * parent's.
 *
 * Waiters sleep on the lot, or in the kernel if weft does not run; the end of the initialiser wakes
 * both, since weft may have started within.
 */
#include <linux/futex.h>

#include "shim/sync/eintr.h"
#include "shim/sync/sync.h"

/* libc exports them and its headers no longer declare them. */
extern void _pthread_cleanup_push(struct _pthread_cleanup_buffer *, void (*)(void *), void *);
extern void _pthread_cleanup_pop(struct _pthread_cleanup_buffer *, int execute);

enum { ONCE_NEW = 0, ONCE_BUSY = 1, ONCE_DONE = 2 };

static unsigned int forks; /* between this process and the first; written by a child's only thread */

void once_fork_child(void)
{
	forks++;
}

struct run {
	int *control;
	bool done;      /* init returned */
	bool over;      /* finish() was here */
	struct _pthread_cleanup_buffer buffer;
};

static void finish(void *arg)
{
	struct run *r = arg;

	if (r->over)
		return;
	r->over = true;
	/* Release: pairs with the acquire loads in do_once(). */
	store_release(r->control, r->done ? ONCE_DONE : ONCE_NEW);
	plain_syscall(SYS_futex, (long)r->control, FUTEX_WAKE_PRIVATE, INT_MAX);
	if (weft_on)
		lot_wake(lot_key(r->control, KEY_OTHER), UINT_MAX, 0, READY_TAIL, NULL, NULL);
}

struct oncewait {
	int *control;
	int seen;
};

static int changed(void *arg)
{
	struct oncewait *w = arg;

	return load_acquire(w->control) != w->seen;
}

static void wait_for(int *control, int seen)
{
	struct oncewait w = {control, seen};
	struct park pk = park_wait(lot_key(control, KEY_OTHER), changed, &w, WaitOnce);

	if (!weft_on)
		plain_syscall(SYS_futex, (long)control, FUTEX_WAIT_PRIVATE, seen);
	else if (lot_park(&pk) == -EINTR)
		eintr_in_lock();
}

static void leave(struct run *r)
{
	if (r->over)
		return; /* libc ran finish() and took the buffer off its list */
	finish(r);
	_pthread_cleanup_pop(&r->buffer, 0);
}

/*
 * init() may be left in two ways: an exception or a cancellation unwinds through here and calls
 * leave(); and a cancellation in an init() without unwind tables, where the unwinder stops, only
 * runs libc's list.
 */
static void run(int *control, void (*init)(void))
{
	struct run r __attribute__((cleanup(leave))) = {.control = control};

	_pthread_cleanup_push(&r.buffer, finish, &r);
	init();
	r.done = true;
}

static __attribute__((noinline)) int once_slow(int *control, void (*init)(void))
{
	int busy = (int)(forks << 2 | ONCE_BUSY);

	for (;;) {
		int v = load_acquire(control);

		if (v == ONCE_DONE)
			return 0;
		if (v == busy) {
			wait_for(control, v);
		} else if (cas_acquire(control, &v, busy)) {
			run(control, init);
			return 0;
		}
	}
}

static inline int do_once(int *control, void (*init)(void))
{
	if (likely(load_acquire(control) == ONCE_DONE))
		return 0;
	return once_slow(control, init);
}

EXPORT int pthread_once(pthread_once_t *control, void (*init)(void))
{
	return do_once((int *)control, init);
}

EXPORT void call_once(once_flag *flag, void (*init)(void))
{
	do_once((int *)flag, init);
}

ALIAS(__pthread_once, pthread_once);
