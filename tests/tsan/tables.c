/*
 * tables: the shim's tables that threads share without a lock: what a descriptor's number is (fdtable.h), keys (key.c),
 * and names of Gs (runtime).  The rest of the shim is not linked, and what is not linked is not called.
 */
#include "tests/tsan/drive.h"

#include "shim/syscall/tablepart.c"
#include "shim/fd/fdtable.c"
#include "shim/fd/fdkind.c"
#include "shim/fd/fdflags.c"
#include "shim/fd/fdlife.c"
/* Not for libc and libtsan. */
#undef EXPORT
#define EXPORT __attribute__((visibility("hidden")))
#define remember remember_key /* fdflags.c has one */
#include "shim/thread/key.c"

enum { ROUNDS = 1500, NUMBERS = 4 };

__thread struct thread self_thread;

static struct g named;
static int fds[NUMBERS];
static _Atomic unsigned long destroyed;

static void destructor(void *value)
{
	(void)value;
	fetch_add_relaxed(&destroyed, 1);
}

static void asks(struct driver *d)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = fds[chance(d, NUMBERS)];
		struct fdslot *s = fdslot_of(fd);
		uint64_t timeout = 0;

		must(s != NULL, "memory");
		fdslot_look(s, fd);
		pace(d);
		fdslot_may_park(s, fd, (enum polldir)chance(d, 2), &timeout);
		must(timeout == 0 || timeout == 3000000000 || timeout == 5000000000, "a time-out is whole");
		fdslot_short_read_tells(s, fd, &timeout);
	}
}

static void changes(struct driver *d)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = fds[chance(d, NUMBERS)];
		struct timeval tv = { chance(d, 2) ? 3 : 5, 0 };
		struct fdslot *s;

		pace(d);
		switch (chance(d, 4)) {
		case 0:
			s = fdtable_closing(fd);
			fdtable_closed(s);
			break;
		case 1:
			direct5(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
			fdtable_changed();
			break;
		case 2:
			fdtable_made(fd, fdtable_alone());
			break;
		case 3:
			fdtable_shared();
			break;
		}
	}
}

static void keys_come_and_go(struct driver *d)
{
	for (int i = 0; i < ROUNDS; i++) {
		remember_key((unsigned)chance(d, PTHREAD_KEYS_MAX), destructor);
		store_release(&keys[chance(d, PTHREAD_KEYS_MAX)].destructor, NULL);
		for (unsigned k = 0; k < load_acquire(&nkeys); k += 97) {
			/* Read once: another thread takes it away between two reads. */
			void (*seen)(void *) = load_acquire(&keys[k].destructor);

			must(!seen || seen == destructor, "a key");
			if (seen)
				seen(NULL);
		}
	}
}

static void names(struct driver *d)
{
	char name[16];

	for (int i = 0; i < ROUNDS; i++) {
		g_setname(&named, chance(d, 2) ? "aaaaaaaaaaaaaaa" : "bbbb");
		pace(d);
		g_getname(&named, name);
		must(name[15] == 0, "a name ends");
	}
	keys_come_and_go(d);
}

static void names_and_asks(struct driver *d)
{
	names(d);
	asks(d);
}

int main(void)
{
	drive_world(1);
	weft_on = 1;
	for (int i = 0; i < NUMBERS; i += 2)
		must(!direct4(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, &fds[i]), "sockets");
	drive((void (*[])(struct driver *)){ names_and_asks, asks, changes, names });
	puts("1 passed, 0 failed");
}
