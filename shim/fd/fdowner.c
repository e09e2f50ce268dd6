/*
 * fdowner: F_SETOWN_EX names a thread that gets a descriptor's signals, and a G's id is none of the
 * kernel's.
 *
 * The kernel sends the signal thread signal 32 instead, which directs the signal that was asked for at the
 * G that was named (signal/signote.c).  What the program reads back is what it set.  A plain SIGIO brings
 * more with it than natively: the descriptor and what happened to it.
 *
 * The notes go by number.  One that the kernel no longer confirms (signal 32 for that number) is of a
 * file that was closed.  (Not seen: the owner of a file asked for by another number of it.)
 *
 * Must never: believe a note that the kernel does not confirm.
 */
#include "shim/fd/fdowner.h"

#include "shim/thread/tid.h"
#include "shim/signal/signote.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/syscall.h"
#include "shim/syscall/usermem.h"

static struct signotes owners; /* sig as F_SETSIG has it: 0 is a plain SIGIO */

/* The note of the file that fd is now; -1: none. */
static int noted(int fd)
{
	int i = signote_find(&owners, fd);

	if (i >= 0 && direct3(SYS_fcntl, fd, F_GETSIG, 0) != SIGWEFT) {
		signote_give(&owners, i);
		i = -1;
	}
	return i;
}

static long own(int fd, const struct thread *th)
{
	struct f_owner_ex router = { .type = F_OWNER_TID };
	int i = noted(fd);
	long was, r;

	if (!sigroute_start())
		return -ENOMEM;
	router.pid = sigroute_tid();
	if (i < 0) {
		was = direct3(SYS_fcntl, fd, F_GETSIG, 0);
		if (was < 0)
			return was;
		i = signote_take(&owners, fd);
		if (i < 0)
			return -ENOMEM;
		store_release(&signote_at(&owners, i)->sig, (int)was);
	}
	/* The note first: a signal may come at once. */
	signote_name(&owners, i, (long)g_tid(th->g));
	r = direct3(SYS_fcntl, fd, F_SETSIG, SIGWEFT);
	if (!r)
		r = direct3(SYS_fcntl, fd, F_SETOWN_EX, &router);
	if (r)
		signote_give(&owners, i);
	return r;
}

/* It gets another owner. */
static void disown(int i)
{
	direct3(SYS_fcntl, load_acquire(&signote_at(&owners, i)->number), F_SETSIG,
		load_acquire(&signote_at(&owners, i)->sig));
	signote_give(&owners, i);
}

static bool set_owner(int fd, const struct f_owner_ex *arg, long *r)
{
	struct f_owner_ex o;
	struct thread *th = NULL;
	bool known = arg && user_get(&o, arg, sizeof(o));
	int i;

	if (known && o.type == F_OWNER_TID)
		th = thread_by_id(o.pid);
	if (th) {
		*r = own(fd, th);
		return true;
	}
	i = noted(fd);
	if (i >= 0)
		disown(i);
	if (!known || o.type != F_OWNER_PID)
		return false;
	/* Any thread's id names its process. */
	o.pid = tid_process(o.pid);
	*r = direct3(SYS_fcntl, fd, F_SETOWN_EX, &o);
	return true;
}

bool fdowner_call(int fd, int cmd, void *arg, long *r)
{
	int i;

	if (!weft_on)
		return false;
	if (cmd == F_SETOWN_EX)
		return set_owner(fd, arg, r);
	i = noted(fd);
	if (cmd == F_SETOWN && (int)(long)arg >= G_ID_MIN) {
		if (i >= 0)
			disown(i);
		*r = direct3(SYS_fcntl, fd, F_SETOWN, tid_process((int)(long)arg));
		return true;
	}
	if (i < 0)
		return false;
	switch (cmd) {
	case F_SETOWN:
		disown(i);
		return false;
	case F_SETSIG:
		if ((unsigned long)arg > NSIG_) {
			*r = -EINVAL;
			return true;
		}
		store_release(&signote_at(&owners, i)->sig, (int)(long)arg);
		*r = 0;
		return true;
	case F_GETSIG:
		*r = load_acquire(&signote_at(&owners, i)->sig);
		return true;
	case F_GETOWN:
		*r = load_acquire(&signote_at(&owners, i)->target);
		return true;
	case F_GETOWN_EX:
		*r = direct3(SYS_fcntl, fd, F_GETOWN_EX, arg); /* it says whether arg can be written */
		if (!*r)
			((struct f_owner_ex *)arg)->pid = (pid_t)load_acquire(&signote_at(&owners, i)->target);
		return true;
	}
	return false;
}

long controls_file(const struct call *x)
{
	long r;

	if (fdowner_cmd((int)x->b) && fdowner_call((int)x->a, (int)x->b, (void *)x->c, &r))
		return r;
	return call_blocks(x);
}

/* The note of the file that sent signal 32; -1: none. */
static int note_of_file(const siginfo_t *si)
{
	return si->si_code >= POLL_IN && si->si_code <= POLL_HUP ? signote_find(&owners, si->si_fd) : -1;
}

/* Of the file that sent the signal that was asked for. */
static int note_of_signal(const siginfo_t *si)
{
	int i = note_of_file(si);

	return i < 0 || signote_sig(&owners, i) != si->si_signo ? -1 : i;
}

struct thread *fdowner_target(const siginfo_t *si)
{
	int i = note_of_signal(si);

	return i < 0 ? NULL : signote_thread(&owners, i);
}

bool fdowner_names_thread(const siginfo_t *si)
{
	return note_of_signal(si) >= 0;
}

void fdowner_fired(const siginfo_t *si)
{
	signote_fired(&owners, note_of_file(si), si); /* false: closed meanwhile */
}
