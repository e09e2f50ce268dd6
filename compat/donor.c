/*
 * donor: starts the threads whose blocks are compared, and steps them.
 *
 * The start functions differ so that the address of the function is one of the words that differ:
 * it must not become part of the template; each hands its number on, so that no compiler makes one
 * of the three.  All signals are blocked by the caller, so that no
 * handler of the program ever runs on a donor.
 *
 * Rejected: one donor and a table of known fields: the table is what changes between versions.
 */
#include "compat/donor.h"
#include "compat/mainarena.h"
#include "runtime/base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/*
 * Beside the static TLS, which libc takes from a thread's stack.  Sizes differ from each other and
 * from everything else a block may hold.
 */
enum { FIRST_SIZE = 0x19000, SECOND_SIZE = 0x1b000, PLAIN_SIZE = 0x1f000, PLAIN_GUARD = 0x3000 };

static void step(struct donor *d)
{
	fetch_add_release(&d->ready, 1); /* pairs with donor_await() */
	sys_futex_wake(&d->ready, 1);
}

static struct donors *family;

static __attribute__((noinline)) void *donor_body(struct donor *d, int which)
{
	uint32_t done = DONOR_WAIT, o;
	bool borrowed = false;

	d->which = which;
	d->block = arch_getfs();
	d->frame = __builtin_frame_address(0);
	d->ostid = sys_gettid();
	memcpy(d->words, d->block, layout.size);
	d->self_ok = d->words[TCBHEAD_TCB / 8] == (uintptr_t)d->block &&
		     d->words[TCBHEAD_SELF / 8] == (uintptr_t)d->block;
	d->dtv_ok = tls_dtv_matches(d->block, family->modules, family->nmodules);
	step(d);
	for (;;) {
		while ((o = load_acquire(&d->order)) == done)
			sys_futex_wait(&d->order, o, 0);
		done = o;
		if (o == DONOR_CREATE) {
			mainarena_prove();
			borrowed = mainarena_borrow();
			d->create_result = donor_start(d->child);
		} else if (o == DONOR_PROBE) {
			borrowed = mainarena_borrow();
			d->probe_failed = probe_run();
		} else if (o == DONOR_PAUSE) {
			bridge_pause();
		} else {
			return NULL;
		}
		if (borrowed)
			mainarena_return();
		borrowed = false;
		step(d);
	}
}

static void *first_main(void *arg)
{
	return donor_body(arg, 1);
}

static void *second_main(void *arg)
{
	return donor_body(arg, 2);
}

static void *plain_main(void *arg)
{
	return donor_body(arg, 3);
}

static size_t with_tls(size_t n)
{
	return n + ((layout.below + layout.size + 4095) & -(size_t)4096);
}

struct donors *donors_new(void)
{
	struct donors *ds = sys_map(sizeof *ds);

	if (!ds)
		return NULL;
	ds->first.stack_size = with_tls(FIRST_SIZE);
	ds->second.stack_size = with_tls(SECOND_SIZE);
	ds->plain.stack_size = with_tls(PLAIN_SIZE);
	ds->plain.guard = PLAIN_GUARD;
	ds->first.child = &ds->second;
	ds->first.stack = sys_map(ds->first.stack_size);
	ds->second.stack = sys_map(ds->second.stack_size);
	family = ds;
	if (ds->first.stack && ds->second.stack)
		return ds;
	donors_end(ds);
	return NULL;
}

int donor_start(struct donor *d)
{
	void *(*fn)(void *) = d == &family->first ? first_main
			      : d->stack	  ? second_main
						  : plain_main;
	pthread_attr_t a;
	int e = libc.attr_init(&a);

	if (e)
		return e;
	if (d->stack) {
		e = libc.attr_setstack(&a, d->stack, d->stack_size);
	} else {
		e = libc.attr_setstacksize(&a, d->stack_size);
		if (!e)
			e = libc.attr_setguardsize(&a, d->guard);
	}
	if (!e)
		e = libc.create(&d->thread, &a, fn, d);
	libc.attr_destroy(&a);
	if (e)
		return e;
	d->started = true;
	return donor_await(d, 1) ? 0 : -1;
}

