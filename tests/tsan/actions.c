/*
 * actions: what a handler reads of the table of actions (actiontable.c) is one action, whole, while another thread
 * changes it.  One thread writes, as under the lock; three read.
 */
#include "tests/tsan/drive.h"

#include "shim/signal/actiontable.c"

enum { CHANGES = 20000, A_SIGNAL = 40 };

static _Atomic bool written;

static void writer(struct driver *d)
{
	for (int i = 1; i <= CHANGES; i++) {
		struct sigaction sa;

		memset(&sa, i & 0xff, sizeof(sa));
		sa.sa_flags = i;
		action_put(A_SIGNAL, &sa);
		pace(d);
	}
	store_release(&written, true);
}

static void reader(struct driver *d)
{
	int last = 0;

	while (!load_acquire(&written)) {
		const unsigned char *at;
		struct sigaction sa;

		action_get(A_SIGNAL, &sa);
		at = (const unsigned char *)&sa.sa_mask;
		for (size_t i = 0; i < sizeof(sa.sa_mask); i++)
			must(at[i] == (sa.sa_flags & 0xff), "an action is whole");
		must(sa.sa_flags >= last, "an action is no older than the one before");
		last = sa.sa_flags;
		pace(d);
	}
}

int main(void)
{
	drive_world(1);
	drive((void (*[])(struct driver *)){ writer, reader, reader, reader });
	puts("1 passed, 0 failed");
}
