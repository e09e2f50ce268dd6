/*
 * dlopen: the loader, with a lock that Gs can wait for in front of the ones it has.
 *
 * ld.so serialises itself with recursive futex locks whose owner is the thread's id.  A G that
 * waited for one would take its kernel thread along, so Gs first take a lock of ours, also
 * recursive, owned by the G: ld.so's is then free (or held by a native thread, for which the
 * kernel thread does wait).  There are two of ours because ld.so has two: dlopen keeps its load
 * lock while constructors run, and a constructor may wait for a G that calls dl_iterate_phdr, which
 * does not need that lock.
 *
 * No P is given away.  Constructors, destructors and phdr callbacks are the program's code: they
 * create threads and call everything else, which needs a P.  What the loader reads from a disk
 * meanwhile is short, and sysmon notices a kernel thread that hangs there.
 *
 * The caller matters.  dlopen looks at its return address: the object that calls lends its
 * DT_RUNPATH, its DT_RPATH (and those of the objects that loaded it) and its $ORIGIN.  Called from
 * here, it would be this library's, which has none of them.  So a call that could tell the
 * difference leaves by a jump: libc's function then returns to the program itself and sees the
 * program's address, and that call goes without our lock; a wait inside is again for sysmon to
 * notice.  The other calls, most of them, cannot tell. A namespace of its own is no case: what
 * dlmopen loads there is not bound to this library. Rejected: a return address forged to a ret
 * instruction of the caller's object; it works until something unwinds through a constructor.
 *
 * Must never: be linked with a DT_RUNPATH or DT_RPATH; leave by a call where the caller matters
 * (JUMPING, TAIL); interpose dlsym and dlvsym (RTLD_NEXT is relative to the caller).
 */
#include "shim/sync/eintr.h"
#include "shim/libc/dlopen.h"
#include "compat/tcb.h"
#include "runtime/sched/policy.h"
#include "shim/signal/safepoint.h"
#include "shim/sync/sync.h"

#include <string.h>

/* Both under the lot's lock of the gate's address. */
struct gate {
	struct g *owner;    /* NULL: free; others look without the lock, which is a hint */
	unsigned int depth; /* the owner's */
};

static struct gate load_gate, phdr_gate;
/* Objects may have come that execstack.c has not looked at; written before the gate's owner is gone. */
static _Atomic bool unseen;
/* in a fork child: ld.so's lock of the list is held by a thread that does not exist */
static bool list_lost;

/* Under the lot's lock: taking it means not to sleep. */
static int gate_taken(void *arg)
{
	struct gate *gate = arg;

	if (gate->owner && gate->owner != getg())
		return false;
	store_relaxed(&gate->owner, getg());
	gate->depth++;
	return true;
}

static int gate_look(void *arg, unsigned woken, bool more)
{
	struct gate **gate = arg;

	(void)woken, (void)more;
	if (!gate_taken(*gate))
		*gate = NULL;
	return 0;
}

static struct gate *gate_try(struct gate *gate)
{
	lot_do(gate, gate_look, &gate);
	return gate;
}

static struct gate *gate_enter(struct gate *gate)
{
	struct park pk = park_wait(gate, gate_taken, gate, WaitLoader);

	while (!gate_try(gate)) {
		int r = lot_park(&pk);

		if (r == -EAGAIN)
			break;
		if (r == -EINTR)
			eintr_in_lock();
	}
	return gate;
}

static int gate_depart(void *arg, unsigned woken, bool more)
{
	struct gate **gate = arg;

	(void)woken, (void)more;
	if (--(*gate)->depth)
		*gate = NULL;
	else
		store_release(&(*gate)->owner, NULL); /* pairs with dl_loading(), for unseen */
	return 0;
}

/* A scope cleanup, because constructors may end the thread and unwind through the loader. */
static void gate_leave(struct gate **held)
{
	struct gate *gate = *held;

	if (!gate)
		return;
	lot_do(*held, gate_depart, &gate);
	if (gate)
		lot_wake(gate, 1, 0, READY_TAIL, NULL, NULL);
}

/* To the end of the scope. */
#define INSIDE(which)                                                                              \
	struct gate *held_ __attribute__((cleanup(gate_leave), unused)) = gate_enter(which)

/*
 * What others were loading ends with them.  The child must not take it for loading still under way,
 * and must not look at the list of objects of its own accord if a thread was in there: glibc (2.36)
 * does not free ld.so's lock of it in the child, so a pthread_create that looked would wait for
 * ever.
 */
void dl_fork_child(void)
{
	struct gate *gates[] = {&load_gate, &phdr_gate};

	if (phdr_gate.owner && phdr_gate.owner != getg())
		list_lost = true;
	for (int i = 0; i < 2; i++) {
		if (gates[i]->owner == getg())
			continue;
		*gates[i] = (struct gate){.owner = NULL};
	}
	store_relaxed(&unseen, false);
}