void donor_send(struct donor *d, enum donor_order o)
{
	store_release(&d->order, o);
	sys_futex_wake(&d->order, 1);
}

/* ---- does one hang? ------------------------------------------------------------------------- */

enum { TEXT = 2048, LOOK_NS = 10000000 };

bool compat_noproc;

/* /proc/self/DIR[ID/]NAME into text; false: it cannot be read. */
static bool proc_text(const char *dir, int id, const char *name, char text[TEXT])
{
	char path[64], digits[12], *p = path, *d = digits;
	long fd, n;

	for (const char *s = dir; *s; s++)
		*p++ = *s;
	for (; id; id /= 10)
		*d++ = (char)('0' + id % 10);
	while (d > digits)
		*p++ = *--d;
	for (const char *s = name; *s; s++)
		*p++ = *s;
	*p = '\0';
	fd = sys_4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	n = sys_3(SYS_read, fd, text, TEXT - 1);
	sys_1(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

static int threads_there(char text[TEXT])
{
	const char *at = proc_text("/proc/self/", 0, "status", text) ? strstr(text, "\nThreads:\t") : NULL;
	int n = 0;

	for (at = at ? at + 10 : ""; *at >= '0' && *at <= '9'; at++)
		n = n * 10 + *at - '0';
	return n;
}

/* How often a donor that sleeps on a futex has run; adds to *sum, which is the same when none has run since. */
static bool sleeps(const struct donor *d, char text[TEXT], uint64_t *sum)
{
	if (!proc_text("/proc/self/task/", d->ostid, "/syscall", text) || strncmp(text, "202 ", 4) ||
	    !proc_text("/proc/self/task/", d->ostid, "/schedstat", text))
		return false;
	for (const char *c = text; *c; c++)
		*sum = *sum * 31 + (unsigned char)*c;
	return true;
}

/*
 * Are the donors and the caller all threads that there are, and sleep the donors?  Then the caller alone could
 * wake one, and it waits here.
 */
static bool all_sleep(uint64_t *sum)
{
	const struct donor *all[] = {&family->first, &family->second, &family->plain};
	char text[TEXT];
	int n = 1;

	*sum = 0;
	for (int i = 0; i < 3; i++) {
		if (!all[i]->ostid || all[i]->joined)
			continue;
		if (!sleeps(all[i], text, sum))
			return false;
		n++;
	}
	return n == threads_there(text);
}

/* Two looks: a donor that was woken in between has run by the second, or does not sleep. */
bool donors_hang(void)
{
	uint64_t before, after;

	if (compat_noproc || !all_sleep(&before))
		return false;
	sys_sleep(LOOK_NS);
	return all_sleep(&after) && before == after;
}

bool donor_await(struct donor *d, uint32_t n)
{
	struct sys_patience patience = sys_patience(UINT64_C(10000000000));
	uint32_t v;

	/* Pairs with step(): what the donor wrote before its step is visible after this. */
	while ((v = load_acquire(&d->ready)) < n) {
		if (!sys_patient(&patience) ||
		    (sys_futex_wait(&d->ready, v, LOOK_NS) == -ETIMEDOUT && load_acquire(&d->ready) == v &&
		     donors_hang() && load_acquire(&d->ready) == v)) {
			family->hangs = true;
			return false;
		}
	}
	return true;
}

int donor_join(struct donor *d)
{
	if (!d->started || d->joined)
		return 0;
	donor_send(d, DONOR_EXIT);
	d->joined = true;
	return libc.join(d->thread, NULL);
}

void donors_end(struct donors *ds)
{
	if (ds->hangs) {
		/* What waits for the caller, to which this must return, ends later; its memory stays. */
		donor_send(&ds->first, DONOR_EXIT);
		donor_send(&ds->second, DONOR_EXIT);
		donor_send(&ds->plain, DONOR_EXIT);
		return;
	}
	donor_join(&ds->first);
	donor_join(&ds->second);
	donor_join(&ds->plain);
	if (ds->first.stack)
		sys_unmap(ds->first.stack, ds->first.stack_size);
	if (ds->second.stack)
		sys_unmap(ds->second.stack, ds->second.stack_size);
	family = NULL;
	sys_unmap(ds, sizeof *ds);
}
