/*
 * usermem: memory that an argument of a system call names, for calls that are answered here.
 *
 * The kernel says EFAULT where nothing is mapped, and programs rely on it: stack unwinders ask
 * rt_sigprocmask() whether an address can be read.  So it is asked the same way: of the first eight
 * bytes and of the last, which are in all pages there are.  A mask with a way to set it that there is
 * none of changes nothing; the mask of now may be written where a result is about to be.
 *
 * Rejected: process_vm_readv(), which takes three times as long, and which filters refuse.
 *
 * Must never: be used on a path that is hot and whose arguments libc itself would read.
 */
#include "shim/syscall/usermem.h"

#include "shim/syscall/rawsyscall.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

enum { WORD = 8, NO_WAY = -1 };

static bool readable(uintptr_t at)
{
	return direct4(SYS_rt_sigprocmask, NO_WAY, at & ~(uintptr_t)(WORD - 1), NULL, WORD) != -EFAULT;
}

static bool writable(char *at)
{
	return direct4(SYS_rt_sigprocmask, SIG_BLOCK, NULL, at, WORD) != -EFAULT;
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
	char *first = to;

	if (!writable(first) || !writable(first + n - WORD))
		return false;
	memcpy(to, from, n);
	return true;
}
