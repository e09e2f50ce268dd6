/*
 * moment: the part of a wait for another thread's moment that enters the kernel.
 *
 * Must never: wait on a word.  Where the other thread can say when it is done, a futex is cheaper.
 */
#include "runtime/base/moment.h"

#include "runtime/os/os.h"

/*
 * An eighth of what it slept so far, so that no wait is longer by more than that for want of a look.  No more than
 * MOMENT_SLEEP_MOST: a G keeps its P meanwhile, and gives way to others in between only.
 */
static uint64_t next_sleep(const struct moment *w)
{
	uint64_t ns = w->slept / MOMENT_LATE;

	if (ns > MOMENT_SLEEP_MOST)
		return MOMENT_SLEEP_MOST;
	return ns > MOMENT_SLEEP_NS ? ns : MOMENT_SLEEP_NS;
}

void moment_wait(struct moment *w)
{
	uint64_t ns;

	if (w->yields < MOMENT_YIELDS) {
		w->yields++;
		os_osyield();
		return;
	}
	ns = next_sleep(w);
	w->slept += ns;
	os_usleep((uint32_t)(ns / 1000));
}
