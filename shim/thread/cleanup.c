/*
 * cleanup: the two functions of libgcc_s that a scope cleanup needs, found when the first unwind
 * arrives.
 *
 * Code here that must run when a thread is cancelled or exits in the middle of it (HANDOFF, the
 * loader's gates, once) uses __attribute__((cleanup)), for which the compiler refers to
 * _Unwind_Resume and to C's personality routine.  Linked in the ordinary way they make
 * libgcc_s.so.1 a dependency of every program that is preloaded; linked statically they are a
 * second unwinder, that does not know the frames a program registered with the first.  So libc's
 * way is taken: nothing is needed until an exception passes, and by then libgcc_s was loaded to
 * raise it.
 *
 * Libc itself loads it at the first cancellation, past the gate at which Gs wait (dlopen.c): a
 * second thread would block with its kernel thread if the first lost the CPU in a constructor.  So
 * unwind_ready() is called before.
 *
 * Must never: be visible outside the library; be compiled into anything that links libgcc_s itself.
 */
#include "shim/syscall/rawsyscall.h"
#include "shim/libc/dlopen.h"

#include "runtime/base/log.h"

struct _Unwind_Exception;
struct _Unwind_Context;

typedef int personality_fn(int version, int actions, uint64_t class, struct _Unwind_Exception *exc,
			   struct _Unwind_Context *context);
typedef void resume_fn(struct _Unwind_Exception *exc);

/* "used": the calls appear after link-time optimisation has looked at what is called. */
personality_fn __gcc_personality_v0 hidden __attribute__((used));
resume_fn _Unwind_Resume hidden __attribute__((noreturn, used));

/* The first caller writes what all would write; the release pairs with the acquire in bound(). */
static personality_fn *personality_of_c;
static resume_fn *resume;

static void find_libgcc(void)
{
	void *lib = dl_open_gated("libgcc_s.so.1", RTLD_NOW);
	void *p = lib ? dlsym(lib, "__gcc_personality_v0") : NULL;
	void *r = lib ? dlsym(lib, "_Unwind_Resume") : NULL;

	if (!p || !r)
		weft_throw("libgcc_s.so.1 cannot be loaded: cancellation needs it (install it)");
	store_relaxed(&resume, (resume_fn *)r);
	store_release(&personality_of_c, (personality_fn *)p);
}

static void bound(void)
{
	if (!load_acquire(&personality_of_c))
		find_libgcc();
}

void unwind_ready(void)
{
	bound();
}

int __gcc_personality_v0(int version, int actions, uint64_t class, struct _Unwind_Exception *exc,
			 struct _Unwind_Context *context)
{
	bound();
	return personality_of_c(version, actions, class, exc, context);
}

/* libgcc_s goes on from its caller, this frame, which has nothing to clean up. */
void _Unwind_Resume(struct _Unwind_Exception *exc)
{
	bound();
	resume(exc);
	__builtin_unreachable();
}

/*
 * libc's functions were written for threads that die with their kernel thread: system() blocks
 * SIGCHLD, posix_spawn() everything, and a cancellation in between leaves it so.  This kernel
 * thread lives on.
 */
void handoff_unwound(void)
{
	uint64_t mask;

	if (!on_g())
		return;
	mask = sigmask_of(getg());
	direct4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}
