/*
 * spin: pthread_spin_lock, the one spin function that can take long.
 *
 * x86: 1 free, anything below held.  Spinning for a G that waits for a processor is a waste, and
 * with one P a deadlock: after a bounded time the caller lets others run.  To the tail of the
 * global queue, behind the holder wherever it is queued. trylock, unlock, init and destroy touch
 * one word and stay libc's.
 */
#include <sched.h>

#include "runtime/sched/policy.h"
#include "shim/sync/sync.h"

static void let_others_run(void)
{
	if (on_g())
		gosched();
	else
		plain_syscall(SYS_sched_yield, 0, 0, 0);
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	int *word = (int *)lock;

	if (unlikely(!weft_on))
		return real.pthread_spin_lock(lock);
	for (;;) {
		for (int i = 0; i < SPIN_SPINS; i++) {
			int one = 1;

			if (load_relaxed(word) == 1 && cas_acquire(word, &one, 0))
				return 0;
			arch_pause();
		}
		let_others_run();
	}
}
