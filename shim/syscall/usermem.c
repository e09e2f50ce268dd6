/*
 * usermem: memory that an argument of a system call names, for calls that are answered here.
 *
 * The kernel says EFAULT where nothing is mapped, and programs rely on it: stack unwinders ask
 * rt_sigprocmask() whether an address can be read.  So it is asked the same way: of the first eight
 * bytes, and of the last where they are in another page.  A mask with a way to set it that there is
 * none of changes nothing; the mask of now may be written where a result is about to be.
 *
 * The caller's own frame needs no question.  All other memory is asked about each time: nothing tells
 * weft what a page has become since (free() and another process that cuts a file unmap, too).  Where
 * the program has handlers for the faults, and the caller lets them in, the bytes are copied without a
 * question: the trampoline ends a copy that faults (a futex word there and back: 172 ns where it was not
 * asked about, 500 with a question for each wait).
 *
 * Rejected: process_vm_readv(), which takes five times as long, and which filters refuse; pages that were
 * good once: a call with one that was unmapped since ended the process; our own handler of SIGSEGV: it
 * would show where the program has none, and is nothing to a thread that keeps SIGSEGV out.
 *
 * Must never: be used where libc itself would read.
 */
#include "shim/syscall/usermem.h"

#include "runtime/arch/sigframe.h"
#include "shim/signal/sigroute.h"
#include "shim/syscall/rawsyscall.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>

enum { WORD = 8, NO_WAY = -1 };

/* NULL means that there is no mask: the byte behind it is in the same page. */
static bool word_readable(uintptr_t at)
{
	at &= ~(uintptr_t)(WORD - 1);
	return direct4(SYS_rt_sigprocmask, NO_WAY, at ? at : 1, NULL, WORD) != -EFAULT;
}

/* All eight from there on. */
static bool word_writable(uintptr_t at)
{
	return direct4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, at ? at : 1, WORD) != -EFAULT;
}

static bool one_page(uintptr_t first, uintptr_t last)
{
	return first / LEAST_PAGE == last / LEAST_PAGE;
}

/* A fault of sigframe_put() comes to trampoline(), which ends it. */
static bool faults_are_told(void)
{
	static const uint64_t faults = SIGBIT(SIGSEGV) | SIGBIT(SIGBUS);

	return weft_on && on_g() && !(faults & ~action_handled()) && !(faults & sigmask_of(getg()));
}

static bool copy(void *to, const void *from, size_t n)
{
	return sigframe_put(to, from, n) == 0;
}

static bool readable(const void *at, size_t n)
{
	uintptr_t first = (uintptr_t)at, last = first + n - 1;

	return word_readable(first) && (one_page(first, last) || word_readable(last));
}

static bool writable(uintptr_t first, size_t n)
{
	uintptr_t last = first + n - 1;

	return word_writable(first) && (one_page(first, last) || word_writable(last - (WORD - 1)));
}

bool user_read(void *to, const void *from, size_t n)
{
	if (faults_are_told())
		return copy(to, from, n);
	if (!readable(from, n))
		return false;
	memcpy(to, from, n);
	return true;
}

bool user_string(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((i == 0 || (uintptr_t)(from + i) % WORD == 0) && !word_readable((uintptr_t)(from + i)))
			return false;
		to[i] = from[i];
		if (!to[i])
			break;
	}
	return true;
}

bool user_write(void *to, const void *from, size_t n)
{
	if (faults_are_told())
		return copy(to, from, n);
	if (!writable((uintptr_t)to, n))
		return false;
	memcpy(to, from, n);
	return true;
}

bool user_word_readable(const uint32_t *at)
{
	uint32_t value;

	return user_read(&value, at, sizeof(value));
}

/*
 * Nothing is changed: nothing is added to its bits.  Nor is a waiter of the word woken: the kernel wakes one where the
 * comparison holds, though none is asked for (kernel/futex/waitwake.c), so it is one that a word of this sign
 * never meets.
 */
bool user_word_writable(uint32_t *at)
{
	static uint32_t nobody; /* a word that no thread waits for */
	uint32_t value, or_nothing;

	if (!user_read(&value, at, sizeof(value)))
		return false;
	or_nothing = (int32_t)value < 0 ? FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_GT, 2047) :
					  FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, -2048);
	return direct(SYS_futex, (long)&nobody, FUTEX_WAKE_OP_PRIVATE, 0, 0, (long)at, or_nothing) != -EFAULT;
}
