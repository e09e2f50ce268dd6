/*
 * rseq: restartable sequences, which a program cannot have on Gs.
 *
 * The kernel keeps the CPU's number in memory that a kernel thread registered, and aborts a
 * sequence of that thread when it is interrupted.  A G changes its kernel thread, its memory does
 * not; so no G registers.  libc's own registration says so by its size, 0, which is how libc says
 * that the kernel knows no rseq (compat/rseqfield.c ends main's; other Gs never had one).  A
 * program that registers by number, libc's switched off by a tunable, is told that there is no such
 * call.  What it registered before its first thread ends then, as the kernel would end it: the
 * number reads -1, for which every user of rseq has another way.
 *
 * Rejected: registering anew at each switch, two system calls.
 */
#include "shim/thread/rseq.h"
#include "shim/syscall/rawsyscall.h"

enum { END = 1 }; /* RSEQ_FLAG_UNREGISTER */

/* Libc's references to its own go past this one. */
EXPORT const unsigned int __rseq_size = 0;

/* What the program registered, on the only thread. */
static struct {
	long area, size, signature;
} before;

long rseq_by_hand(long area, long size, long flags, long signature)
{
	long r;

	if (weft_on)
		return -ENOSYS;
	r = direct4(SYS_rseq, area, size, flags, signature);
	if (!r && !flags) {
		before.area = area;
		before.size = size;
		before.signature = signature;
	} else if (!r) {
		before.area = 0;
	}
	return r;
}

void rseq_end(void)
{
	if (before.area)
		direct4(SYS_rseq, before.area, before.size, END, before.signature);
	before.area = 0;
}