static int iterate_inside(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	INSIDE(&phdr_gate);

	return real.dl_iterate_phdr(fn, arg);
}

/*
 * Calls that do not touch the list natively must not wait for it here: a callback of the program's
 * that is in there may wait for the caller.  False: another G is in there, and nothing was done.
 */
static bool each_if_free(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	struct gate *held __attribute__((cleanup(gate_leave))) = NULL;

	if (list_lost)
		return false;
	held = gate_try(&phdr_gate);
	if (!held)
		return false;
	libc_enter(); /* fn is ours and short: never switched away, see safepoint.c */
	real.dl_iterate_phdr(fn, arg);
	libc_leave();
	return true;
}

bool dl_list_held(void)
{
	return load_relaxed(&phdr_gate.owner) == getg();
}

bool dl_each_object(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	if (on_g())
		return each_if_free(fn, arg);
	real.dl_iterate_phdr(fn, arg);
	return true;
}

/* What caller_irrelevant() asks of every object. */
struct question {
	uintptr_t caller;
	bool by_name; /* the file is searched for: DT_RUNPATH of the caller counts */
	bool found;   /* an object holds the caller */
	bool matters;
	bool first; /* the first object is the program, whose DT_RPATH counts for all callers */
};

static int ask_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *q = arg;
	const ElfW(Dyn) *dyn = NULL;
	bool caller_here = false, runpath = false, rpath = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_DYNAMIC)
			dyn = (const void *)(info->dlpi_addr + ph->p_vaddr);
		if (ph->p_type == PT_LOAD &&
		    q->caller - info->dlpi_addr - ph->p_vaddr < ph->p_memsz)
			caller_here = true;
	}
	for (; dyn && dyn->d_tag != DT_NULL; dyn++) {
		runpath |= dyn->d_tag == DT_RUNPATH;
		rpath |= dyn->d_tag == DT_RPATH;
	}
	q->found |= caller_here;
	q->matters |= caller_here && runpath && q->by_name;
	q->matters |= rpath && !q->first;
	q->first = false;
	return q->matters;
}

static bool caller_irrelevant(const char *file, const void *caller)
{
	struct question q = {.caller = (uintptr_t)caller, .first = true};

	if (!file || !*file)
		return true; /* the program itself */
	if (strchr(file, '$'))
		return false;
	q.by_name = !strchr(file, '/');
	/* Nearly always another thread is in there for a moment. */
	for (int i = 0; !each_if_free(ask_object, &q); i++) {
		if (i == MOMENT_YIELDS || list_lost)
			return false;
		gosched();
	}
	return q.found && !q.matters;
}

static void look(void)
{
	if (!execstack_look())
		store_relaxed(&unseen, true);
}

static void *open_inside(const char *file, int mode)
{
	void *object;

	INSIDE(&load_gate);

	object = real.dlopen(file, mode);
	look();
	return object;
}

void *dl_open_gated(const char *file, int mode)
{
	return on_g() ? open_inside(file, mode) : real.dlopen(file, mode);
}

static void *mopen_inside(Lmid_t ns, const char *file, int mode)
{
	void *object;

	INSIDE(&load_gate);

	object = real.dlmopen(ns, file, mode);
	look();
	return object;
}

/*
 * A call that leaves by a jump cannot keep the gate, but it waits until the holder is done: a
 * kernel thread that waits in ld.so takes its P along until sysmon notices.
 */
static void wait_turn(void)
{
	INSIDE(&load_gate);

	store_relaxed(&unseen, true); /* no G is loading when it returns */
}

bool dl_loading(void)
{
	return load_acquire(&load_gate.owner) != NULL ||
	       load_relaxed(&unseen);
}

EXPORT JUMPING void *dlopen(const char *file, int mode)
{
	if (on_g()) {
		if (caller_irrelevant(file, __builtin_return_address(0)))
			return open_inside(file, mode);
		wait_turn();
	}
	TAIL real.dlopen(file, mode);
}

EXPORT JUMPING void *dlmopen(Lmid_t ns, const char *file, int mode)
{
	if (ns != LM_ID_BASE)
		tcb_namespace_comes();
	if (on_g()) {
		if (caller_irrelevant(file, __builtin_return_address(0)))
			return mopen_inside(ns, file, mode);
		wait_turn();
	}
	TAIL real.dlmopen(ns, file, mode);
}

static int close_inside(void *handle)
{
	INSIDE(&load_gate);

	return real.dlclose(handle);
}

EXPORT int dlclose(void *handle)
{
	return on_g() ? close_inside(handle) : real.dlclose(handle);
}

EXPORT int dl_iterate_phdr(int (*fn)(struct dl_phdr_info *, size_t, void *), void *arg)
{
	return on_g() ? iterate_inside(fn, arg) : real.dl_iterate_phdr(fn, arg);
}
