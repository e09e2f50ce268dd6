/*
 * usermem: memory that an argument of a system call names, for calls that are answered here.
 *
 * The kernel says EFAULT where nothing is mapped, and programs rely on it: stack unwinders ask
 * rt_sigprocmask() whether an address can be read.  So it is asked the same way: of the first eight
 * bytes and of the last, which are in all pages there are.  A mask with a way to set it that there is
 * none of changes nothing; the mask of now may be written where a result is about to be.
 *
 * A hot path is not to be longer by a system call.  There the caller's own frame needs no question, and
 * of other memory the pages that were found good are remembered, the last of each place.  (A page that
 * was unmapped since faults: such paths copy with no lock held.)
 *
 * Rejected: process_vm_readv(), which takes three times as long, and which filters refuse.
 *
 * Must never: be used where libc itself would read; ask each time on a path that is hot.
 */
#include "shim/syscall/usermem.h"

#include "shim/syscall/rawsyscall.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

enum { WORD = 8, NO_WAY = -1 };

/* NULL means that there is no mask: the byte behind it is in the same page. */
static bool readable(uintptr_t at)
{
	at &= ~(uintptr_t)(WORD - 1);
	return direct4(SYS_rt_sigprocmask, NO_WAY, at ? at : 1, NULL, WORD) != -EFAULT;
}

static bool writable(uintptr_t at)
{
	return direct4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, at ? at : 1, WORD) != -EFAULT;
}

bool user_read(void *to, const void *from, size_t n)
{
	uintptr_t first = (uintptr_t)from;

	if (!readable(first) || !readable(first + n - 1))
		return false;
	memcpy(to, from, n);
	return true;
}

bool user_string(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((i == 0 || (uintptr_t)(from + i) % WORD == 0) && !readable((uintptr_t)(from + i)))
			return false;
		to[i] = from[i];
		if (!to[i])
			break;
	}
	return true;
}

bool user_write(void *to, const void *from, size_t n)
{
	uintptr_t first = (uintptr_t)to;

	if (!writable(first) || !writable(first + n - WORD))
		return false;
	memcpy(to, from, n);
	return true;
}

/* ---- hot paths ------------------------------------------------------------------------------- */

enum { PAGE_BITS = 12, PAGES = 256 };

struct pages {
	_Atomic uintptr_t of[PAGES];
};

static struct pages pages_read, pages_written;

static bool known(const struct pages *p, uintptr_t at)
{
	uintptr_t page = at >> PAGE_BITS;

	return load_relaxed(&p->of[page % PAGES]) == page && page;
}

static void remember(struct pages *p, uintptr_t at)
{
	uintptr_t page = at >> PAGE_BITS;

	store_relaxed(&p->of[page % PAGES], page);
}

bool user_readable(const void *at, size_t n)
{
	uintptr_t first = (uintptr_t)at, last = first + n - 1;

	if (!known(&pages_read, first)) {
		if (!readable(first))
			return false;
		remember(&pages_read, first);
	}
	if (!known(&pages_read, last)) {
		if (!readable(last))
			return false;
		remember(&pages_read, last);
	}
	return true;
}

bool user_writable(void *at, size_t n)
{
	uintptr_t first = (uintptr_t)at, last = first + n - 1;

	if (!known(&pages_written, first)) {
		if (!writable(first))
			return false;
		remember(&pages_written, first);
	}
	if (!known(&pages_written, last)) {
		if (!writable(last - (WORD - 1)))
			return false;
		remember(&pages_written, last);
	}
	return true;
}

/* Nothing is changed: nothing is added to its bits. */
bool user_word_writable(uint32_t *at)
{
	static uint32_t nobody; /* a word that no thread waits for */
	uint32_t or_nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 0);

	if (known(&pages_written, (uintptr_t)at))
		return true;
	if (direct(SYS_futex, (long)&nobody, FUTEX_WAKE_OP_PRIVATE, 0, 0, (long)at, or_nothing) == -EFAULT)
		return false;
	remember(&pages_written, (uintptr_t)at);
	return true;
}
